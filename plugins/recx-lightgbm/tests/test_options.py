"""The option files list the settings' defaults, and reading them imports no LightGBM."""

from __future__ import annotations

from pathlib import Path

import pytest
from recx_lightgbm.ranker import FittedLambdamart

import recx
from recx.testing import check_listing, check_option


def test_the_option_has_every_setting_with_its_default() -> None:
    check_option("ranker/lambdamart")


def test_listing_the_options_imports_no_lightgbm() -> None:
    check_listing("ranker/lambdamart", "lightgbm")
    check_listing("ranker/linear_lambdamart", "lightgbm")


def test_the_blend_is_of_the_linear_model_and_larger_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = "+experiment=news ranker=linear_lambdamart dataset.readers=120 dataset.articles=80 dataset.days=3"
    result = recx.run(f"{words} tracker=console cache=off")
    rankers: dict[str, object] = vars(result.ranker)["rankers"]
    assert list(rankers) == ["linear", "lambdamart"]
    trees = rankers["lambdamart"]
    assert isinstance(trees, FittedLambdamart)
    assert max(tree["num_leaves"] for tree in trees.trees.booster.dump_model()["tree_info"]) > 7
    assert result.weights
    assert result.importances
