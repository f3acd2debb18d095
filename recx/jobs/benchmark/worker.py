"""Measures one ranker: ``python -m recx.jobs.benchmark.worker``, started by ``recx.jobs.benchmark.processes``.

The first line of its input is the job; it exits when that input is closed, so it never outlives the process that
started it. Nothing that imports numpy is imported before the number of threads is set.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.errors import RecxError, reason
from recx.core.project import Project, entered
from recx.core.secrets import hidden_in
from recx.core.system.screen import echo
from recx.core.system.threads import limited_to

if TYPE_CHECKING:
    from recx.core.types import Interactions, Split
    from recx.experiment.experiment import Experiment, Result
    from recx.storage.cache.store import Cache

OUTCOME, LOG = "outcome.json", "worker.log"
STARTED, ENOUGH = time.monotonic(), 0.8
"""When this process began to work, and the share of its time after which no pass is begun that could be left out."""
PLACEHOLDER = {"_target_": "recx.parts.ranker.identity.Identity"}


def main() -> int:
    """Run the job of the input and write the files of its folder.

    Returns:
        The exit code: 1 if that failed.
    """
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_exit_with_starter, daemon=True).start()
    outcome: Mapping[str, Any]
    try:
        threads, own = job["config"]["runtime"]["threads"], job["project"]
        with nullcontext() if own is None else entered(Project.from_json(own)), limited_to(threads) as threads:
            outcome = _measure(job, threads)
    except RecxError as error:
        outcome = {"reason": reason(error)}
    except Exception as error:
        echo(traceback.format_exc(), to=sys.stderr)
        outcome = {"reason": f"{reason(error)} (see {Path(job['folder']).name}/{LOG})"}
    from recx.core.system.atomic import write_text
    from recx.core.system.serialize import as_json

    write_text(Path(job["folder"]) / OUTCOME, as_json(outcome))
    return 1 if "reason" in outcome else 0


def _exit_with_starter() -> None:
    sys.stdin.read()
    os._exit(1)


def _measure(job: Mapping[str, Any], threads: int) -> dict[str, Any]:
    from recx.experiment import build
    from recx.experiment.caching import cached
    from recx.experiment.engine.local import Local
    from recx.jobs.benchmark.sample import sampled

    plan = build.plan({**job["config"], "ranker": PLACEHOLDER})
    # The calls are timed here, and those of all requests together: of blocks, only the last would be measured.
    experiment = replace(plan.experiment, engine=Local(), at_once=sys.maxsize)
    cache = plan.cache.open(Path(job["cache"]), threads)
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
    """Build the ranker, now that the data is in memory, run the chain with it, and write its files."""
    from recx.config import factory
    from recx.core.protocols import Preflight, is_trained
    from recx.jobs.benchmark.calls import Timing
    from recx.jobs.benchmark.measured import TimedFit, TimedRanker, TimedRetriever
    from recx.jobs.benchmark.peak_memory import Memory
    from recx.jobs.benchmark.sample import Loaded

    before = Memory.now()
    ranker = factory.build(job["config"]["ranker"], f"benchmark.rankers.{job['ranker']}")
    if isinstance(ranker, Preflight):
        ranker.preflight()
    until = STARTED + ENOUGH * job["how"]["timeout_s"]
    timing = Timing(**job["how"], cache=cache, until=until, built=before.more(), load=job["load"])
    timed = TimedFit(timing, ranker) if is_trained(ranker) else TimedRanker(timing, ranker, lambda _: ranker)
    loaded, retriever = Loaded(*data), TimedRetriever(timing, experiment.retriever, data[1].fold.requests)
    chain = replace(chain, dataset=loaded, splitter=loaded, ranker=timed)
    if job["retrieves"]:
        chain = replace(chain, retriever=retriever)
    result = replace(chain.run(), experiment=replace(experiment, ranker=ranker))
    return _written(result, retriever.measured, job)


def _written(result: Result, retriever: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, Any]:
    """Write a run's figures, its lists and the nanoseconds of every call; return what the table shows of them."""
    from recx.core.fold_names import outside
    from recx.core.system.atomic import write_text
    from recx.core.system.serialize import as_json
    from recx.experiment import protocol_card, saved_runs
    from recx.experiment.files import write_table
    from recx.jobs.benchmark.figures import batches_of, figures_of, grades_of, latencies_of, seconds_of

    folder, ranker = Path(job["folder"]), result.ranker.measured  # type: ignore[attr-defined]
    lists, users = result.recommendations, result.interactions.users
    saved_runs.save_lists(result, folder, job["config"])
    latencies = latencies_of(ranker, retriever)
    if latencies is not None:
        columns = {"query": users.ids[lists.user], "documents": lists.lengths, "nanoseconds": latencies}
        write_table(folder / "latency.csv", columns)
    result = replace(result, seconds=seconds_of(result.seconds, ranker, retriever))
    figures = figures_of(lists, ranker, retriever)
    config = hidden_in(job["config"])
    card = protocol_card.card(result, config)
    saved_runs.save_figures(result, folder, config, card)
    fold = result.experiment.fold
    write_text(folder / "metrics.json", as_json({**outside(result.metrics, fold), **figures}))
    measured = [ranker, *([retriever] if retriever else [])]
    return {
        "figures": figures,
        "queries": len(result.split.fold.requests),
        "queries_in_all": result.split.notes["queries_in_all"],
        "documents": len(lists),
        "longest": int(lists.lengths.max(initial=0)),
        "grades": grades_of(result.candidates, result.split.fold),
        "differ": ranker.get("differ", 0),
        "batches": batches_of(lists, ranker, retriever),
        "budgets": _with_fewer(result, retriever, job, card),
        "left_out": list(dict.fromkeys([*retriever.get("left_out", ()), *ranker["left_out"]])),
        "unordered": not result.candidates.score.any(),
        "measured_at": min(part["measured_at"] for part in measured),
        "cached": any(part["cached"] for part in measured),
        "load": max(part["load"] for part in measured),
    }


def _with_fewer(
    result: Result, retriever: Mapping[str, Any], job: Mapping[str, Any], card: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Write, for each number of documents that were ranked, the figures of a run of its own; return what is shown.

    These are figures of the order alone: whole lists of which only the first documents have the ranker's scores have
    no scores in common.
    """
    from recx.core.fold_names import outside
    from recx.core.system.atomic import write_text
    from recx.core.system.serialize import as_json
    from recx.evaluation.evaluator import Evaluator
    from recx.experiment import saved_runs
    from recx.jobs.benchmark.figures import budgets_of

    ranker, evaluator, found = result.ranker.measured, result.experiment.evaluator, []  # type: ignore[attr-defined]
    if isinstance(evaluator, Evaluator):
        metrics = [name for name in job["metrics"] if name not in evaluator.need_probabilities("end_to_end")]
        evaluator = replace(evaluator, retrieval=(), ranking=(), end_to_end=metrics, tables=())
    config = hidden_in(job["config"])
    for k, figures in budgets_of(ranker, retriever).items():
        lists, place = ranker["budgets"][str(k)]["lists"], Path(job["folder"]) / f"at_{k}"
        report = replace(evaluator.evaluate(result.candidates, lists, result.split.fold), scalars={})
        judged = replace(result, recommendations=lists, report=report, seconds={})
        saved_runs.save_figures(judged, place, config, {**card, "documents_ranked": k})
        documents, fold = figures.pop("documents"), result.experiment.fold
        write_text(place / "metrics.json", as_json({**outside(judged.metrics, fold), **figures}))
        found.append({"k": k, "documents": documents, "figures": figures})
    return found


if __name__ == "__main__":
    sys.exit(main())
