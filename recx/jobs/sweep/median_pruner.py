"""``pruner=median``: ends trials that are behind most others at the same epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf, isnan
from typing import Annotated

from annotated_types import Interval

from recx.core.bounds import NonNegativeInt, checked
from recx.core.errors import InputError


@dataclass(frozen=True)
@checked("pruner")
class Median:
    """Optuna's percentile pruner: a trial continues while its best epoch so far is among the best of earlier trials.

    Attributes:
        percentile: Share of the earlier trials, in percent, that it must be among at the same epoch; 50: above the
            median.
        startup_trials: Trials that must have finished before any is pruned.
        warmup_steps: Epochs that are granted to every trial.
    """

    percentile: Annotated[float, Interval(ge=0, le=100)] = 50.0
    startup_trials: NonNegativeInt = 5
    warmup_steps: NonNegativeInt = 1

    def preflight(self) -> None:
        """Check that Optuna is installed.

        Raises:
            InputError: It is not.
        """
        if find_spec("optuna") is None:
            raise InputError(
                "pruner=median: Optuna is not installed: install recx-lab again, with its extra 'sweep' "
                "(python -m recx help install), or choose pruner=null"
            )

    def prune(self, course: Mapping[int, float], others: Sequence[Mapping[int, float]]) -> bool:
        """Return whether to end a trial.

        Args:
            course: Epoch, from 1 -> the value that the trial reached.
            others: The courses of earlier trials.
        """
        from optuna import logging
        from optuna.pruners import PercentilePruner
        from optuna.study import create_study
        from optuna.trial import TrialState, create_trial

        verbosity = logging.get_verbosity()
        logging.set_verbosity(logging.WARNING)  # or it would announce the study
        try:
            study = create_study(direction="maximize")  # in memory, so that it works with any sweeper
        finally:
            logging.set_verbosity(verbosity)
        for other in others:
            known = {step: value for step, value in other.items() if not isnan(value)}
            study.add_trial(create_trial(value=0.0, intermediate_values=known))
        steps = {step: -inf if isnan(value) else value for step, value in course.items()}
        # Optuna counts steps from 0 and leaves alone those below n_warmup_steps
        pruner = PercentilePruner(
            self.percentile, n_startup_trials=self.startup_trials, n_warmup_steps=self.warmup_steps + 1
        )
        return bool(pruner.prune(study, create_trial(state=TrialState.RUNNING, intermediate_values=steps)))
