"""Hydra's sweeper for Optuna, with ranges that apply only where another setting has a certain value."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from recx.config import hydra_internals as internals
from recx.config.sweepers.when import Branch, as_typed, branches, composed_value

if TYPE_CHECKING:
    from optuna.trial import Trial

    from recx.config.hydra_internals import Proposer


@dataclass(frozen=True)
class _Proposals:
    """Called by Hydra's sweeper for every trial, after ``params`` and the command line have been proposed."""

    branches: Sequence[Branch]
    own: Proposer | None

    def __call__(self, config: DictConfig, trial: Trial) -> None:
        if self.own is not None:
            self.own(config, trial)
        for branch in self.branches:
            known = {
                str(key).lstrip("+"): as_typed(value) for key, value in {**trial.user_attrs, **trial.params}.items()
            }
            if branch.applies(known.get(branch.key) or composed_value(config, branch.key)):
                for one in branch.ranges:
                    if internals.key_of(one) not in known:  # otherwise the command line takes precedence
                        internals.suggest(trial, one)


class Search(Sweeper):
    """Lets Optuna search for the best settings.

    Args:
        when: GROUP=OPTION or KEY=VALUE (or several: KEY=A,B) -> key -> its range there, as on the command line. A
            condition may refer to a setting of an earlier branch.
        settings: Those of Hydra's own sweeper for Optuna.
    """

    def __init__(self, when: DictConfig | None = None, **settings: Any) -> None:
        from optuna import logging
        from optuna.exceptions import ExperimentalWarning

        logging.set_verbosity(logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)  # ``group``, which is as old as TPE's other settings
            self.inner = internals.optuna_sweeper(settings, lambda own: _Proposals(branches(when), own))

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Set up the inner sweeper."""
        self.inner.setup(hydra_context=hydra_context, task_function=task_function, config=config)

    def sweep(self, arguments: list[str]) -> None:
        """Run the trials."""
        self.inner.sweep(arguments)
