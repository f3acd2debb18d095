"""All undocumented names of Hydra, its Optuna plugin and Optuna; no other module uses any.

``tests/config/test_hydra_internals.py`` tests each, so that a release that changes one fails there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.utils import create_config_search_path, get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, Transformer
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult
from hydra.plugins.plugin import Plugin
from hydra.plugins.sweeper import Sweeper

from recx.core.errors import InputError
from recx.core.yaml_files import refuse_bomb

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from optuna.trial import Trial

    Proposer = Callable[[DictConfig, Trial], None]

__all__ = ["BasicSweeper", "Override"]

AMBIGUOUS = "Ambiguous value for argument"
NOTHING_CHOSEN = "No match in the defaults list"
ALREADY_CHOSEN = "Multiple values for "
CHOSEN_TWICE = " appears more than once in the final defaults list"
NOT_GLOBAL = "Invalid Defaults List override"
NOT_AN_OPTION = "Config group override must be"
NOT_QUOTED = "Unsupported item value in defaults : bool"
"""Texts that distinguish Hydra's errors, which share one class."""

is_swept = Override.is_sweep_override
is_interval = Override.is_interval_sweep
is_deletion = Override.is_delete
is_of_hydra = Override.is_hydra_override
flags_parser = get_args_parser
_turn = RLock()


def register(*plugins: type[Plugin]) -> None:
    """Register Hydra plugins that lie outside of its namespace package."""
    for plugin in plugins:
        Plugins.instance().register(plugin)


@contextmanager
def alone() -> Iterator[None]:
    """Have Hydra to ourselves inside the context, in one thread at a time.

    Hydra keeps what it composes in global variables; what a program around us has there is put aside and back.
    """
    with _turn:
        hydra, config = GlobalHydra.instance().hydra, HydraConfig.instance().cfg
        GlobalHydra.instance().hydra = HydraConfig.instance().cfg = None
        FileConfigSource.load_config = _load_checked  # type: ignore[assignment, method-assign]
        try:
            yield
        finally:
            FileConfigSource.load_config = _load_config  # type: ignore[method-assign]
            GlobalHydra.instance().hydra, HydraConfig.instance().cfg = hydra, config


@contextmanager
def checked(check: Callable[[DictConfig], None]) -> Iterator[None]:
    """Have every configuration that Hydra composes inside the context checked before Hydra acts on it."""
    compose = ConfigLoaderImpl._load_configuration

    def compose_and_check(*arguments: Any, **named: Any) -> DictConfig:
        config: DictConfig = compose(*arguments, **named)
        check(config)
        return config

    setattr(ConfigLoaderImpl, compose.__name__, compose_and_check)
    try:
        yield
    finally:
        setattr(ConfigLoaderImpl, compose.__name__, compose)


_load_config = FileConfigSource.load_config


def _load_checked(source: FileConfigSource, config_path: str) -> ConfigResult:
    """Load an option file, unless its aliases would fill the memory."""
    file = Path(source.path, config_path if config_path.endswith((".yaml", ".yml")) else f"{config_path}.yaml")
    if file.is_file():
        try:
            refuse_bomb(file, file.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise InputError(f"{file}: it is not text in UTF-8 (byte {error.start + 1}): correct the file") from None
    return _load_config(source, config_path)


def parse(overrides: Sequence[str], conf: str | None = None) -> list[Override]:
    """Return overrides as parsed by Hydra.

    Args:
        overrides: The overrides.
        conf: The folder of the primary configuration, in whose groups ``glob`` finds its values.

    Raises:
        OverrideParseException: An override cannot be read.
    """
    globs = conf is not None and any("glob(" in override for override in overrides)
    loader = ConfigLoaderImpl(create_config_search_path(f"file://{conf}")) if globs else None
    return OverridesParser.create(loader).parse_overrides(list(overrides))


def key_of(override: Override) -> str:
    """Return the key or group of an override."""
    return override.get_key_element().lstrip("+")


def typed(override: Override) -> str:
    """Return an override as it was typed."""
    return str(override.input_line)


def first_value(override: Override) -> str:
    """Return an override with the first of its values; of an interval, its start."""
    if not is_swept(override):
        return typed(override)
    if is_interval(override):
        return f"{override.get_key_element()}={cast(IntervalSweep, override.value()).start}"
    first = next(iter(override.sweep_string_iterator()), None)
    if first is None:
        raise InputError(f"{typed(override)}: no option matches: see `python -m recx list {key_of(override)}`")
    return f"{override.get_key_element()}={first}"


def values_of(override: Override) -> list[Any]:
    """Return the one value of an override, or those of its sweep."""
    if is_swept(override):
        return list(override.sweep_iterator(transformer=Transformer.encode))
    return [override.get_value_element_as_str()]


def combinations(overrides: Sequence[Override]) -> list[tuple[str, ...]]:
    """Return all combinations of the values of overrides that are no intervals, each as on a command line."""
    [found] = BasicSweeper.split_arguments(list(overrides), None)
    return [tuple(one) for one in found]


def optuna_sweeper(settings: dict[str, Any], extend: Callable[[Proposer | None], Proposer]) -> Sweeper:
    """Return the Optuna plugin's sweeper.

    Args:
        settings: Those of the sweeper.
        extend: Receives ``custom_search_space`` (None: not set) and returns what is called instead for every trial.
    """
    from hydra_plugins.hydra_optuna_sweeper.optuna_sweeper import OptunaSweeper

    sweeper = OptunaSweeper(**settings)
    sweeper.sweeper.custom_search_space_extender = extend(sweeper.sweeper.custom_search_space_extender)
    return sweeper


def suggest(trial: Trial, override: Override) -> None:
    """Let an Optuna trial propose a value from the range of an override."""
    from hydra_plugins.hydra_optuna_sweeper._impl import create_optuna_distribution_from_override
    from optuna.distributions import BaseDistribution, CategoricalDistribution

    values = create_optuna_distribution_from_override(override)
    distribution = values if isinstance(values, BaseDistribution) else CategoricalDistribution([values])
    trial._suggest(override.get_key_element(), distribution)
