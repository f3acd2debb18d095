"""Which trials the median ends, worked by hand, and what it says where it cannot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from recx.core.errors import InputError
from recx.jobs.sweep import median_pruner
from recx.jobs.sweep.median_pruner import Median

OTHERS: list[Mapping[int, float]] = [{1: n / 8, 2: n / 4, 3: n / 2} for n in range(1, 6)]  # at 2: 0.25 ... 1.25


@pytest.fixture(autouse=True)
def _with_optuna() -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")


@pytest.mark.parametrize(
    ("course", "pruned"),
    [
        ({1: 0.0}, False),  # every trial is left its first epoch
        ({1: 0.0, 2: 0.74}, True),  # the others' median at 2 is 0.75
        ({1: 0.0, 2: 0.75}, False),
        ({1: 0.75, 2: 0.0}, False),  # its best epoch so far counts
        ({1: 0.0, 2: 0.75, 3: 1.49}, True),
        ({1: 0.0, 2: 0.75, 3: 1.5, 4: 1.5}, False),  # nobody else came so far
        ({1: math.nan, 2: math.nan}, True),
    ],
)
def test_a_trial_below_the_median_of_the_others_ends(course: Mapping[int, float], pruned: bool) -> None:
    assert Median().prune(course, OTHERS) is pruned


@pytest.mark.parametrize(
    ("settings", "pruned"),
    [
        ({"percentile": 100.0}, False),
        ({"percentile": 75.0}, False),  # 0.5 or more
        ({"percentile": 25.0}, True),  # 1.0 or more
        ({"startup_trials": 6}, False),
        ({"warmup_steps": 2}, False),
        ({"startup_trials": 0, "warmup_steps": 0}, True),
    ],
)
def test_settings_say_how_strict_it_is_and_from_when(settings: dict[str, Any], pruned: bool) -> None:
    assert Median(**settings).prune({1: 0.1, 2: 0.5}, OTHERS) is pruned


def test_without_others_nothing_ends() -> None:
    assert not Median(startup_trials=0, warmup_steps=0).prune({1: 0.0}, [])


def test_others_that_ended_earlier_count_where_they_came_to() -> None:
    others = [*OTHERS, *({1: 9.0} for _ in range(8)), {1: 9.0, 2: math.nan}]
    assert not Median().prune({1: 0.0, 2: 0.75}, others)
    assert Median(warmup_steps=0).prune({1: 0.75}, others)


def test_asking_changes_nothing_and_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    course, others = {1: 0.0, 2: 0.5}, [dict(other) for other in OTHERS]
    assert [Median().prune(course, others) for _ in range(2)] == [True, True]
    assert course == {1: 0.0, 2: 0.5}
    assert others == OTHERS
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"percentile": 101.0}, "pruner.percentile=101.0: it must be 0 or more and at most 100"),
        ({"percentile": math.nan}, "pruner.percentile=nan"),
        ({"startup_trials": -1}, "pruner.startup_trials=-1: it must be 0 or more"),
        ({"warmup_steps": -1}, "pruner.warmup_steps=-1: it must be 0 or more"),
    ],
)
def test_wrong_settings_are_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Median(**settings)


def test_without_optuna_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    Median().preflight()
    monkeypatch.setattr(median_pruner, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pruner=median: Optuna is not installed: .*, with its extra 'sweep' "):
        Median().preflight()
