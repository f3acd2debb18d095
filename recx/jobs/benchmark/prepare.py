"""From a configuration to the jobs of a benchmark: everything is built and checked before any data is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recx.config import factory
from recx.core.errors import InputError, did_you_mean
from recx.core.protocols import Tracker
from recx.experiment import build
from recx.jobs.benchmark.rerank import Rerank


@dataclass(frozen=True)
class Chosen:
    """The configuration of a ranker or retriever, which only its own process builds for good."""

    option: Any


@dataclass(frozen=True)
class Plan:
    """settings: of the benchmark. config: the whole configuration. tracker: keeps the outcome."""

    settings: Rerank
    config: Mapping[str, Any]
    tracker: Tracker

    def jobs(self, folder: Path, cache: Path, machine: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return what each worker is told; side by side, they share the threads of the machine."""
        one = self.settings
        workers = 1 if one.parallel is None else one.parallel["workers"]
        runtime = {**self.config["runtime"], "threads": max(1, machine["threads"] // workers)}
        how = {"warmup": one.warmup, "batch_size": one.batch_size, "clocked": one.clocked}
        jobs = []
        for name, retriever, ranker in one.pairs():
            chain = {"ranker": one.rankers[ranker].option}
            if retriever is not None:
                chain["retriever"] = one.retrievers[retriever].option
            jobs.append(
                {
                    "name": name,
                    "ranker": ranker,
                    "retriever": retriever,
                    "retrieves": one.retrieves,
                    "config": {**self.config, **chain, "runtime": runtime, "benchmark": None, "report": None},
                    "sample": one.sample,
                    "how": how,
                    "load": machine["load_before"] or 0.0,
                    "cache": str(cache),
                    "folder": str(folder / name.replace(" ", "")),
                }
            )
        return jobs


def read(config: Mapping[str, Any]) -> Plan:
    """Build and check the benchmark of a plain configuration, and every part of the chain.

    That a ranker's package is not installed is no mistake here: it is told in that ranker's row.

    Raises:
        InputError: a setting is unknown, missing or of the wrong type, or a part cannot play its role.
    """
    plan = build.plan(config)
    if config["fold"] == "predict":
        raise InputError("fold=predict: a benchmark judges lists by their answers: choose fold=test or fold=valid")
    given = config["benchmark"]
    if not isinstance(given, Mapping):
        raise InputError("benchmark names no option: choose one with benchmark=NAME (`python -m recx list benchmark`)")
    chosen = {kind: _chosen(given.get(kind), kind) for kind in ("rankers", "retrievers")}
    settings = factory.build({**given, **chosen}, "benchmark")
    if not isinstance(settings, Rerank):
        raise InputError(f"benchmark._target_={given.get('_target_')}: it is no benchmark: choose benchmark=rerank")
    for kind, verbs in {"rankers": ("fit", "rank"), "retrievers": ("fit",)}.items():
        for name, one in getattr(settings, kind).items():
            _check(one.option, f"benchmark.{kind}.{name}", verbs)
    _check_metrics(settings, config["evaluator"])
    return Plan(settings, config, plan.tracker)


def _chosen(named: Any, kind: str) -> dict[str, Chosen]:
    if not isinstance(named, Mapping):
        raise InputError(
            f"benchmark.{kind}: it must be a mapping of names: name one with +{kind[:-1]}@benchmark.{kind}.NAME=OPTION"
        )
    return {str(name): Chosen(option) for name, option in named.items()}


def _check(option: Any, key: str, verbs: tuple[str, ...]) -> None:
    if not isinstance(option, Mapping) or "_target_" not in option:
        group = key.split(".")[1][:-1]
        raise InputError(f"{key} names no part: write +{group}@{key}=OPTION, or take it out with ~{key}")
    try:
        part = factory.build(option, key)
    except InputError as error:
        if isinstance(error.__cause__, ImportError):
            return
        raise
    if not any(callable(getattr(part, verb, None)) for verb in verbs):
        raise InputError(f"{key}._target_={option['_target_']}: it cannot {' or '.join(verbs)}: choose another option")


def _check_metrics(settings: Rerank, evaluator: Mapping[str, Any]) -> None:
    known = evaluator.get("end_to_end") or list(settings.metrics)
    for name in settings.metrics:
        if name not in known:
            raise InputError(f"benchmark.metrics: evaluator.end_to_end has no {name!r}: {did_you_mean(name, known)}")
