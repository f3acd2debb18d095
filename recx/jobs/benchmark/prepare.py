"""From a configuration to the jobs of a benchmark: everything is built and checked before any data is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recx.config import factory
from recx.core import project
from recx.core.chosen import CHOSEN
from recx.core.errors import InputError, did_you_mean
from recx.core.trackers import Tracker
from recx.experiment import build
from recx.jobs.benchmark.rerank import Rerank


@dataclass(frozen=True)
class Chosen:
    """A ranker or retriever that is built only in its own process.

    Attributes:
        option: Its configuration.
    """

    option: Any


@dataclass(frozen=True)
class Plan:
    """A benchmark that is ready to run.

    Attributes:
        settings: Of the benchmark.
        config: The whole configuration.
        tracker: Tracks the outcome.
    """

    settings: Rerank
    config: Mapping[str, Any]
    tracker: Tracker

    def jobs(self, folder: Path, cache: Path, machine: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the jobs of the workers; in parallel, they share the threads of the machine.

        Args:
            folder: The folder of the benchmark.
            cache: The folder of the stage cache.
            machine: Its ``threads`` and ``load_before``.
        """
        settings = self.settings
        workers = 1 if settings.parallel is None else settings.parallel["workers"]
        runtime = {**self.config["runtime"], "threads": max(1, machine["threads"] // workers)}
        shared = {
            "retrieves": settings.retrieves,
            "sample": settings.sample,
            "how": {
                "warmup": settings.warmup,
                "budgets": list(settings.budgets or ()),
                "batch_sizes": list(settings.batch_sizes or ()),
                "clocked": settings.clocked,
                "timeout_s": settings.timeout_s,
            },
            "metrics": list(settings.metrics),
            "load": machine["load_before"] or 0.0,
            "cache": str(cache),
            "project": project.described(),
        }
        jobs = []
        for name, retriever, ranker in settings.pairs():
            config = {**self.config, "ranker": settings.rankers[ranker].option, "runtime": runtime}
            config |= {"benchmark": None, "report": None}
            if retriever is not None:
                config["retriever"] = settings.retrievers[retriever].option
            named = {"ranker": ranker, **({} if retriever is None else {"retriever": retriever})}
            chosen = self.config.get(CHOSEN, {})
            config[CHOSEN] = {**chosen, "options": {**chosen.get("options", {}), **named}}
            place = str(folder / name.replace(" ", ""))
            jobs.append({"name": name, "ranker": ranker, "config": config, "folder": place, **shared})
        return jobs


def read(config: Mapping[str, Any]) -> Plan:
    """Build and check the benchmark of a plain configuration, and every part of the chain.

    A ranker whose package is not installed is not an error here: its row says so.

    Args:
        config: See ``recx.config.compose.plain``.

    Raises:
        InputError: A setting is unknown, missing or of the wrong type, or a part has not the methods of its role.
    """
    plan = build.plan(config)
    if config["fold"] == "predict":
        raise InputError("fold=predict: a benchmark evaluates lists by their targets: choose fold=test or fold=valid")
    given = config["benchmark"]
    if not isinstance(given, Mapping):
        raise InputError("benchmark names no option: choose one with benchmark=NAME (`python -m recx list benchmark`)")
    chosen = {kind: _chosen(given.get(kind), kind) for kind in ("rankers", "retrievers")}
    settings = factory.build({**given, **chosen}, "benchmark")
    if not isinstance(settings, Rerank):
        raise InputError(f"benchmark._target_={given.get('_target_')}: it is not a benchmark: choose benchmark=rerank")
    for kind in ("ranker", "retriever"):
        for name, one in getattr(settings, f"{kind}s").items():
            _check(one.option, f"benchmark.{kind}s.{name}", build.METHODS[kind])
    known = config["evaluator"].get("end_to_end") or settings.metrics
    for name in settings.metrics:
        if name not in known:
            raise InputError(f"benchmark.metrics: evaluator.end_to_end has no {name!r}: {did_you_mean(name, known)}")
    return Plan(settings, config, plan.tracker)


def _chosen(named: Any, kind: str) -> dict[str, Chosen]:
    if not isinstance(named, Mapping):
        raise InputError(
            f"benchmark.{kind}: it must be a mapping of names: add one with +{kind[:-1]}@benchmark.{kind}.NAME=OPTION"
        )
    return {str(name): Chosen(option) for name, option in named.items()}


def _check(option: Any, key: str, methods: Mapping[str, int]) -> None:
    if not isinstance(option, Mapping) or "_target_" not in option:
        group = key.split(".")[1][:-1]
        raise InputError(f"{key} names no part: write +{group}@{key}=OPTION, or take it out with ~{key}")
    try:
        part = factory.build(option, key)
    except InputError as error:
        if isinstance(error.__cause__, ImportError):
            return
        raise
    if not any(build.takes(type(part), method, n) for method, n in methods.items()):
        raise InputError(
            f"{key}._target_={option['_target_']}: it cannot {' or '.join(methods)}: choose another option"
        )
