"""What a sweep says at its end, on values made up so that the answer is known."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recx.jobs.sweep.conclusion import Conclusion, OnTest, seen_on_test, standings_of
from recx.jobs.sweep.importance import Importance
from recx.jobs.sweep.journal import Trial
from recx.jobs.sweep.sentences import sentences
from recx.jobs.sweep.variants import variants_of

OBJECTIVE = "end_to_end/ndcg_at_5"


def concluded(trials: Sequence[Trial], baseline: int = 0, **more: Any) -> Conclusion:
    """Return the conclusion from trials of ``valid`` against the one of a number."""
    variants = variants_of(trials)
    first = next(one for one in variants if baseline in [trial.number for trial in one.trials])
    best = variants[0] if variants[0].done else None
    rows, why = standings_of(variants, OBJECTIVE, "valid", first, best)
    found = Conclusion(variants, f"valid/{OBJECTIVE}", True, first, "the experiment as it is", rows, why)
    return replace(found, chosen=best, why_chosen="the best mean", **more)


@pytest.fixture
def three(make: Any) -> list[Trial]:
    """Return a baseline, a trial that is hardly better, and one that is much worse, for 60 users, and a failed one."""
    rng = np.random.default_rng(0)
    base = rng.random(60)
    return [
        make(0, ["a=0"], base),
        make(1, ["a=1"], base + 0.01 + rng.normal(0, 0.1, 60)),
        make(2, ["a=2"], base - 0.3 + rng.normal(0, 0.1, 60)),
        make(3, ["a=3"], None),
    ]


def test_the_best_mean_is_chosen_and_what_is_not_told_apart_from_it_is_said(three: list[Trial]) -> None:
    found = concluded(three)
    assert found.best is found.chosen
    assert [one.name for one in found.done] == ["1", "0", "2"]
    assert [one.name for one in found.alike] == ["1", "0"]
    assert [found.differs(one) for one in found.done] == [False, False, True]
    assert [found.roles(one) for one in found.variants] == ["best, chosen", "baseline, as good", "", ""]
    row = found.standing(found.done[0])
    said = sentences(found)
    assert said == [
        f"baseline: trial 0 (a=0), the experiment as it is: rank 2 of 3, valid/{OBJECTIVE} = {three[0].objective:.4f}",
        f"best: trial 1 (a=1), valid/{OBJECTIVE} = {three[1].objective:.4f}: {row['difference']:+.4f} (95 % interval "
        f"{row['low']:+.4f} to {row['high']:+.4f}), p {row['p']:.4f}, by Holm over 2 tests {row['p_holm']:.4f}: not "
        "told apart from the baseline",
        "worse than the baseline: 1 of 2: trial 2 (a=2)",
        "not told apart from the best: 1 of 2 others, the baseline among them: trial 0 (a=0)",
        "chosen: trial 1 (a=1), the best mean",
    ]


def test_a_winner_that_is_truly_better_is_told_apart(make: Any) -> None:
    rng = np.random.default_rng(0)
    base = rng.random(60)
    better = base + 0.3 + rng.normal(0, 0.1, 60)
    said = sentences(concluded([make(0, ["a=0"], base), make(1, ["a=1"], better)]))
    assert said[1].endswith("p <.0001, by Holm over 1 test <.0001: told apart from the baseline")
    assert said[2] == "better than the baseline: 1 of 1: trial 1 (a=1)"
    assert said[3] == "the best is told apart from the other"


def test_a_baseline_that_failed_is_held_against_nothing(three: list[Trial]) -> None:
    found = concluded(three, baseline=3)
    assert found.tested == 0
    assert [one.name for one in found.alike] == ["1", "0"], "the best is still held against the others"
    assert sentences(found)[0] == (
        "baseline: trial 3 (a=3), the experiment as it is: it has no objective (it broke), so nothing is held "
        "against it"
    )


def test_where_nothing_can_be_tested_it_is_said_why(make: Any) -> None:
    seeds = concluded([make(seed, [f"seed={seed}"], [0.1 * seed, 0.5]) for seed in range(3)])
    assert seeds.untested == "there is one setting alone"
    assert sentences(seeds)[0].endswith("its mean, with the spread of 3 seeds")
    assert sentences(seeds)[-2:] == [
        "nothing was tested: there is one setting alone",
        "chosen: trials 0, 1, 2, the best mean; its first seed, trial 0, stands for it",
    ]
    failed = concluded([make(seed + 5, [f"a={seed}"], None) for seed in range(2)], baseline=5)
    assert failed.untested == "no trial has an objective"
    assert (failed.best, failed.alike) == (None, [])


def test_trials_of_other_users_are_not_tested(make: Any) -> None:
    trials = [make(0, ["a=0"], [0.1, 0.2]), make(1, ["a=1"], [0.3, 0.4])]
    for trial in trials:
        card = {"fold": "valid", "data_hash": trial.folder}
        Path(trial.folder, "protocol.json").write_text(json.dumps(card))
    found = concluded(trials)
    assert "are of different data" in found.untested
    assert found.best is not None


def test_on_test_the_regret_is_what_the_baseline_has_more(make: Any, three: list[Trial]) -> None:
    base = np.linspace(0, 1, 40)
    one, other = make(8, ["a=1"], base - 0.02, fold="test"), make(9, ["a=0"], base, fold="test")
    seen = seen_on_test(Path(one.folder), Path(other.folder), OBJECTIVE)
    assert (seen.chosen, seen.baseline) == (pytest.approx(0.48), pytest.approx(0.5))
    assert seen.difference == pytest.approx(-0.02)
    assert seen.regret == pytest.approx(0.02)
    assert replace(seen, difference=0.01).regret == 0.0
    assert math.isnan(OnTest(0.5).regret)
    alone = seen_on_test(Path(one.folder), None, OBJECTIVE)
    assert (alone.chosen, math.isnan(alone.baseline)) == (seen.chosen, True)
    said = sentences(concluded(three, on_test=seen))[-1]
    assert said.startswith(
        "once on test: the chosen trial reaches 0.4800, the baseline 0.5000: -0.0200 (95 % interval -0.0200 to"
    )
    assert said.endswith("regret of choosing on valid instead of keeping the baseline: 0.0200")


def test_the_importance_of_settings_is_said_with_its_range(three: list[Trial]) -> None:
    found = concluded(three, importances=[Importance("a", 0.75, 0.7, 0.8), Importance("b", 0.1, 0.05, 0.2)])
    assert sentences(found)[-1] == (
        "importance of the settings by fANOVA, over 3 trials: a 75.0 % (70.0 % to 80.0 %), b 10.0 % (5.0 % to 20.0 %)"
    )
    some = concluded(three, conditional=["c", "d"])
    assert sentences(some)[-1] == "no importance is given of settings that apply to some trials only: c, d"


def test_on_the_test_fold_none_is_best(three: list[Trial]) -> None:
    found = replace(concluded(three), chooses=False, chosen=None)
    assert (found.best, found.alike) == (None, [])
    assert [sentence.partition(":")[0] for sentence in sentences(found)] == ["baseline", "worse than the baseline"]
