"""Runs that must not be tested against each other, and their figures side by side."""

from __future__ import annotations

import numpy as np
import pytest

from recx.core.evaluation import Evaluation
from recx.core.resampling import Procedure
from recx.evaluation.side_by_side import incomparable, means_of


def evaluation(name: str, values: list[float], **rules: str) -> Evaluation:
    return Evaluation(np.arange(len(values)), {"end_to_end/mrr": np.array(values)}, name=name, rules=rules)


@pytest.mark.parametrize(
    ("ours", "theirs", "n"),
    [
        ({}, {}, 0),
        ({"fold": "test"}, {}, 0),  # nobody knows
        ({"fold": "test"}, {"fold": "test"}, 0),
        ({"fold": "test"}, {"fold": "valid"}, 1),
        ({"truth": "a", "data_hash": "a"}, {"truth": "a", "data_hash": "b"}, 0),  # the same targets, more attributes
        ({"truth": "a", "data_hash": "a"}, {"truth": "b", "data_hash": "a"}, 1),  # another split of the same data
        ({"data_hash": "a"}, {"truth": "a", "data_hash": "b"}, 1),
        ({"data_hash": "a"}, {"truth": "a", "data_hash": "a"}, 0),
    ],
)
def test_folds_and_targets_decide(ours: dict[str, str], theirs: dict[str, str], n: int) -> None:
    assert len(list(incomparable([evaluation("a", [1.0], **ours), evaluation("b", [1.0], **theirs)]))) == n


def test_every_run_has_a_row_over_its_own_users() -> None:
    runs = [evaluation("a", [0.0, 1.0, np.nan]), evaluation("b", [0.25, 0.75, 0.5, 0.5])]
    table = means_of(runs, ["end_to_end/mrr"], Procedure(0.95, 50, 50, 0))
    assert table[["run", "users", "mean"]].values.tolist() == [["a", 2, 0.5], ["b", 4, 0.5]]
    assert (table["mean_low"] <= table["mean"]).all()
