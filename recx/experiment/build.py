"""From a configuration to an experiment: every part of it is built here, before any data is read (see ``parts``)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recx.config import factory
from recx.core.bounds import PositiveInt, Seed, coerce
from recx.core.errors import InputError, did_you_mean
from recx.core.protocols import CacheMode, FoldName, Seen, Tracker
from recx.experiment.experiment import Experiment
from recx.experiment.report_writers import ReportWriter

METHODS: Mapping[str, Mapping[str, int]] = {
    "dataset": {"load": 0},
    "split": {"split": 2},
    "retriever": {"fit": 1},
    "ranker": {"fit": 2, "rank": 3},
    "encoder": {"fit": 1},
    "evaluator": {"evaluate": 3},
    "tracker": {"run": 3},
    "report": {"write": 2},
    "pruner": {"prune": 2},
}
"""Stage -> the verbs of ``protocols.py``, one of which its part must have, and how many arguments they take."""

MAY_BE_NULL = ("report", "pruner")
"""Stages that a run can do without."""

TOP_LEVEL: Mapping[str, Any] = {
    "name": str,
    "seed": Seed,
    "fold": FoldName,
    "n_candidates": PositiveInt,
    "refit": bool,
    "seen": Seen,
    "objective": str,
    "allow_tuning_on_test": bool,
    "cache": CacheMode,
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
        InputError: a setting is unknown, missing, of the wrong type or out of bounds, or a part cannot play its role.
    """
    known = [*TOP_LEVEL, *METHODS, "feature", "runtime", "benchmark"]  # recx.jobs.benchmark.prepare builds the last
    for key in config:
        if key not in known:
            raise InputError(f"there is no key {key!r}: {did_you_mean(key, [*known, 'experiment'])}")
    for key in known:
        if key not in config:
            raise InputError(f"the configuration lacks the key {key!r}: give it a value")
    top = {key: coerce(config[key], hint, key) for key, hint in TOP_LEVEL.items()}
    if not re.fullmatch(r"[^/\\]{1,100}", top["name"]):
        raise InputError(f"name={top['name']}: it names folders too: write 1 to 100 characters, no slash among them")
    config = {**config, "ranker": _with_features(config["ranker"], config["feature"])}
    built = {stage: _stage(config[stage], stage) for stage in METHODS if stage not in MAY_BE_NULL or config[stage]}
    chain = [built[stage] for stage in ("dataset", "split", "retriever", "ranker", "evaluator")]
    experiment = Experiment(*chain, **{key: top[key] for key in ("fold", "n_candidates", "refit")})
    return Plan(experiment, built["tracker"], built.get("report"))


def _with_features(ranker: Any, config: Any) -> Any:
    """Return the ranker's configuration with the features in it built, each once and at the key that a user typed."""
    if not isinstance(config, Mapping):
        raise InputError(
            "feature names no set of features: choose one with feature=NAME (`python -m recx list feature`)"
        )
    features = {name: factory.build(feature, f"feature.{name}") for name, feature in config.items()}
    for name, feature in features.items():
        if not callable(feature):
            raise InputError(
                f"feature.{name}: it is no feature, which has a _target_ such as recx.parts.feature.popularity.Clicks; "
                f"~feature.{name} takes it out"
            )
    if not isinstance(ranker, Mapping):
        return ranker
    return {key: features if value == config else value for key, value in ranker.items()}  # ${feature}


def experiment(config: Mapping[str, Any]) -> Experiment:
    """Build the chain of a plain configuration; raises as ``plan`` does."""
    return plan(config).experiment


def _stage(config: Any, stage: str) -> Any:
    """Build the part of one stage, if its class has the stage's verb."""
    if not isinstance(config, Mapping) or "_target_" not in config:
        raise InputError(f"{stage} names no part: choose one with {stage}=NAME (`python -m recx list {stage}`)")
    kind = factory.locate(config["_target_"], stage)
    if not any(_takes(kind, verb, n) for verb, n in METHODS[stage].items()):
        verbs = " or ".join(METHODS[stage])
        raise InputError(
            f"{stage}._target_={config['_target_']}: it cannot be the {stage}, which must {verbs}: "
            f"see `python -m recx list {stage}`"
        )
    return factory.build(config, stage)


def _takes(kind: type, verb: str, n_arguments: int) -> bool:
    method = getattr(kind, verb, None)
    return callable(method) and len(inspect.signature(method).parameters) == n_arguments + 1
