"""What settings contribute: the one that decides is named, and of too little nothing is said."""

from __future__ import annotations

import pytest

from recx.jobs.sweep import importance
from recx.jobs.sweep.importance import FEWEST, conditional, importances
from recx.jobs.sweep.journal import Trial


def trials(n: int) -> list[Trial]:
    """Return trials whose objective follows ``a`` alone; ``c`` is set in some of them only."""
    return [
        Trial(
            place,
            (f"a={10.0 ** (place % 5 - 3)}", f"b={'xy'[place % 2]}", *([f"c={place}"] if place % 3 else [])),
            "",
            objective=(place % 5) / 10,
        )
        for place in range(n)
    ]


def test_the_setting_that_decides_has_the_largest_share() -> None:
    pytest.importorskip("optuna")
    found = importances(trials(30))
    assert [one.name for one in found] == ["a", "b"], "c applies to some trials only"
    assert found[0].share > 0.9
    assert found[1].share < 0.1
    assert all(one.low <= one.share <= one.high for one in found)


def test_settings_of_some_trials_only_are_named() -> None:
    assert conditional(trials(30)) == ["c"]
    assert conditional(trials(FEWEST - 1)) == [], "too few trials say nothing of any setting"
    assert conditional([Trial(one.number, one.overrides[:2], "", objective=one.objective) for one in trials(30)]) == []


def test_of_too_little_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert importances(trials(FEWEST - 1)) == []
    assert importances([Trial(place, (f"a={place % 5}",), "", objective=place / 30) for place in range(30)]) == []
    once = [Trial(place, (f"a={place % 5}", f"b=x{place}"), "", objective=place / 30) for place in range(30)]
    assert importances(once) == [], "no value of b was tried twice"
    assert importances([Trial(one.number, one.overrides, "", objective=0.5) for one in trials(30)]) == []
    monkeypatch.setattr(importance, "find_spec", lambda name: None)
    assert importances(trials(30)) == []
