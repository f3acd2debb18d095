"""The trials of a sweep as one table: what differed, the objective, what it took, what failed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from recx.jobs.sweep.journal import Trial

Columns = dict[str, list[object]]


def table(trials: Sequence[Trial]) -> Columns:
    """Return column -> one value a trial, the largest objective first, then those that were pruned, then the failed.

    Columns: trial (its number), objective (NaN where there is none), every setting that differs between trials as it
    was typed ("" where a trial leaves it alone; ``without``: what was taken out), seconds, cached, reason (why there is
    no objective).
    """
    ordered = sorted(trials, key=lambda trial: (-_worth(trial), trial.pruned is None, trial.number))
    return {
        "trial": [trial.number for trial in ordered],
        "objective": [math.nan if trial.objective is None else trial.objective for trial in ordered],
        **{key: [_settings(trial).get(key, "") for trial in ordered] for key in differing(trials)},
        "seconds": [trial.seconds for trial in ordered],
        "cached": [trial.cached for trial in ordered],
        "reason": [trial.lacks for trial in ordered],
    }


def differing(trials: Sequence[Trial]) -> list[str]:
    """Return the settings that are not the same in all trials, in the order in which they were typed."""
    every = [_settings(trial) for trial in trials]
    keys = dict.fromkeys(key for settings in every for key in settings)
    return [key for key in keys if len({settings.get(key) for settings in every}) > 1]


def _worth(trial: Trial) -> float:
    return -math.inf if trial.objective is None else trial.objective


def _settings(trial: Trial) -> Mapping[str, str]:
    """Return key -> value as typed; what is taken out (~KEY) stands together under ``without``."""
    out = " ".join(word[1:] for word in trial.words if word.startswith("~"))
    typed = (word.lstrip("+").partition("=") for word in trial.words if not word.startswith("~"))
    return {**{key: value for key, _, value in typed}, **({"without": out} if out else {})}
