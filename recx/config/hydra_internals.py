"""Every name of Hydra, its Optuna plugin and Optuna that their documentation does not promise; none is used elsewhere.

``tests/test_hydra_internals.py`` tries each, so that a release that changes one fails there by its name.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, Transformer
from hydra.core.plugins import Plugins
from hydra.plugins.plugin import Plugin
from hydra.plugins.sweeper import Sweeper

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from optuna.trial import Trial

    Proposer = Callable[[DictConfig, Trial], None]

__all__ = ["BasicSweeper", "Override"]

AMBIGUOUS = "Ambiguous value for argument"
NOTHING_CHOSEN = "No match in the defaults list"
ALREADY_CHOSEN = "Multiple values for "
NOT_AN_OPTION = "Config group override must be"
"""Texts by which Hydra's errors are told apart, as they all have one class."""

is_swept = Override.is_sweep_override
is_interval = Override.is_interval_sweep
is_deletion = Override.is_delete


def flags_parser() -> ArgumentParser:
    """Return the parser of Hydra's own command line."""
    return get_args_parser()


def register(*plugins: type[Plugin]) -> None:
    """Make plugins known to Hydra that lie outside of its namespace package."""
    for plugin in plugins:
        Plugins.instance().register(plugin)


def forget_configuration() -> None:
    """Undo that Hydra keeps the configuration of the run before, which a run from Python would take for its own."""
    HydraConfig.instance().cfg = None


def parse(overrides: Sequence[str]) -> list[Override]:
    """Return overrides as Hydra reads them.

    Raises:
        OverrideParseException: An override cannot be read.
    """
    return OverridesParser.create().parse_overrides(list(overrides))


def key_of(override: Override) -> str:
    """Return the key or group that an override is of."""
    return override.get_key_element().lstrip("+")


def typed(override: Override) -> str:
    """Return an override as it was typed."""
    return str(override.input_line)


def first_word(override: Override) -> str:
    """Return an override with the first of its values; of an interval, where it starts."""
    if not is_swept(override):
        return typed(override)
    if is_interval(override):
        return f"{override.get_key_element()}={cast(IntervalSweep, override.value()).start}"
    return f"{override.get_key_element()}={next(iter(override.sweep_string_iterator()))}"


def values_of(override: Override) -> list[Any]:
    """Return the one value of an override, or those of its sweep."""
    if is_swept(override):
        return list(override.sweep_iterator(transformer=Transformer.encode))
    return [override.get_value_element_as_str()]


def optuna_sweeper(settings: dict[str, Any], extend: Callable[[Proposer | None], Proposer]) -> Sweeper:
    """Return the Optuna plugin's sweeper.

    Args:
        settings: The sweeper's own.
        extend: From ``custom_search_space`` (None: there is none) to what is called in its place for every trial.
    """
    from hydra_plugins.hydra_optuna_sweeper.optuna_sweeper import OptunaSweeper

    outer = OptunaSweeper(**settings)
    inner = outer.sweeper
    inner.custom_search_space_extender = extend(inner.custom_search_space_extender)
    return outer


def suggest(trial: Trial, override: Override) -> None:
    """Let a trial of Optuna propose a value of an override's range."""
    from hydra_plugins.hydra_optuna_sweeper._impl import create_optuna_distribution_from_override
    from optuna.distributions import BaseDistribution, CategoricalDistribution

    values = create_optuna_distribution_from_override(override)
    distribution = values if isinstance(values, BaseDistribution) else CategoricalDistribution([values])
    trial._suggest(override.get_key_element(), distribution)
