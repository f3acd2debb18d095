"""The option files list the settings' defaults, and reading them imports no torch."""

from __future__ import annotations

import pytest

from recx.testing import check_listing, check_option, config_of


@pytest.mark.parametrize("option", ["transformer", "bert4rec"])
def test_the_option_has_every_setting_with_its_default(option: str) -> None:
    check_option(f"retriever/{option}")


def test_the_union_takes_in_the_transformer_and_the_ranker_its_score() -> None:
    config = config_of("+experiment=news_transformer")
    assert set(config["retriever"]["sources"]) == {"item_knn", "faiss", "popularity", "transformer"}
    assert {"transformer_score", "transformer_rank", "age"} <= set(config["feature"])
    config = config_of("+experiment=sequences_transformer")
    assert set(config["retriever"]["sources"]) == {"item_knn", "popularity", "transformer"}
    assert {"transformer_score", "transformer_rank", "transition"} <= set(config["feature"])


def test_listing_the_options_imports_no_torch() -> None:
    for option in ("retriever/transformer", "retriever/bert4rec"):
        check_listing(option, "torch")


def test_the_sweep_searches_settings_that_are_there() -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="the sweeper is not installed")
    config = config_of("+experiment=news", "retriever=transformer", "ranker=identity", "+sweep=transformer")
    assert (config["fold"], config["pruner"]["percentile"]) == ("valid", 50)
