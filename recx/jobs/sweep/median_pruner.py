"""``pruner=median``: trials that are behind most others at the same epoch are ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf, isnan
from typing import Annotated

from annotated_types import Interval

from recx.core.bounds import NonNegativeInt, check
from recx.core.errors import InputError


@dataclass(frozen=True)
class Median:
    """Optuna's percentile pruner: a trial goes on while its best epoch so far is among the best of the earlier trials.

    percentile: share of the earlier trials, in percent, that it must be among at the same epoch; 50: above the median.
    startup_trials: trials that must have run to their end before any is pruned.
    warmup_steps: epochs that every trial is left.
    """

    percentile: Annotated[float, Interval(ge=0, le=100)] = 50.0
    startup_trials: NonNegativeInt = 5
    warmup_steps: NonNegativeInt = 1

    def __post_init__(self) -> None:
        check(self, "pruner")

    def preflight(self) -> None:
        """Look whether Optuna is there.

        Raises:
            InputError: it is not.
        """
        if find_spec("optuna") is None:
            raise InputError("pruner=median: Optuna is not installed: pip install 'recx[sweep]', or choose pruner=null")

    def prune(self, course: Mapping[int, float], others: Sequence[Mapping[int, float]]) -> bool:
        """Whether a trial with this course is to end, by the courses of earlier trials (epoch from 1 -> value)."""
        from optuna.pruners import PercentilePruner
        from optuna.study import create_study
        from optuna.trial import TrialState, create_trial

        with _quiet():
            study = create_study(direction="maximize")  # in memory, so that any sweeper will do
        for other in others:
            known = {step: value for step, value in other.items() if not isnan(value)}
            study.add_trial(create_trial(value=0.0, intermediate_values=known))
        steps = {step: -inf if isnan(value) else value for step, value in course.items()}
        under_way = create_trial(state=TrialState.RUNNING, intermediate_values=steps)
        # Optuna counts steps from 0: one that is below n_warmup_steps is left alone.
        pruner = PercentilePruner(
            self.percentile, n_startup_trials=self.startup_trials, n_warmup_steps=self.warmup_steps + 1
        )
        return bool(pruner.prune(study, under_way))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Optuna from saying that there is a new study."""
    from optuna import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)
