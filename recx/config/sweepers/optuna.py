"""Hydra's sweeper for Optuna, with ranges that hold only where another setting has a certain value."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from recx.config.hydra_internals import (
    Override,
    first_word,
    is_interval,
    key_of,
    optuna_sweeper,
    parse,
    suggest,
    values_of,
)
from recx.core.errors import InputError

if TYPE_CHECKING:
    from optuna.trial import Trial

    from recx.config.hydra_internals import Proposer


@dataclass(frozen=True)
class Branch:
    """Ranges that hold where a key has the value, or one of the values, that is asked for."""

    asked: Override
    ranges: tuple[Override, ...]

    @property
    def key(self) -> str:
        """The key or group that the ranges depend on."""
        return key_of(self.asked)

    def holds(self, value: str) -> bool:
        """Whether the key's value, as it is typed, is asked for."""
        return value in map(_word, values_of(self.asked))

    def first(self) -> dict[str, str]:
        """Return key -> word of what is asked for and of each range's first value, to see that there are such keys."""
        return {key_of(one): first_word(one) for one in (self.asked, *self.ranges)}


def branches(when: Mapping[str, Mapping[str, Any]] | None) -> list[Branch]:
    """Return what ``hydra.sweeper.when`` says.

    Raises:
        InputError: it is no mapping of conditions to ranges.
        OverrideParseException: a condition or a range cannot be read.
    """
    return [_branch(condition, ranges) for condition, ranges in (when or {}).items()]


def _branch(condition: str, ranges: Any) -> Branch:
    if not isinstance(ranges, Mapping | DictConfig) or "=" not in condition:
        raise InputError(
            f"hydra.sweeper.when: {condition!r} is no condition with ranges: write KEY=VALUE and, beneath it, KEY: "
            "RANGE, such as retriever=item_knn: {retriever.neighbours: 'range(50,500,50)'}"
        )
    [asked, *parsed] = parse([condition, *(f"{key}={values}" for key, values in ranges.items())])
    if is_interval(asked):
        raise InputError(f"hydra.sweeper.when: {condition!r} is no condition: name one value or several, KEY=A,B")
    return Branch(asked, tuple(parsed))


@dataclass(frozen=True)
class _Proposals:
    """Called by Hydra's sweeper for every trial, when what ``params`` and the command line say has been proposed."""

    branches: Sequence[Branch]
    own: Proposer | None

    def __call__(self, config: DictConfig, trial: Trial) -> None:
        if self.own is not None:
            self.own(config, trial)
        for branch in self.branches:
            known = {str(key).lstrip("+"): _word(value) for key, value in {**trial.user_attrs, **trial.params}.items()}
            if branch.holds(known.get(branch.key) or _composed(config, branch.key)):
                for one in branch.ranges:
                    if key_of(one) not in known:  # else the command line goes before
                        suggest(trial, one)


class Search(Sweeper):
    """Lets Optuna look for the best.

    when: GROUP=OPTION or KEY=VALUE (or several: KEY=A,B) -> key -> its range there, as on the command line. A branch
    may ask for what an earlier one has proposed. settings: those of Hydra's own sweeper for Optuna.
    """

    def __init__(self, when: DictConfig | None = None, **settings: Any) -> None:
        from optuna import logging
        from optuna.exceptions import ExperimentalWarning

        logging.set_verbosity(logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)  # ``group``, which is as old as TPE's other settings
            self.inner = optuna_sweeper(settings, lambda own: _Proposals(branches(when), own))

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take what Hydra's own sweeper takes."""
        self.inner.setup(hydra_context=hydra_context, task_function=task_function, config=config)

    def sweep(self, arguments: list[str]) -> None:
        """Run the trials."""
        self.inner.sweep(arguments)


def _word(value: Any) -> str:
    """Return a value as it is typed, without the quotes."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value).strip("'\"")


def _composed(config: DictConfig, key: str) -> str:
    """Return the option that is chosen from a group, or the value of a key, where no trial says otherwise."""
    choices = config.hydra.runtime.choices
    return _word(choices[key] if key in choices else OmegaConf.select(config, key))
