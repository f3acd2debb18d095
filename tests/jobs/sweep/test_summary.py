"""The table of a sweep: the best first, failures last, only what differs."""

from __future__ import annotations

import math

from recx.evaluation.standings import COLUMNS
from recx.jobs.sweep.journal import Trial
from recx.jobs.sweep.summary import STANDING, differing, table

UNTESTED = {number: dict.fromkeys(COLUMNS, math.nan) for number in range(4)}


def trial(number: int, objective: float | None, *words: str) -> Trial:
    return Trial(number, words, f"{number}", 1.0, objective, 0, "" if objective is not None else "it broke")


def test_the_best_stands_first_equals_in_their_order_and_failures_last() -> None:
    trials = [trial(0, 0.1, "seed=0"), trial(1, None, "seed=1"), trial(2, 0.3, "seed=2"), trial(3, 0.3, "seed=3")]
    columns = table(trials, UNTESTED)
    assert columns["trial"] == [2, 3, 0, 1]
    assert columns["seed"] == ["2", "3", "0", "1"]
    assert columns["objective"][:3] == [0.3, 0.3, 0.1]
    assert isinstance(columns["objective"][3], float)
    assert math.isnan(columns["objective"][3])
    assert columns["reason"] == ["", "", "", "it broke"]


def test_only_differing_settings_are_columns() -> None:
    trials = [
        trial(0, 0.1, "+experiment=news", "~feature.age", "ranker.l2=1"),
        trial(1, 0.2, "+experiment=news", "~feature.age", "ranker.l2=2", "k=v=w"),
        trial(2, 0.3, "+experiment=news", "~feature.age", "~feature.trend", "ranker.l2=2"),
    ]
    assert differing(trials) == ["ranker.l2", "without", "k"]
    assert table(trials, UNTESTED)["without"] == ["feature.age feature.trend", "feature.age", "feature.age"]
    assert table(trials, UNTESTED)["k"] == ["", "v=w", ""]


def test_one_trial_or_none_differs_in_nothing() -> None:
    assert differing([trial(0, 0.1, "a=1")]) == []
    assert list(table([], {})) == ["trial", "objective", "seconds", "cached", "reason", *STANDING]
