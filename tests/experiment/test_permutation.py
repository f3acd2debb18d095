"""Permutation importance of a ranker made by hand, whose losses are known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import recx
from recx.core.types import Interactions, RankedLists, Requests
from recx.experiment.permutation import Given, Shuffled, dcg_of, importance, units_of


@dataclass(frozen=True)
class Sum:
    """Scores by the sum of two features."""

    features = (Given("good"), Given("against"))

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        values = [feature.fit(history)(candidates, requests) for feature in self.features]
        return candidates.reorder(np.sum(values, axis=0))


@pytest.fixture
def shuffled() -> Shuffled:
    """200 lists of two candidates; the target is the one with good=1, and 2 * good - good is what scores."""
    n, anything = 200, cast(Any, None)
    item = np.tile(np.array([0, 1], dtype=np.int32), n)
    lists = RankedLists(np.arange(n, dtype=np.int32), np.arange(0, 2 * n + 1, 2), item, np.zeros(2 * n))
    good = np.tile([0.0, 1.0], n)
    return Shuffled(Sum(), lists, anything, anything, {"good": 2 * good, "against": -good, "unused": good})


def lost(shuffled: Shuffled, *units: tuple[str, ...]) -> dict[str, list[float]]:
    gains, ideal = np.tile([0.0, 1.0], 200), np.ones(200)
    table = shuffled.importance(units, gains, ideal, 2)
    return {
        str(name): [float(table[column][at]) for column in ("ndcg_lost", "low", "high")]
        for at, name in enumerate(table["feature"])
    }


def test_a_feature_that_decides_costs_half_of_what_the_second_rank_costs(shuffled: Shuffled) -> None:
    # Shuffled, the two values change places in half of the lists: there the target falls to rank 2, 1 / log2(3).
    fall = 1 - 1 / np.log2(3)
    found = lost(shuffled, ("unused",), ("good",))
    assert list(found) == ["good", "unused"]
    assert found["unused"] == [0, 0, 0]
    assert found["good"][0] == pytest.approx(fall / 2, abs=4 * fall / 2 / np.sqrt(200))
    assert found["good"][1] < found["good"][0] < found["good"][2]


def test_features_of_a_group_are_shuffled_in_the_same_order(shuffled: Shuffled) -> None:
    columns = {**shuffled.columns, "against": -shuffled.columns["good"]}
    offset = Shuffled(shuffled.ranker, shuffled.lists, shuffled.history, shuffled.requests, columns)
    # Together they always cancel; the ties that remain are in the same order before and after.
    assert lost(offset, ("good", "against")) == {"good + against": [0, 0, 0]}


def test_groups_are_units_and_other_features_stand_alone() -> None:
    assert units_of(["a", "b", "c", "d"], [("b", "d")]) == [("b", "d"), ("a",), ("c",)]


def test_the_gain_is_discounted_by_rank_and_cut() -> None:
    assert dcg_of(np.array([3.0, 2.0, 1.0]), 2) == pytest.approx(3 + 2 / np.log2(3))


def test_a_run_writes_the_table_and_a_ranker_without_features_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["+experiment=news", "tracker=console", "dataset.readers=200", "dataset.articles=100", "n_candidates=20"]
    result = recx.run(words)
    [folder] = tmp_path.glob("outputs/2*/*")
    table = importance(result, 5)
    shown = [name for unit in table["feature"] for name in unit.split(" + ")]
    assert sorted(shown) == sorted(result.weights)
    assert (table["low"] <= table["ndcg_lost"]).all()
    assert (np.diff(table["ndcg_lost"]) <= 0).all()
    lines = (folder / "tables" / "permutation_importance.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "feature,ndcg_lost,low,high"
    assert len(lines) == len(table["feature"]) + 1
    assert "Permutation importance" in (folder / "report.html").read_text(encoding="utf-8")
    assert not [name for name in result.metrics if "ndcg_lost" in name]
    assert importance(recx.run([*words, "ranker=identity"]), 5) == {}
