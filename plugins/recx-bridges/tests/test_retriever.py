"""A library's model makes lists as a part; its environment, its version and its settings are looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recx_bridges.retriever import FILES, SCRIPTS, Bridge

from recx.plugin import Eligibility, InputError, RecxError
from recx.testing import everyone_asks, tiny_world

ALS = "AlternatingLeastSquares"


@pytest.mark.parametrize("seen", ["drop", "keep"])
def test_lists_are_those_of_the_model_without_what_may_not_be_shown(implicit: Callable[[], Path], seen: Any) -> None:
    implicit()
    history, requests = everyone_asks(tiny_world())
    lists = Bridge("implicit", ALS, {"power": 2}, seen=seen).fit(history).retrieve(history, requests, 5)
    distinct = np.zeros((history.n_users, history.n_items))
    distinct[history.user, history.item] = 1
    score = distinct.sum(axis=0) ** 2
    active = history.lengths[requests.user] > 0
    shown = ~Eligibility(history, seen).hidden(requests) & active[:, None]
    assert lists.lengths.tolist() == np.minimum(shown.sum(axis=1), 5).tolist()
    assert not [name for name in lists.notes if "values" in name]  # the script leaves them out itself
    for row in range(len(requests)):
        rows = slice(lists.indptr[row], lists.indptr[row + 1])
        assert lists.score[rows].tolist() == sorted(score[shown[row]], reverse=True)[:5]
        assert shown[row, lists.item[rows]].all()


def test_an_environment_that_is_missing_or_not_complete_is_refused(implicit: Callable[[], Path]) -> None:
    part = Bridge("implicit", ALS)
    with pytest.raises(InputError, match="its environment is missing: make it with `python -m recx bridge setup impl"):
        part.preflight()
    python = implicit()
    part.preflight()
    (python.parents[1] / "recx-bridge.json").unlink()
    with pytest.raises(InputError, match="its environment is missing"):
        part.preflight()


def test_the_card_and_the_key_have_the_version_of_the_library(implicit: Callable[[], Path]) -> None:
    site = next(implicit().parents[1].glob("lib/*/site-packages"))
    part = Bridge("implicit", ALS)
    said, before = part.loaded, part.depends_on
    assert {SCRIPTS / "run_implicit.py", FILES} < set(before)
    assert said["from"] == f"implicit: {ALS}"
    assert said["versions"] == {"implicit": "0.7.3"}
    (site / "implicit-0.7.3.dist-info").rename(site / "implicit-0.8.0.dist-info")
    assert part.loaded["versions"] == {"implicit": "0.8.0"}
    assert part.depends_on != before


def test_a_model_that_is_not_there_is_refused_with_those_that_are(implicit: Callable[[], Path]) -> None:
    implicit()
    history, _ = everyone_asks(tiny_world())
    with pytest.raises(RecxError, match=f"there is no model 'ALS': choose one of {ALS}"):
        Bridge("implicit", "ALS").fit(history)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("os.system", {}),
        (ALS, {"pretrain_path": "x"}),
        (ALS, {"checkpoint_dir": "x"}),
        (ALS, {"a": "../x"}),
        (ALS, {"a": "x.pkl"}),
        (ALS, {"a": {"b": 1}}),
        (ALS, {"a b": 1}),
        (ALS, {"a": [1, "/x"]}),
    ],
)
def test_what_could_name_a_file_or_other_code_is_refused(model: str, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^retriever\.(model|settings)"):
        Bridge("implicit", model, settings)


def test_plain_settings_are_not_refused() -> None:
    Bridge("recbole", "SASRec", {"loss_type": "CE", "epochs": 3, "mlp_hidden_size": [64, 32], "a": None, "b": True})
