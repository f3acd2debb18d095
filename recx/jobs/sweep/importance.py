"""How much of what differs between the trials of a sweep is due to each setting: fANOVA, by Optuna."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import fmean

from recx.jobs.sweep.journal import Trial
from recx.jobs.sweep.summary import differing, settings_of

FEWEST, FORESTS = 20, 5
"""Trials from which a forest says something, and forests, whose answers show how much is chance."""
WIDE = 50.0
"""From this ratio of the largest to the smallest value on, a setting is taken by its logarithm."""


@dataclass(frozen=True)
class Importance:
    """The importance of one setting.

    Attributes:
        name: The setting.
        share: Its share of the variance of the objective, the mean of several forests.
        low: The least share that a forest gave it.
        high: The largest.
    """

    name: str
    share: float
    low: float
    high: float


def importances(trials: Sequence[Trial]) -> list[Importance]:
    """Return the importance of every setting that all trials have, the largest first.

    A share is that of the variance of a random forest over the trials which the setting explains alone (fANOVA); what
    is missing to 1 is due to several settings together. Source: Hutter, Hoos and Leyton-Brown, An Efficient Approach
    for Assessing Hyperparameter Importance (ICML 2014), as in ``optuna.importance.FanovaImportanceEvaluator``.

    Returns:
        [] without Optuna, with fewer than 20 trials or two such settings, and where all objectives are the same: then
        nothing can be said. A setting is left out that applies to some trials only, or of whose values none is tried
        twice.
    """
    done = [trial for trial in trials if trial.objective is not None]
    texts = {name: [settings_of(trial).get(name) for trial in done] for name in differing(done)}
    settings = {name: _setting(values) for name, values in texts.items() if None not in values}
    known = {name: setting for name, setting in settings.items() if setting is not None}
    varies = len({trial.objective for trial in done}) > 1
    if len(done) < FEWEST or len(known) < 2 or not varies or find_spec("optuna") is None:
        return []
    shares = _shares([trial.objective or 0.0 for trial in done], known)
    rated = [Importance(name, fmean(of), min(of), max(of)) for name, of in shares.items()]
    return sorted(rated, key=lambda one: -one.share)


def conditional(trials: Sequence[Trial]) -> list[str]:
    """Return the settings that have no importance because they apply to some trials only; [] of fewer than 20."""
    done = [trial for trial in trials if trial.objective is not None]
    if len(done) < FEWEST:
        return []
    return [name for name in differing(done) if any(name not in settings_of(trial) for trial in done)]


def _setting(values: Sequence[str | None]) -> list[float] | list[str] | None:
    """Return the values of a setting as numbers, or as categories; None if each category was tried once."""
    given = [value for value in values if value is not None]
    try:
        numbers = [float(value) for value in given]
    except ValueError:
        return given if len(set(given)) < len(given) else None
    if not all(map(math.isfinite, numbers)):
        return None
    wide = min(numbers) > 0 and max(numbers) > WIDE * min(numbers)
    return [math.log10(number) for number in numbers] if wide else numbers


def _shares(
    objectives: Sequence[float], settings: Mapping[str, Sequence[float] | Sequence[str]]
) -> dict[str, list[float]]:
    """Return the share of every setting in each of several forests."""
    from optuna import logging
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
    from optuna.importance import FanovaImportanceEvaluator
    from optuna.study import create_study
    from optuna.trial import create_trial

    def distribution(values: Sequence[float] | Sequence[str]) -> BaseDistribution:
        numbers = [value for value in values if isinstance(value, float)]
        return (
            FloatDistribution(min(numbers), max(numbers))
            if numbers
            else CategoricalDistribution(sorted({str(value) for value in values}))
        )

    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)  # or it would announce the study
    try:
        study = create_study(direction="maximize")  # in memory
    finally:
        logging.set_verbosity(verbosity)
    spaces = {name: distribution(values) for name, values in settings.items()}
    for place, objective in enumerate(objectives):
        params = {name: values[place] for name, values in settings.items()}
        study.add_trial(create_trial(value=objective, params=params, distributions=spaces))
    forests = [FanovaImportanceEvaluator(seed=seed).evaluate(study) for seed in range(FORESTS)]
    return {name: [forest[name] for forest in forests] for name in settings}
