"""All pairs of several runs, and equivalence within a margin."""

from __future__ import annotations

import numpy as np
import pytest

import recx
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.evaluation.statistics import holm


def runs(n: int, shift: float = 0.0) -> list[Evaluation]:
    rng = np.random.default_rng(0)
    base = rng.random(80)
    return [
        Evaluation(np.arange(80), {"a": base + shift * at + rng.normal(0, 0.01, 80), "b": base}, name=f"r{at}")
        for at in range(n)
    ]


def test_each_pair_is_what_a_comparison_of_the_two_says_adjusted_for_all_pairs() -> None:
    three = runs(3, shift=0.002)
    found = recx.compare(*three)
    assert found.pairs is not None
    assert found.pairs[["metric", "baseline", "run"]].to_numpy().tolist() == [
        [metric, *pair] for metric in "ab" for pair in (["r0", "r1"], ["r0", "r2"], ["r1", "r2"])
    ]
    alone = recx.compare(three[1], three[2]).table
    last = found.pairs.query("baseline == 'r1'")
    for name in ("difference", "difference_low", "difference_high", "p_t", "p_sign_flip"):
        np.testing.assert_array_equal(last[name], alone[name])
    np.testing.assert_array_equal(found.pairs["p_holm"], holm(found.pairs["p_sign_flip"].to_numpy()))
    np.testing.assert_array_equal(found.pairs["p_t_holm"], holm(found.pairs["p_t"].to_numpy()))
    higher = np.where(found.pairs["difference"] > 0, found.pairs["run"], found.pairs["baseline"])
    assert found.pairs["higher"].tolist() == np.where(found.pairs["p_holm"] < 0.05, higher, "").tolist()
    apart = recx.compare(*runs(3, shift=0.02)).pairs
    assert apart is not None
    assert apart["higher"].tolist() == ["r1", "r2", "r2", "", "", ""]
    assert recx.compare(*three[:2]).pairs is None


def test_runs_that_hardly_differ_are_equivalent_and_others_are_not() -> None:
    found = recx.compare(*runs(3, shift=0.05), metrics=["a"], margin=0.06)
    assert (found.table["p_equivalent_holm"] < 0.05).tolist() == [True, False]
    assert found.pairs is not None
    assert (found.pairs["p_equivalent_holm"] < 0.05).tolist() == [True, False, True]
    assert "p_equivalent" not in recx.compare(*runs(2)).table


@pytest.mark.parametrize("margin", [0, -0.1, float("nan"), float("inf")])
def test_a_margin_is_a_difference_above_0(margin: float) -> None:
    with pytest.raises(InputError, match=r"margin=.*: it must be a difference above 0"):
        recx.compare(*runs(2), margin=margin)


def sliced(n: int = 3) -> list[Evaluation]:
    """Return runs of 80 users of whom every other one has a long history."""
    length = np.tile([1.0, 9.0], 40)
    age = np.where(np.arange(80) < 60, np.arange(80) % 4, np.nan)
    slices = {"history_length": length, "age": age, "same": np.ones(80), "unknown": np.full(80, np.nan)}
    return [Evaluation(run.users, run.values, slices=slices, name=run.name) for run in runs(n, shift=0.002)]


def test_a_slice_is_what_a_comparison_of_its_users_says_adjusted_for_all_slices_and_pairs_of_a_metric() -> None:
    three = sliced()
    found = recx.compare(*three).slices
    assert found is not None
    assert found["metric"].tolist() == ["a"] * 18 + ["b"] * 18
    assert found["by"].tolist()[:18] == ["history_length"] * 6 + ["age"] * 12  # one part alone is no slice
    assert found[["baseline", "run", "slice"]].to_numpy().tolist()[:6] == [
        ["r0", "r1", "1"], ["r0", "r2", "1"], ["r0", "r1", "9"], ["r0", "r2", "9"], ["r1", "r2", "1"], ["r1", "r2", "9"]
    ]  # fmt: skip
    long = np.arange(1, 80, 2)
    alone = recx.compare(*(Evaluation(long, {"a": run.values["a"][long]}, name=run.name) for run in three)).pairs
    assert alone is not None
    here = found.query("metric == 'a' and slice == '9'").sort_values(["baseline", "run"])
    for name in ("users", "difference", "difference_low", "difference_high", "wins", "p_t", "p_sign_flip"):
        np.testing.assert_allclose(here[name], alone[name], rtol=1e-12)
    for _, of_metric in found.groupby("metric"):
        np.testing.assert_array_equal(of_metric["p_holm"], holm(of_metric["p_sign_flip"].to_numpy()))


def test_without_slices_there_are_none() -> None:
    assert recx.compare(*runs(2)).slices is None
    assert recx.compare(*runs(2)).crossings("a") == []
