"""Hydra's sweeper for Optuna, with ranges that apply only where another setting has a certain value."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from recx.config import hydra_internals as internals
from recx.core.errors import InputError

if TYPE_CHECKING:
    from optuna.trial import Trial

    from recx.config.hydra_internals import Proposer


@dataclass(frozen=True)
class Branch:
    """Ranges that apply where a key has one of certain values.

    Attributes:
        condition: The key or group and its values.
        ranges: The ranges that apply then.
    """

    condition: internals.Override
    ranges: tuple[internals.Override, ...]

    @property
    def key(self) -> str:
        """The key or group of the condition."""
        return internals.key_of(self.condition)

    def applies(self, value: str) -> bool:
        """Return whether a value of the key, as it is typed, meets the condition."""
        return value in map(_typed, internals.values_of(self.condition))

    def first(self) -> dict[str, str]:
        """Return key -> override with the first value, for the condition and each range, to check that keys exist."""
        return {internals.key_of(one): internals.first_value(one) for one in (self.condition, *self.ranges)}


def branches(when: Mapping[str, Mapping[str, Any]] | None) -> list[Branch]:
    """Return the branches of ``hydra.sweeper.when``.

    Raises:
        InputError: It is not a mapping of conditions to ranges.
        OverrideParseException: A condition or a range cannot be read.
    """
    return [_branch(condition, ranges) for condition, ranges in (when or {}).items()]


def _branch(condition: str, ranges: Any) -> Branch:
    if not isinstance(ranges, Mapping | DictConfig) or "=" not in condition:
        raise InputError(
            f"hydra.sweeper.when: {condition!r} is not a condition with ranges: write KEY=VALUE and, below it, KEY: "
            "RANGE, such as retriever=item_knn: {retriever.neighbours: 'range(50,500,50)'}"
        )
    [first, *others] = internals.parse([condition, *(f"{key}={values}" for key, values in ranges.items())])
    if internals.is_interval(first):
        raise InputError(f"hydra.sweeper.when: {condition!r} is not a condition: name one value or several, KEY=A,B")
    return Branch(first, tuple(others))


@dataclass(frozen=True)
class _Proposals:
    """Called by Hydra's sweeper for every trial, after ``params`` and the command line have been proposed."""

    branches: Sequence[Branch]
    own: Proposer | None

    def __call__(self, config: DictConfig, trial: Trial) -> None:
        if self.own is not None:
            self.own(config, trial)
        for branch in self.branches:
            known = {str(key).lstrip("+"): _typed(value) for key, value in {**trial.user_attrs, **trial.params}.items()}
            if branch.applies(known.get(branch.key) or _composed(config, branch.key)):
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


def _typed(value: Any) -> str:
    """Return a value as it is typed, without quotes."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value).strip("'\"")


def _composed(config: DictConfig, key: str) -> str:
    """Return the chosen option of a group, or the value of a key, in the configuration without a trial's values."""
    choices = config.hydra.runtime.choices
    return _typed(choices[key] if key in choices else OmegaConf.select(config, key))
