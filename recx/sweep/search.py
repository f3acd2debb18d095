"""Hydra's sweeper for Optuna, with ranges that hold only where another setting has a certain value."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, Transformer
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from recx.errors import InputError

if TYPE_CHECKING:
    from optuna.trial import Trial

Proposer = Callable[[DictConfig, "Trial"], None]


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
        return value in map(_word, _values(self.asked))

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
    parser = OverridesParser.create()
    [asked, *parsed] = parser.parse_overrides([condition, *(f"{key}={values}" for key, values in ranges.items())])
    if asked.is_interval_sweep():
        raise InputError(f"hydra.sweeper.when: {condition!r} is no condition: name one value or several, KEY=A,B")
    return Branch(asked, tuple(parsed))


@dataclass(frozen=True)
class _Proposals:
    """Called by Hydra's sweeper for every trial, when what ``params`` and the command line say has been proposed."""

    branches: Sequence[Branch]
    own: Proposer | None

    def __call__(self, config: DictConfig, trial: Trial) -> None:
        from hydra_plugins.hydra_optuna_sweeper._impl import create_optuna_distribution_from_override
        from optuna.distributions import BaseDistribution, CategoricalDistribution

        if self.own is not None:
            self.own(config, trial)
        for branch in self.branches:
            known = {str(key).lstrip("+"): _word(value) for key, value in {**trial.user_attrs, **trial.params}.items()}
            if branch.holds(known.get(branch.key) or _composed(config, branch.key)):
                for one in branch.ranges:
                    if key_of(one) in known:
                        continue  # the command line goes before
                    values = create_optuna_distribution_from_override(one)
                    several = values if isinstance(values, BaseDistribution) else CategoricalDistribution([values])
                    trial._suggest(one.get_key_element(), several)


class Search(Sweeper):
    """Lets Optuna look for the best.

    when: GROUP=OPTION or KEY=VALUE (or several: KEY=A,B) -> key -> its range there, as on the command line. A branch
    may ask for what an earlier one has proposed. settings: those of Hydra's own sweeper for Optuna.
    """

    def __init__(self, when: DictConfig | None = None, **settings: Any) -> None:
        from hydra_plugins.hydra_optuna_sweeper.optuna_sweeper import OptunaSweeper
        from optuna import logging
        from optuna.exceptions import ExperimentalWarning

        logging.set_verbosity(logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)  # ``group``, which is as old as TPE's other settings
            self.inner = OptunaSweeper(**settings)
        proposer = self.inner.sweeper
        proposer.custom_search_space_extender = _Proposals(branches(when), proposer.custom_search_space_extender)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take what Hydra's own sweeper takes."""
        self.inner.setup(hydra_context=hydra_context, task_function=task_function, config=config)

    def sweep(self, arguments: list[str]) -> None:
        """Run the trials."""
        self.inner.sweep(arguments)


def key_of(override: Override) -> str:
    """Return the key or group that an override is of."""
    return override.get_key_element().lstrip("+")


def first_word(override: Override) -> str:
    """Return an override with the first of its values; of an interval, where it starts."""
    if not override.is_sweep_override():
        return str(override.input_line)
    if override.is_interval_sweep():
        return f"{override.get_key_element()}={cast(IntervalSweep, override.value()).start}"
    return f"{override.get_key_element()}={next(iter(override.sweep_string_iterator()))}"


def _values(override: Override) -> Iterable[Any]:
    if override.is_sweep_override():
        return override.sweep_iterator(transformer=Transformer.encode)
    return [override.get_value_element_as_str()]


def _word(value: Any) -> str:
    """Return a value as it is typed, without the quotes."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value).strip("'\"")


def _composed(config: DictConfig, key: str) -> str:
    """Return the option that is chosen from a group, or the value of a key, where no trial says otherwise."""
    choices = config.hydra.runtime.choices
    return _word(choices[key] if key in choices else OmegaConf.select(config, key))
