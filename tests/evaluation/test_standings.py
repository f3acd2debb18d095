"""Runs against a baseline and against the best: the tests of ``compare``, and how often they err in made-up sweeps."""

from __future__ import annotations

from functools import partial
from statistics import NormalDist

import numpy as np
import pytest

import recx
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.types import Doubles
from recx.evaluation import standings as module
from recx.evaluation.standings import COLUMNS, standings, told_apart

NDCG = "ndcg"


def runs_of(*values: Doubles) -> list[Evaluation]:
    return [Evaluation(np.arange(len(of)), {NDCG: of}, name=str(place)) for place, of in enumerate(values)]


def test_a_standing_is_a_row_of_compare_for_the_baseline_and_one_for_the_best() -> None:
    rng = np.random.default_rng(0)
    runs = runs_of(*rng.random((4, 60)))
    table = standings(runs, NDCG, baseline="1", best="2")
    against = recx.compare(runs[1], runs[0], runs[2], runs[3], metrics=[NDCG]).table.set_index("run")
    assert list(table.columns) == list(COLUMNS)
    for name in "023":
        row, other = table.loc[name], against.loc[name]
        assert [row["difference"], row["low"], row["high"], row["p"], row["p_holm"], row["users"]] == [
            other["difference"],
            other["difference_low"],
            other["difference_high"],
            other["p_sign_flip"],
            other["p_holm"],
            60,
        ]
    assert table.loc["1", list(COLUMNS[:-1])].isna().all()
    best = recx.compare(runs[2], runs[0], runs[1], runs[3], metrics=[NDCG]).table.set_index("run")["p_holm"]
    assert table["p_best"].drop("2").to_dict() == best.to_dict()
    assert np.isnan(table.loc["2", "p_best"])


def test_without_a_baseline_or_a_best_there_is_no_test_against_it() -> None:
    runs = runs_of(*np.random.default_rng(0).random((3, 40)))
    table = standings(runs, NDCG, baseline=None, best="0")
    assert table[list(COLUMNS[:-1])].isna().all(axis=None)
    assert standings(runs, NDCG, baseline="0", best=None)["p_best"].isna().all()
    assert standings(runs[:1], NDCG, baseline="0", best="0").isna().all(axis=None)


def test_many_runs_get_enough_draws_for_holm_to_tell_any_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 30 runs p is at least 1 / (draws + 1), times 30: of 100 draws none could ever fall below 0.05."""
    monkeypatch.setattr(module, "DRAWS", 100)
    rng = np.random.default_rng(0)
    values = rng.random((30, 50))
    table = standings(runs_of(values[0], *(values[1:] + 1)), NDCG, baseline="0", best=None)
    assert (table["p_holm"].drop("0") < 0.01).all()


def test_runs_of_other_users_are_refused() -> None:
    one, other = runs_of(np.ones(3), np.zeros(3))
    foreign = Evaluation(np.array([7, 8, 9]), other.values, name="foreign")
    with pytest.raises(InputError, match="no user in common"):
        standings([one, foreign], NDCG, baseline="0", best=None)


def test_what_does_not_exist_tells_nothing_apart() -> None:
    assert [told_apart(p) for p in (0.049, 0.05, float("nan"))] == [True, False, False]


SWEEPS, USERS, TRIALS = 200, 150, 8


def called_apart(gain: float) -> tuple[int, int]:
    """Return in how many sweeps the best was told apart from the baseline, and in how many the true best was excluded.

    Users have hits of their own, which a trial changes for some, as trials of one chain do: most differences are 0.

    Args:
        gain: How much better one trial truly is, in Holm's standard errors: the standard error of a difference, as
            many times as Holm's widest interval is wider than that of one test.
    """
    quantile = NormalDist().inv_cdf
    wider = quantile(1 - 0.025 / (TRIALS - 1)) / quantile(0.975)
    found = excluded = 0
    for seed in range(SWEEPS):
        rng = np.random.default_rng(seed)
        own = rng.random(USERS) < 0.35

        def values(rng: np.random.Generator = rng, own: Doubles = own) -> Doubles:
            hits = np.where(rng.random(USERS) < 0.15, rng.random(USERS) < 0.35, own)
            return hits * rng.choice([1, 0.63, 0.5, 0.43, 0.39], USERS)

        trials = [values() for _ in range(TRIALS)]
        error = np.std(trials[3] - trials[0], ddof=1) / np.sqrt(USERS)
        trials[3] = trials[3] + gain * wider * error
        best = str(int(np.argmax([of.mean() for of in trials])))
        table = standings(runs_of(*trials), NDCG, baseline="0", best=best)
        found += best != "0" and told_apart(table.loc[best, "p_holm"])
        excluded += told_apart(table.loc["3", "p_best"])
    return found, excluded


@pytest.mark.slow
def test_a_winner_by_chance_is_seldom_told_apart_and_a_true_one_mostly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "compare", partial(recx.compare, resamples=2))  # the intervals play no part
    by_chance, excluded = called_apart(0.0)
    assert by_chance <= 16
    assert excluded <= 16, "any trial is as good as the best here"
    truly, excluded = called_apart(3.0)
    assert truly >= 120
    assert excluded <= 16
