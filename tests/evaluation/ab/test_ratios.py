"""Errors of ratios and tests of their difference: by hand, by counting, and in tests without any difference."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from recx.core.resampling import Procedure
from recx.evaluation.ab import differences as module
from recx.evaluation.ab import ratios
from recx.evaluation.ab.arms import arm_of
from recx.evaluation.ab.differences import differences, ratios_of

METRICS = ("hit_rate", "ctr", "mrr")


def table_of(arms, procedure, metrics=("ctr",)):
    return differences(arms, ratios_of(arms, metrics), procedure)


def drawn_apart(monkeypatch):
    """Draw, however many users there are."""
    monkeypatch.setattr(ratios, "MANY", 10**9)


def test_the_delta_method_worked_by_hand():
    # Two users a row: n = 1, 3 of d = 2, 4. R = 8 / 12; deviations (1 - 4/3, 3 - 8/3) / 3 = ∓1/9; four users.
    found = ratios.ratio_of(np.array([1.0, 3.0]), np.array([2.0, 4.0]), np.array([2, 2]))
    assert found.value == pytest.approx(2 / 3)
    assert found.variance == pytest.approx(4 / 81 / 3)
    assert found.squared_error == pytest.approx(1 / 243)


def test_of_a_mean_the_delta_method_is_the_usual_error():
    values = np.random.default_rng(0).random(50)
    found = ratios.ratio_of(values, np.ones(50), np.ones(50, dtype=int))
    assert found.value == pytest.approx(values.mean())
    assert found.squared_error == pytest.approx(values.var(ddof=1) / 50)


@pytest.mark.parametrize("seed", range(3))
def test_bootstrap_and_delta_method_agree(simulate, seed):
    rng = np.random.default_rng(seed)
    arms = (simulate(rng, "A", 400)[0], simulate(rng, "B", 500, 1.2)[0])
    rows = table_of(arms, Procedure(resamples=4000, draws=10, seed=seed), METRICS)
    np.testing.assert_allclose(rows["se_bootstrap"], rows["se_delta"], rtol=0.05)


def test_p_is_the_share_of_all_ways_to_deal_the_users():
    sums = np.array(
        [[3, 1, 3, 1, 1], [2, 2, 2, 2, 2], [5, 0, 5, 0, 0], [1, 1, 1, 1, 1], [4, 3, 4, 3, 3], [2, 0, 2, 0, 0.0]]
    )
    sizes = (2, 4)

    def far(chosen):
        rest = np.setdiff1d(np.arange(6), chosen)
        one, other = (
            ratios.ratio_of(of[:, 3], of[:, 2], np.ones(len(of), dtype=int)) for of in (sums[chosen], sums[rest])
        )
        return abs(one.value - other.value) / np.sqrt(one.squared_error + other.squared_error)

    observed = far(np.array([0, 1]))
    every = [far(np.array(chosen)) >= observed - 1e-9 for chosen in combinations(range(6), sizes[0])]
    arms = (arm_of("A", sums[:2]), arm_of("B", sums[2:]))
    for both in (arms, arms[::-1]):
        [p] = ratios.permuted(both, ["ctr"], Procedure(draws=20_000))
        assert p == pytest.approx(np.mean(every), abs=0.015)  # 4 standard errors of 20,000 draws


@pytest.mark.parametrize("few_rows", [0, 10**9], ids=["by row", "by user"])
def test_users_may_be_drawn_by_row_or_one_by_one(monkeypatch, few_rows):
    rng = np.random.default_rng(5)
    lists = rng.integers(1, 3, 400)
    clicks = rng.binomial(lists, np.where(np.arange(400) < 180, 0.3, 0.38))
    sums = np.column_stack([lists, clicks, lists, clicks, clicks]).astype(float)
    arms = (arm_of("A", sums[:180]), arm_of("B", sums[180:]))
    assert len(arms[0].rows) == 5  # 180 users: 0 or 1 click of one list; 0, 1 or 2 of two
    procedure = Procedure(resamples=4000, draws=4000)
    row = table_of(arms, procedure).iloc[0]
    monkeypatch.setattr(ratios, "FEW_ROWS", few_rows)
    again = table_of(arms, procedure).iloc[0]
    assert again["p"] == pytest.approx(row["p"], abs=0.03)
    for name in ("difference_low", "difference_high"):
        assert again[name] == pytest.approx(row[name], abs=0.1 * row["se_delta"])


def test_many_users_are_approximated_as_closely_as_drawn(simulate, monkeypatch):
    rng = np.random.default_rng(3)
    arms = (simulate(rng, "A", 8000)[0], simulate(rng, "B", 8000, 1.03)[0])
    procedure = Procedure(resamples=2000, draws=999)
    assert ratios.is_approximated(ratios_of(arms, ["ctr"])["ctr"])
    close = table_of(arms, procedure).iloc[0]
    drawn_apart(monkeypatch)
    drawn = table_of(arms, procedure).iloc[0]
    width = drawn["difference_high"] - drawn["difference_low"]
    for name in ("difference_low", "difference_high", "control_low", "treatment_high"):
        assert close[name] == pytest.approx(drawn[name], abs=0.05 * width)
    assert close["relative_low"] == pytest.approx(drawn["relative_low"], abs=0.05 * width / drawn["control"])
    assert close["p"] == pytest.approx(drawn["p"], abs=0.05)
    assert close["se_bootstrap"] == pytest.approx(drawn["se_bootstrap"], rel=0.08)


def test_users_with_a_few_clickers_are_drawn(simulate):
    sums = np.zeros((12_000, 5))
    sums[:, [0, 2]] = 1.0
    sums[:30, [1, 3, 4]] = 1.0
    arms = (arm_of("A", sums[::2]), arm_of("B", sums[1::2]))
    assert not ratios.is_approximated(ratios_of(arms, ["ctr"])["ctr"])
    row = table_of(arms, Procedure(resamples=500, draws=199)).iloc[0]
    assert row["p"] == 1.0
    assert row["control_low"] >= 0


def test_an_arm_without_any_list_that_shows_something_has_no_ctr():
    sums = np.array([[1.0, 0, 0, 0, 0], [2.0, 0, 0, 0, 0]])
    other = np.array([[1.0, 1, 2, 1, 1], [2.0, 0, 3, 0, 0]])
    row = table_of((arm_of("A", sums), arm_of("B", other)), Procedure(resamples=50, draws=19)).iloc[0]
    assert np.isnan(row[["control", "difference", "p", "p_holm"]].astype(float)).all()


def trials(simulate, n, users, lift, seed, resamples=2, draws=1):
    """Yield the rows of made-up tests, and the z of a test that takes lists for independent."""
    rng = np.random.default_rng(seed)
    for trial in range(n):
        arms, sums = zip(*(simulate(rng, name, users, of) for name, of in (("A", 1.0), ("B", lift))), strict=True)
        (clicks, shown), (more, of_more) = ((of[:, 3].sum(), of[:, 2].sum()) for of in sums)
        pooled = (clicks + more) / (shown + of_more)
        naive = (more / of_more - clicks / shown) / np.sqrt(pooled * (1 - pooled) * (1 / shown + 1 / of_more))
        yield table_of(arms, Procedure(resamples=resamples, draws=draws, seed=trial)).iloc[0], naive


def test_without_a_difference_one_test_in_twenty_finds_one_and_a_naive_test_most(simulate):
    found = list(trials(simulate, 300, 60, 1.0, seed=11, draws=199))
    rejected = np.mean([row["p"] <= 0.05 for row, _ in found])
    naive = np.mean([abs(z) > 1.96 for _, z in found])
    assert 0.02 <= rejected <= 0.085  # 0.05 with a standard error of 0.0126
    assert naive > 0.45


def test_intervals_hold_the_truth_as_often_as_they_say(simulate):
    large = simulate(np.random.default_rng(1), "all", 400_000, 1.5)[0]
    base = simulate(np.random.default_rng(2), "all", 400_000)[0]
    truth = {name: one.totals[3] / one.totals[2] for name, one in (("treatment", large), ("control", base))}
    truth |= {
        "difference": truth["treatment"] - truth["control"],
        "relative": truth["treatment"] / truth["control"] - 1,
    }
    found = [row for row, _ in trials(simulate, 250, 100, 1.5, seed=12, resamples=199)]
    for name, value in truth.items():
        held = np.mean([row[f"{name}_low"] <= value <= row[f"{name}_high"] for row in found])
        assert 0.90 <= held <= 0.985, name  # 0.95 with a standard error of 0.0138


def test_an_approximated_test_without_a_difference_finds_one_in_twenty(simulate, monkeypatch):
    monkeypatch.setattr(ratios, "MANY", 100)
    monkeypatch.setattr(ratios, "ENOUGH", 20)
    monkeypatch.setattr(ratios, "FEWEST", 20)
    monkeypatch.setattr(ratios, "DRAWN", 0)
    monkeypatch.setattr(module, "permuted", None)  # nothing is drawn but the check of the errors
    found = [row["p"] for row, _ in trials(simulate, 400, 150, 1.0, seed=13, draws=10**6)]
    assert 0.03 <= np.mean(np.array(found) <= 0.05) <= 0.08
