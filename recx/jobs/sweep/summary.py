"""The trials of a sweep as one table: what differed, the objective, the cost, and what failed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from recx.jobs.sweep.journal import Trial

WITHOUT = "without"
"""The column with the deletions of a trial (~KEY)."""


STANDING = ("difference", "low", "high", "p", "p_holm", "p_best")
"""Columns of a table that say how a trial stands (see ``recx.evaluation.standings``)."""


def table(trials: Sequence[Trial], standings: Mapping[int, Mapping[str, float]]) -> dict[str, list[object]]:
    """Return the trials as columns, sorted by objective, largest first, then the pruned ones, then the failed ones.

    Args:
        trials: The trials.
        standings: Number of a trial -> how it stands, or the trials that differ from it in their seed alone.

    Returns:
        Column -> one value per trial: ``trial`` (its number), ``objective`` (NaN where there is none), every setting
        that differs between trials as it was typed ("" where a trial does not set it; ``without``: the deletions),
        ``seconds``, ``cached``, ``reason`` (why there is no objective), and how it stands: ``difference`` (from the
        baseline, with its interval ``low`` to ``high``), ``p``, ``p_holm``, and ``p_best`` (against the best).
    """

    def place(trial: Trial) -> tuple[float, bool, int]:
        return math.inf if trial.objective is None else -trial.objective, trial.pruned is None, trial.number

    ordered = sorted(trials, key=place)
    return {
        "trial": [trial.number for trial in ordered],
        "objective": [math.nan if trial.objective is None else trial.objective for trial in ordered],
        **{key: [settings_of(trial).get(key, "") for trial in ordered] for key in differing(trials)},
        "seconds": [trial.seconds for trial in ordered],
        "cached": [trial.cached for trial in ordered],
        "reason": [trial.missing for trial in ordered],
        **{column: [standings[trial.number][column] for trial in ordered] for column in STANDING},
    }


def differing(trials: Sequence[Trial]) -> list[str]:
    """Return the settings that are not the same in all trials, in the order in which they were typed."""
    settings = [settings_of(trial) for trial in trials]
    keys = dict.fromkeys(key for of_trial in settings for key in of_trial)
    return [key for key in keys if len({of_trial.get(key) for of_trial in settings}) > 1]


def settings_of(trial: Trial) -> Mapping[str, str]:
    """Return key -> value as typed; deletions (~KEY) are joined under ``without``."""
    deleted = " ".join(override[1:] for override in trial.overrides if override.startswith("~"))
    typed = (override.lstrip("+").partition("=") for override in trial.overrides if not override.startswith("~"))
    return {key: value for key, _, value in typed} | ({WITHOUT: deleted} if deleted else {})
