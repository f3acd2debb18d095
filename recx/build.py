"""From a configuration to parts: every part of an experiment is built here, before any data is read.

A part is a class of recx or of an installed plugin. Nothing else is ever called, whatever a file or a command line
says. Each setting is held against the class's annotations, so that a wrong one is told by its key.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, get_type_hints

from recx import plugins
from recx.errors import InputError, RecxError, did_you_mean
from recx.experiment import Experiment
from recx.protocols import FoldName, ReportWriter, Seen, Tracker
from recx.settings import fit_to_type

VERBS: Mapping[str, Mapping[str, int]] = {
    "dataset": {"load": 0},
    "split": {"split": 2},
    "retriever": {"fit": 1},
    "ranker": {"fit": 2, "rank": 3},
    "evaluator": {"evaluate": 3},
    "tracker": {"run": 2},
    "report": {"write": 2},
}
"""Stage -> the verbs of ``protocols.py``, one of which its part must have, and how many arguments they take."""

TOP_LEVEL: Mapping[str, Any] = {
    "name": str,
    "seed": int,
    "fold": FoldName,
    "n_candidates": int,
    "refit": bool,
    "seen": Seen,
    "objective": str,
}


@dataclass(frozen=True)
class Plan:
    """All that one run needs, built and checked."""

    experiment: Experiment
    tracker: Tracker
    report: ReportWriter | None


def plan(config: Mapping[str, Any]) -> Plan:
    """Build every part of a plain configuration (see ``compose.plain``).

    Raises:
        InputError: a setting is unknown, missing or of the wrong type, or a part cannot play its role.
    """
    known = [*TOP_LEVEL, *VERBS, "feature", "runtime"]
    for key in config:
        if key not in known:
            raise InputError(f"there is no key {key!r}: {did_you_mean(key, [*known, 'experiment'])}")
    top = {key: fit_to_type(config[key], hint, key) for key, hint in TOP_LEVEL.items()}
    _check_seed(top["seed"], "seed")
    if not re.fullmatch(r"[^/\\]{1,100}", top["name"]):
        raise InputError(f"name={top['name']}: it names folders too: write 1 to 100 characters, no slash among them")
    _check_features(config["feature"])
    parts = {stage: _stage(config[stage], stage) for stage in VERBS if stage != "report" or config["report"]}
    experiment = Experiment(
        dataset=parts["dataset"],
        splitter=parts["split"],
        retriever=parts["retriever"],
        ranker=parts["ranker"],
        evaluator=parts["evaluator"],
        fold=top["fold"],
        n_candidates=top["n_candidates"],
        refit=top["refit"],
    )
    return Plan(experiment, parts["tracker"], parts.get("report"))


def _check_features(config: Any) -> None:
    """Build the features, which a ranker holds, here too: here a wrong one has the key that a user typed."""
    if not isinstance(config, Mapping):
        raise InputError(
            "feature names no set of features: choose one with feature=NAME (`python -m recx list feature`)"
        )
    for name, feature in config.items():
        if not callable(_build(feature, f"feature.{name}")):
            raise InputError(
                f"feature.{name}: it is no feature, which has a _target_ such as recx.feature.popularity.Clicks; "
                f"~feature.{name} takes it out"
            )


def _check_seed(seed: object, key: str) -> None:
    if type(seed) is int and not 0 <= seed < 2**32:  # what all libraries take
        raise InputError(f"{key}={seed}: it must be a whole number from 0 to {2**32 - 1}")


def experiment(config: Mapping[str, Any]) -> Experiment:
    """Build the chain of a plain configuration; raises as ``plan`` does."""
    return plan(config).experiment


def _stage(config: Any, stage: str) -> Any:
    """Build the part of one stage, if its class has the stage's verb."""
    if not isinstance(config, Mapping) or "_target_" not in config:
        raise InputError(f"{stage} names no part: choose one with {stage}=NAME (`python -m recx list {stage}`)")
    kind = _locate(config["_target_"], stage)
    if not any(_takes(kind, verb, n) for verb, n in VERBS[stage].items()):
        verbs = " or ".join(VERBS[stage])
        raise InputError(
            f"{stage}._target_={config['_target_']}: it cannot be the {stage}, which must {verbs}: "
            f"see `python -m recx list {stage}`"
        )
    return _build(config, stage)


def _takes(kind: type, verb: str, n_arguments: int) -> bool:
    method = getattr(kind, verb, None)
    return callable(method) and len(inspect.signature(method).parameters) == n_arguments + 1


def _build(config: Any, key: str) -> Any:
    """Build what stands at a key: a part, or lists and mappings with parts in them, or a plain value."""
    if isinstance(config, list):
        return [_build(value, f"{key}.{number}") for number, value in enumerate(config)]
    if not isinstance(config, Mapping):
        return config
    if "_target_" not in config:
        return {name: _build(value, f"{key}.{name}") for name, value in config.items()}
    kind = _locate(config["_target_"], key)
    settings = {name: _build(value, f"{key}.{name}") for name, value in config.items() if name != "_target_"}
    return _call(kind, _checked(kind, settings, key), key)


def _call(kind: type, settings: Mapping[str, Any], key: str) -> Any:
    try:
        return kind(**settings)
    except RecxError as error:
        raise error if key in str(error) else type(error)(f"{key}: {error}") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{key}: {kind.__name__} refuses its settings: {error}") from error


def _locate(target: object, key: str) -> type:
    """Return the class of a ``_target_``, if it is one of ours or of an installed plugin."""
    allowed = [source.package for source in plugins.sources()]
    where = f"{key}._target_={target}"
    module, _, name = str(target).rpartition(".")
    if module.partition(".")[0] not in allowed:
        raise InputError(
            f"{where}: parts come from {', '.join(allowed)} only: choose an option with `python -m recx list`, "
            "or install the plugin that has this part"
        )
    try:
        found = vars(import_module(module)).get(name)
    except ImportError as error:
        raise InputError(f"{where}: it cannot be imported ({error}): correct the name or install what lacks") from error
    if not isinstance(found, type) or found.__module__.partition(".")[0] not in allowed:
        raise InputError(f"{where}: {module} has no part of that name: see `python -m recx list`")
    return found


def _checked(kind: type, settings: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the settings in the types that the class asks for."""
    parameters = inspect.signature(kind).parameters
    for name in settings:
        if name not in parameters:
            raise InputError(f"{key}.{name}: {kind.__name__} has no such setting: {did_you_mean(name, parameters)}")
    for name, parameter in parameters.items():
        if name not in settings and parameter.default is parameter.empty:
            raise InputError(f"{key}.{name} is missing: {kind.__name__} needs it: give ++{key}.{name}=VALUE")
    _check_seed(settings.get("seed"), f"{key}.seed")
    hints = _hints(kind)
    return {name: fit_to_type(value, hints.get(name, Any), f"{key}.{name}") for name, value in settings.items()}


def _hints(kind: type) -> dict[str, Any]:
    """Return the annotations of a class's settings; none where they name what is imported for type checkers only."""
    try:
        return get_type_hints(kind)
    except NameError:
        return {}
