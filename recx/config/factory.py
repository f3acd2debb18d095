"""Builds any part from its configuration: a mapping with a ``_target_`` and settings.

A part is a class of recx, of an installed plugin or of the person's own project (see ``recx.core.project``); nothing
else is ever called, whatever the configuration says. Each setting is checked against the class's annotations, so that
errors name its key.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from recx.config import option_sources
from recx.core import project
from recx.core.bounds import coerce, hints_of
from recx.core.errors import InputError, RecxError, did_you_mean

MOVED = {
    "recx.feature.slate": "recx.parts.feature.columns",
    **{
        f"recx.{kind}": f"recx.parts.{kind}"
        for kind in ("dataset", "encoder", "feature", "ranker", "retriever", "split")
    },
    "recx.evaluator.lines": "recx.evaluation.evaluator",
    "recx.evaluator.metric": "recx.evaluation.metrics.registry",
    "recx.pruner.median": "recx.jobs.sweep.median_pruner",
    "recx.benchmark": "recx.jobs.benchmark",
    "recx.tracker": "recx.tracking",
    **{f"recx.report.{name}": f"recx.report.writers.{name}" for name in ("detailed_results", "submission")},
}
"""Path of a module before the modules moved into folders -> path now: saved runs and option files name the former."""
RENAMED = {
    "recx.feature.coclick.PhiCoop": "recx.parts.feature.coclick.CoClicks",
    "recx.feature.content.PhiRel": "recx.parts.feature.content.ContentSimilarity",
    "recx.feature.content.PhiStruct": "recx.parts.feature.content.StretchedSimilarity",
    "recx.feature.graph.PhiCoop": "recx.parts.feature.graph.SizeFit",
    "recx.feature.graph.PhiHist": "recx.parts.feature.graph.ToolUsage",
    "recx.feature.graph.PhiRel": "recx.parts.feature.graph.TextSimilarity",
    "recx.feature.graph.PhiStruct": "recx.parts.feature.graph.StructureFit",
}

VERBS = ("load", "apply", "split", "fit", "retrieve", "rank", "each", "evaluate", "run", "write", "prune", "__call__")
"""The methods of which a part has at least one; ``recx.experiment.build`` checks those of its kind."""


def build(config: Any, key: str) -> Any:
    """Build the value of a key: a part, or lists and mappings with parts in them, or a plain value.

    Args:
        config: The configuration of the key.
        key: The key, for errors.

    Raises:
        InputError: A setting is unknown, missing or of the wrong type, or a class is not one of recx or a plugin.
    """
    if isinstance(config, list):
        return [build(value, f"{key}.{number}") for number, value in enumerate(config)]
    if not isinstance(config, Mapping):
        return config
    if "_target_" not in config:
        return {name: build(value, f"{key}.{name}") for name, value in config.items()}
    kind = locate(config["_target_"], key)
    settings = {name: build(value, f"{key}.{name}") for name, value in config.items() if name != "_target_"}
    settings = _checked(kind, settings, key)
    try:
        return kind(**settings)
    except RecxError as error:
        raise error if key in str(error) else type(error)(f"{key}: {error}") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{key}: {kind.__name__} rejects its settings: {error}") from error


def locate(target: object, key: str) -> type:
    """Return the class of a ``_target_``, if it is one of ours, of an installed plugin or of the person's project.

    Raises:
        InputError: It is not, or it does not exist.
    """
    where = f"{key}._target_={target}"
    module, _, name = str(target).rpartition(".")
    now = moved(str(target))
    if now is not None:
        raise InputError(f"{where}: this class is {now} now: write that path, or run the experiment again")
    place = None if is_trusted(module) else _place_in_project(str(target), where)
    try:
        found = vars(import_module(module)).get(name)
    except ImportError as error:
        raise InputError(f"{where}: it cannot be imported ({error}): correct the name or install what lacks") from error
    except (Exception, SystemExit) as error:  # a script without a guard around its main ends the process
        if place is None:
            raise
        raise InputError(f"{where}: importing {module} fails ({type(error).__name__}: {error}): correct it") from error
    if place is not None:
        _check_own(found, place, where)
    elif not isinstance(found, type) or not is_trusted(found.__module__):
        raise InputError(f"{where}: {module} has no part of that name: see `python -m recx list`")
    assert isinstance(found, type)
    return found


def _place_in_project(target: str, where: str) -> Path:
    """Return where the top-level module of a class of the person's own lies."""
    own = project.current()
    if not own.folders:
        packages = ", ".join(source.package for source in option_sources.packages())
        raise InputError(
            f"{where}: parts come from {packages} only: choose an option with `python -m recx list`, install the "
            "plugin that has this part, or give --config-dir=DIR if it lies beside the folder DIR of your option files "
            "(python -m recx help own-project)"
        )
    try:
        return own.check(target)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _check_own(found: object, place: Path, where: str) -> None:
    """Raise InputError if an object from a project is not a part that is defined there."""
    reason = ""
    if not isinstance(found, type):
        reason = "there is no class of that name"
    elif not _is_defined_at(found, place):
        reason = f"the class is defined elsewhere, in {found.__module__}, and only imported there"
    elif not is_dataclass(found) or not getattr(found, "__dataclass_params__").frozen:  # noqa: B009
        reason = "the class is no part, which is a frozen dataclass of its settings"
    elif not any(verb in vars(base) for base in found.__mro__ for verb in VERBS):
        reason = f"the class is no part, which has one of the methods {', '.join(VERBS)}"
    if reason:
        raise InputError(f"{where}: {reason}: correct the class or its name")


def _is_defined_at(kind: type, place: Path) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is not None and (Path(file).resolve() == place or Path(file).resolve().is_relative_to(place))


def moved(target: str) -> str | None:
    """Return where a class is that an older version of recx had at another path; None for any other path."""
    if target in RENAMED:
        return RENAMED[target]
    before = next((path for path in MOVED if target.startswith(f"{path}.")), None)
    return None if before is None else f"{MOVED[before]}{target.removeprefix(before)}"


def is_trusted(module: str) -> bool:
    """Return whether parts may come from a module; for those of recx without searching the installed packages."""
    package = module.partition(".")[0]
    return package == "recx" or package in [source.package for source in option_sources.packages()]


def _checked(kind: type, settings: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the settings in the types declared by the class, checked against its bounds."""
    parameters = inspect.signature(kind).parameters
    for name in settings:
        if name not in parameters:
            raise InputError(f"{key}.{name}: {kind.__name__} has no such setting: {did_you_mean(name, parameters)}")
    for name, parameter in parameters.items():
        if name not in settings and parameter.default is parameter.empty:
            raise InputError(f"{key}.{name} is missing: {kind.__name__} needs it: give ++{key}.{name}=VALUE")
    hints: dict[str, Any] = {}
    try:
        hints = hints_of(kind)
    except NameError:
        pass  # an annotation names what is imported for type checkers only
    except (AttributeError, SyntaxError, TypeError) as error:
        raise InputError(f"{key}: {kind.__name__} has an annotation that is no type ({error}): correct it") from error
    return {name: coerce(value, hints.get(name, Any), f"{key}.{name}") for name, value in settings.items()}
