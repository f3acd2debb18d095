"""The trials of a sweep as one table: what differed, the objective, the cost, and what failed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from recx.jobs.sweep.journal import Trial


def table(trials: Sequence[Trial]) -> dict[str, list[object]]:
    """Return the trials as columns, sorted by objective, largest first, then the pruned ones, then the failed ones.

    Returns:
        Column -> one value per trial: ``trial`` (its number), ``objective`` (NaN where there is none), every setting
        that differs between trials as it was typed ("" where a trial does not set it; ``without``: the deletions),
        ``seconds``, ``cached`` and ``reason`` (why there is no objective).
    """

    def place(trial: Trial) -> tuple[float, bool, int]:
        return math.inf if trial.objective is None else -trial.objective, trial.pruned is None, trial.number

    ordered = sorted(trials, key=place)
    return {
        "trial": [trial.number for trial in ordered],
        "objective": [math.nan if trial.objective is None else trial.objective for trial in ordered],
        **{key: [_settings(trial).get(key, "") for trial in ordered] for key in differing(trials)},
        "seconds": [trial.seconds for trial in ordered],
        "cached": [trial.cached for trial in ordered],
        "reason": [trial.missing for trial in ordered],
    }


def differing(trials: Sequence[Trial]) -> list[str]:
    """Return the settings that are not the same in all trials, in the order in which they were typed."""
    settings = [_settings(trial) for trial in trials]
    keys = dict.fromkeys(key for of_trial in settings for key in of_trial)
    return [key for key in keys if len({of_trial.get(key) for of_trial in settings}) > 1]


def _settings(trial: Trial) -> Mapping[str, str]:
    """Return key -> value as typed; deletions (~KEY) are joined under ``without``."""
    deleted = " ".join(override[1:] for override in trial.overrides if override.startswith("~"))
    typed = (override.lstrip("+").partition("=") for override in trial.overrides if not override.startswith("~"))
    return {key: value for key, _, value in typed} | ({"without": deleted} if deleted else {})
