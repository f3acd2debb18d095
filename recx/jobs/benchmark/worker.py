"""Measures one ranker: ``python -m recx.jobs.benchmark.worker``, started by ``recx.jobs.benchmark.processes``.

The first line of its input says what to measure; it ends when that input is closed, so it never outlives its starter.
Nothing that brings numpy is imported before the number of threads is set.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.errors import RecxError, reason
from recx.core.system.threads import limited_to

if TYPE_CHECKING:
    from recx.core.types import Interactions, Split
    from recx.experiment.experiment import Experiment, Result
    from recx.storage.cache.store import Cache

OUTCOME, LOG = "outcome.json", "worker.log"
PLACEHOLDER = {"_target_": "recx.parts.ranker.identity.Identity"}


def main() -> int:
    """Measure what the input says and write its folder; the exit code is 1 where that failed."""
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_starter, daemon=True).start()
    outcome: Mapping[str, Any]
    try:
        with limited_to(job["config"]["runtime"]["threads"]) as threads:
            outcome = _measure(job, threads)
    except RecxError as error:
        outcome = {"reason": reason(error)}
    except Exception as error:
        traceback.print_exc()
        outcome = {"reason": f"{reason(error)} (see {Path(job['folder']).name}/{LOG})"}
    from recx.core.system.atomic import write_text

    write_text(Path(job["folder"]) / OUTCOME, _json(outcome))
    return 1 if "reason" in outcome else 0


def _end_with_starter() -> None:
    sys.stdin.read()
    os._exit(1)


def _measure(job: Mapping[str, Any], threads: int) -> dict[str, Any]:
    from recx.experiment import build
    from recx.experiment.caching import cached
    from recx.jobs.benchmark.sample import sampled
    from recx.storage.cache.store import Cache

    config = job["config"]
    experiment = build.experiment({**config, "ranker": PLACEHOLDER})
    cache = None
    if config["cache"] != "off":
        cache = Cache(Path(job["cache"]), config["cache"] == "on", threads)
    chain = experiment if cache is None else cached(experiment, cache)
    with nullcontext() if cache is None else cache.used():
        interactions, split = chain.load_and_split()
        return _run(job, experiment, chain, (interactions, sampled(split, job["sample"])), cache)


def _run(
    job: Mapping[str, Any],
    experiment: Experiment,
    chain: Experiment,
    data: tuple[Interactions, Split],
    cache: Cache | None,
) -> dict[str, Any]:
    """Build the ranker, now that the data lies in memory, run the chain with it, and write its files."""
    from recx.config import factory
    from recx.core.protocols import Preflight, Ranker
    from recx.jobs.benchmark.measured import TimedFit, TimedRanker, TimedRetriever, Timing
    from recx.jobs.benchmark.peak_memory import Memory
    from recx.jobs.benchmark.sample import Loaded

    before = Memory.now()
    ranker = factory.build(job["config"]["ranker"], f"benchmark.rankers.{job['ranker']}")
    if isinstance(ranker, Preflight):
        ranker.preflight()
    how = Timing(**job["how"], cache=cache, built=before.more(), load=job["load"])
    standing = TimedFit(how, ranker) if isinstance(ranker, Ranker) else TimedRanker(how, ranker, lambda _: ranker)
    loaded, retrieving = Loaded(*data), TimedRetriever(how, experiment.retriever, data[1].fold.requests)
    chain = replace(chain, dataset=loaded, splitter=loaded, ranker=standing)
    if job["retrieves"]:
        chain = replace(chain, retriever=retrieving)
    result = chain.run()
    result = replace(result, experiment=replace(experiment, ranker=ranker))
    return _written(result, retrieving.measured, job)


def _written(result: Result, retrieved: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, Any]:
    """Write a run's figures, the lists and the nanoseconds of every call; return what the table shows of them."""
    from recx.core.system.atomic import write_text
    from recx.experiment import protocol_card, saved_runs
    from recx.experiment.files import write_lists, write_table
    from recx.jobs.benchmark.figures import figures_of, grades_of, seconds_of, spent_of

    folder, measured = Path(job["folder"]), result.ranker.measured  # type: ignore[attr-defined]
    users, items = result.interactions.users, result.interactions.items
    write_lists(folder / "recommendations.parquet", result.recommendations, users, items)
    spent = spent_of(measured, retrieved)
    if spent is not None:
        ids = users.ids[result.recommendations.user]
        write_table(
            folder / "latency.csv",
            {"query": ids, "documents": result.recommendations.lengths, "nanoseconds": spent},
        )
    result = replace(result, seconds=seconds_of(result.seconds, measured, retrieved))
    figures = figures_of(result.recommendations, measured, retrieved)
    saved_runs.save_figures(result, folder, job["config"], protocol_card.card(result, job["config"]))
    write_text(folder / "metrics.json", _json({**result.metrics, **figures}))
    parts = [measured, *([retrieved] if retrieved else [])]
    return {
        "figures": figures,
        "queries": len(result.split.fold.requests),
        "queries_in_all": result.split.notes["queries_in_all"],
        "documents": len(result.recommendations),
        "grades": grades_of(result.candidates, result.split.fold),
        "differ": measured.get("differ", 0),
        "measured_at": min(part["measured_at"] for part in parts),
        "cached": any(part["cached"] for part in parts),
        "load": max(part["load"] for part in parts),
    }


def _json(values: Mapping[str, Any]) -> str:
    from recx.core.system.serialize import plain

    return json.dumps(plain(values), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
