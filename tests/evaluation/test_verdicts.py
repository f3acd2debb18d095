"""Which runs are told apart, and which change sides between parts of the users."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.evaluation import Evaluation
from recx.evaluation.verdicts import crossings, first_of, sides, told_apart

LENGTH = np.repeat([1.0, 2.0, 5.0, 9.0], 40)


def run(name: str, *gains: float) -> Evaluation:
    """Return a run of 160 users with a gain for each quarter of them, and some chance."""
    values = 0.5 + np.repeat(gains, 40) + np.random.default_rng(1).normal(0, 0.01, 160) * (name != "a")
    slices = {"history_length": LENGTH, "item_popularity": np.tile([1.0, 8.0], 80)}
    return Evaluation(np.arange(160), {"ndcg": values}, slices=slices, name=name)


def compared(*runs: Evaluation, **settings: Any) -> recx.Comparison:
    return recx.compare(*runs, resamples=200, **settings)


def test_a_run_that_is_higher_here_and_lower_there_is_said_with_where_and_by_how_much() -> None:
    found = compared(run("a", 0, 0, 0, 0), run("b", 0.1, 0.05, 0, -0.2))
    [sentence] = found.crossings("ndcg")
    assert found.slices is not None
    gains = found.slices.query("by == 'history_length'")["difference"].tolist()
    assert sentence == (
        f"b is above a where history length is 1 ({gains[0]:+.4f}, 40 users) and 2 ({gains[1]:+.4f}, 40 users), and "
        f"below it where it is 9 ({gains[3]:+.4f}, 40 users)"
    )
    assert found.slices["higher"].tolist() == ["b", "b", "", "a", "", ""]
    assert sides(found.slices) == (
        "By quarters of history length and item popularity (6 tests a metric, adjusted by Holm): pairs that change "
        "sides: 1"
    )


@pytest.mark.parametrize("gains", [(0.1, 0.05, 0.2, 0.01), (0.1, 0.1, 0, -0.0001), (0, 0, 0, 0)])
def test_a_run_that_is_told_apart_in_one_direction_alone_does_not_change_sides(gains: tuple[float, ...]) -> None:
    found = compared(run("a", 0, 0, 0, 0), run("b", *gains))
    assert found.crossings("ndcg") == []
    assert found.slices is not None
    assert sides(found.slices).endswith("adjusted by Holm): no pair is told apart in both directions")


def test_swapped_runs_change_the_same_sides() -> None:
    one, other = run("a", 0, 0, 0, 0), run("b", 0.1, 0.1, 0, -0.2)
    there, back = compared(one, other).slices, compared(other, one).slices
    assert there is not None
    assert back is not None
    assert there["higher"].tolist() == back["higher"].tolist()
    np.testing.assert_array_equal(there["p_holm"], back["p_holm"])


def test_pairs_that_are_told_apart_those_that_are_not_and_equivalent_ones_are_named() -> None:
    three = run("a", 0, 0, 0, 0), run("b", 0, 0, 0, 0.001), run("c", 0.1, 0.1, 0.1, 0.1)
    pairs = compared(*three, margin=0.02).pairs
    assert pairs is not None
    assert told_apart(pairs, "ndcg") == [
        "of 3 pairs, told apart: c above a, c above b",
        "not told apart: b and a",
        "equivalent within the margin: b and a",
    ]
    without = compared(*three).pairs
    assert without is not None
    assert len(told_apart(without, "ndcg")) == 2
    alike = compared(three[0], *(run(name, 0, 0, 0, 0) for name in ("b", "d"))).pairs
    assert alike is not None
    assert told_apart(alike, "ndcg")[0] == "of 3 pairs, told apart: none"


def test_of_many_pairs_the_first_are_said_and_the_others_counted() -> None:
    assert first_of(["x"] * 6) == ["x"] * 6
    assert first_of(["x"] * 9) == ["x"] * 6 + ["3 more pairs change sides (see slices)"]


@pytest.mark.parametrize("seed", range(3))
def test_no_more_than_chance_changes_sides_where_runs_do_not_differ(seed: int) -> None:
    """Of 60 pairs of alike runs, Holm lets about 3 be told apart in one direction, hardly any in two."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(20):
        slices = {"history_length": LENGTH}
        two = [Evaluation(np.arange(160), {"m": rng.random(160)}, slices=slices, name=name) for name in "ab"]
        found += len(recx.compare(*two, resamples=10, draws=500).crossings("m"))
    assert found <= 1


def test_rows_of_other_metrics_say_nothing() -> None:
    columns = ["metric", "by", "slice", "baseline", "run", "difference", "users", "higher"]
    rows = [["m", "by", "1", "a", "b", 0.5, 9, "b"], ["n", "by", "2", "a", "b", -0.5, 9, "a"]]
    assert crossings(pd.DataFrame(rows, columns=columns), "m") == []


def test_so_many_tests_that_no_p_can_be_small_are_warned_of() -> None:
    runs = [run(name, *(0.0,) * 4) for name in "abcd"]
    [sentence] = [one for one in compared(*runs, draws=100).warnings if "adjusted together" in one]
    assert "(6 of pairs, 36 of slices)" in sentence
    assert not any("adjusted together" in one for one in compared(*runs, draws=1000).warnings)
