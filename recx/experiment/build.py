"""From a configuration to an experiment: all its parts are built here, before any data is read."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recx.config import factory
from recx.core.bounds import PositiveInt, Seed, coerce
from recx.core.chosen import CHOSEN
from recx.core.errors import InputError, did_you_mean
from recx.core.filters import Filter
from recx.core.protocols import FoldName, Seen
from recx.core.trackers import Tracker
from recx.experiment.experiment import Experiment
from recx.experiment.list_files import most_kept
from recx.experiment.report_writers import ReportWriter
from recx.parts.reranker.reranked import reranked
from recx.storage.cache.settings import StageCache

METHODS: Mapping[str, Mapping[str, int]] = {
    "dataset": {"load": 0},
    "split": {"split": 2},
    "retriever": {"fit": 1},
    "ranker": {"fit": 2, "rank": 3},
    "reranker": {"rank": 3},
    "encoder": {"fit": 1},
    "engine": {"each": 2},
    "evaluator": {"evaluate": 3},
    "tracker": {"run": 3},
    "report": {"write": 2},
    "pruner": {"prune": 2},
    "cache": {"open": 3},
}
"""Stage -> the methods of ``protocols.py``, one of which its part must have, and their numbers of arguments."""

MAY_BE_NULL = ("report", "pruner", "reranker")
"""Stages that are optional."""

NEWER = ("filter", "reranker")
"""Optional keys that earlier runs do not have."""

TOP_LEVEL: Mapping[str, Any] = {
    "name": str,
    "seed": Seed,
    "fold": FoldName,
    "n_candidates": PositiveInt,
    "refit": bool,
    "seen": Seen,
    "objective": str,
    "allow_tuning_on_test": bool,
    "lists": Any,
    "model": Any,
}

KEEPS = ("parts", "full", "off")
"""What a run may keep of its chain: what was fitted, that and the histories, or nothing."""


@dataclass(frozen=True)
class Plan:
    """Everything that one run needs, built and checked.

    Attributes:
        experiment: The chain.
        tracker: Records the run.
        report: Writes further files of the run; None: nothing more is written.
        cache: How the run uses the stage cache.
    """

    experiment: Experiment
    tracker: Tracker
    report: ReportWriter | None
    cache: StageCache


def plan(config: Mapping[str, Any]) -> Plan:
    """Build every part of a configuration.

    Args:
        config: The composed configuration as plain values (see ``compose.plain``).

    Raises:
        InputError: A setting is unknown, missing, of the wrong type or out of bounds, or a part does not fit its stage.
    """
    # recx.jobs.benchmark.prepare builds the last of them.
    known = [*TOP_LEVEL, *METHODS, "feature", "filter", "runtime", "benchmark"]
    for key in config:
        if key not in (*known, CHOSEN):
            raise InputError(f"there is no key {key!r}: {did_you_mean(key, [*known, 'experiment'])}")
    for key in known:
        if key not in config and key not in NEWER:
            raise InputError(f"the configuration lacks the key {key!r}: give it a value")
    top = {key: coerce(config[key], hint, key) for key, hint in TOP_LEVEL.items()}
    if not re.fullmatch(r"[^/\\]{1,100}", top["name"]):
        raise InputError(
            f"name={top['name']}: it is also a folder name: use 1 to 100 characters without slashes, "
            "which the name of the MLflow experiment may have (tracker.experiment)"
        )
    most_kept(top["lists"])
    keep_of(config)
    config = {**config, "ranker": _with_features(config["ranker"], config["feature"])}
    built = {stage: _stage(config[stage], stage) for stage in METHODS if stage not in MAY_BE_NULL or config.get(stage)}
    built["ranker"] = reranked(built["ranker"], built.get("reranker"))
    chain = [built[stage] for stage in ("dataset", "split", "retriever", "ranker", "evaluator")]
    settings: dict[str, Any] = {key: top[key] for key in ("fold", "n_candidates", "refit")}
    settings |= {"engine": built["engine"], "filters": filters(config.get("filter"))}
    experiment = Experiment(*chain, **settings)
    return Plan(experiment, built["tracker"], built.get("report"), built["cache"])


def keep_of(config: Mapping[str, Any]) -> str:
    """Return what is kept by the setting ``model``, one of ``KEEPS``.

    Raises:
        InputError: It is something else.
    """
    keep = config.get("model", "parts")
    keep = "off" if keep is False else keep  # YAML reads a bare off as false
    if keep not in KEEPS:
        raise InputError(f"model={keep}: it must be {', '.join(KEEPS[:-1])} or {KEEPS[-1]}")
    return str(keep)


def _with_features(ranker: Any, config: Any) -> Any:
    """Build the features, each once and under the key that users type, and insert them in the ranker's settings."""
    if not isinstance(config, Mapping):
        raise InputError(
            "feature is not a set of features: choose one with feature=NAME (`python -m recx list feature`)"
        )
    features = {name: factory.build(feature, f"feature.{name}") for name, feature in config.items()}
    for name, feature in features.items():
        if not takes(type(feature), "fit", 1):
            raise InputError(
                f"feature.{name}: it is not a feature, which has a method fit of 1 argument and a _target_ such as "
                f"recx.parts.feature.popularity.Clicks: correct it, or remove it with ~feature.{name}"
            )
    if not isinstance(ranker, Mapping):
        return ranker
    return {key: features if value == config else value for key, value in ranker.items()}  # ${feature}


def filters(config: Any) -> dict[str, Filter]:
    """Return the filters by name, in the order of the configuration.

    Raises:
        InputError: It is not a set of filters, or a part in it is none.
    """
    if not config:
        return {}
    if not isinstance(config, Mapping) or "_target_" in config:
        raise InputError(
            "filter is not a set of filters: choose some with filter=[NAME,NAME] (`python -m recx list filter`), or "
            "write NAME: and its _target_ below filter: in a file"
        )
    found = {name: factory.build(part, f"filter.{name}") for name, part in config.items()}
    for name, part in found.items():
        if not takes(type(part), "apply", 1):
            raise InputError(
                f"filter.{name}: it is not a filter, which has a method apply of 1 argument and a _target_ such as "
                f"recx.parts.filter.k_core.KCore: correct it, or remove it with ~filter.{name}"
            )
    return found


def experiment(config: Mapping[str, Any]) -> Experiment:
    """Build the chain of a plain configuration; raises as ``plan`` does."""
    return plan(config).experiment


def _stage(config: Any, stage: str) -> Any:
    """Build the part of one stage if its class has a method of the stage."""
    if isinstance(config, Mapping) and config and "_target_" not in config:
        raise InputError(f"{stage} has no _target_: write _target_: PACKAGE.MODULE.CLASS into its option file")
    if not isinstance(config, Mapping) or not config:
        raise InputError(
            f"{stage} is not a part: choose one with {stage}=NAME (`python -m recx list {stage}`), or in the defaults "
            f'list of a file with - override /{stage}: "NAME"'
        )
    kind = factory.locate(config["_target_"], stage)
    if not any(takes(kind, method, n) for method, n in METHODS[stage].items()):
        needed = " or ".join(f"{method} of {n} argument{'s' * (n != 1)}" for method, n in METHODS[stage].items())
        raise InputError(
            f"{stage}._target_={config['_target_']}: it cannot be the {stage}, which needs a method {needed}: "
            f"see `python -m recx list {stage}`"
        )
    return factory.build(config, stage)


def takes(kind: type, name: str, n_arguments: int) -> bool:
    """Return whether a class has a method that can be called with so many arguments."""
    method = getattr(kind, name, None)
    if not callable(method):
        return False
    try:
        inspect.signature(method).bind(*range(n_arguments + 1))  # self too
    except TypeError:
        return False
    return True
