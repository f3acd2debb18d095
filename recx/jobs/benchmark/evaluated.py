"""From what the workers wrote to the outcome: rows with intervals, tests, budgets of documents, the recommendation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from recx.core.evaluation import Evaluation
from recx.evaluation.compare import Comparison, compare
from recx.experiment.saved_runs import SavedRun
from recx.jobs.benchmark.outcome import STAGE, Outcome, Row, best
from recx.jobs.benchmark.recommend import recommended
from recx.jobs.benchmark.rerank import Rerank

FACTS = (
    "grades", "queries", "queries_in_all", "documents", "longest", "batches", "left_out", "unordered", "cached",
    "measured_at", "load", "differ",
)  # fmt: skip
"""What a worker says of its row besides the figures."""


def evaluated(
    settings: Rerank,
    jobs: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    machine: Mapping[str, Any],
) -> Outcome:
    """Return the outcome of a benchmark.

    Args:
        settings: Of the benchmark.
        jobs: One per row.
        results: What the worker of each job returned.
        machine: What it was measured on.
    """
    evaluations = {
        job["name"]: _evaluation(Path(job["folder"]), job["name"])
        for job, result in zip(jobs, results, strict=True)
        if "reason" not in result
    }
    rows = [
        _row(settings, job, result, evaluations.get(job["name"])) for job, result in zip(jobs, results, strict=True)
    ]
    budgets: dict[str, list[Row]] = {}
    for row, result in zip(rows, results, strict=True):
        for point in result.get("budgets", ()):
            name, place = f"{row.name} at {point['k']}", row.folder / f"at_{point['k']}"
            evaluations[name] = _evaluation(place, name)
            budgets.setdefault(row.name, []).append(_at(settings, row, point, evaluations[name], place))
    metrics = [STAGE + metric for metric in settings.metrics]
    finished = [evaluations[row.name] for row in rows if not row.reason]
    with_first = None if rows[0].reason else _compared(finished, metrics)
    outcome = Outcome(settings, rows, _tests(with_first), (), machine, budgets=budgets)
    top, with_best = best(outcome.finished, outcome.quality), None
    if top is not None:
        names = [top.name, *(other.name for other in outcome.finished if other.name != top.name)]
        with_best = _compared([evaluations[name] for name in names], [STAGE + settings.quality])
    return replace(
        outcome,
        against_best=_tests(with_best),
        warnings=next((made.warnings for made in (with_first, with_best) if made is not None), []),
        pairs=[] if with_best is None or with_best.pairs is None else with_best.pairs.to_dict("records"),
        recommended=recommended(settings, [*outcome.finished, *chain.from_iterable(budgets.values())], evaluations),
    )


def _evaluation(folder: Path, name: str) -> Evaluation:
    return replace(SavedRun(folder).evaluation, name=name)


def _row(settings: Rerank, job: Mapping[str, Any], result: Mapping[str, Any], evaluation: Evaluation | None) -> Row:
    row = Row(job["name"], job["ranker"], Path(job["folder"]), seconds=result["seconds"])
    if evaluation is None:
        return replace(row, reason=result["reason"])
    figures = {name: _number(value) for name, value in result["figures"].items()}
    facts = {name: result[name] for name in FACTS}
    facts["batches"] = [{name: _number(value) for name, value in of.items()} for of in result["batches"]]
    costs = _costs(settings, job["ranker"], result["queries"], result["documents"])
    return replace(row, quality=_quality(settings, evaluation), figures={**figures, **costs}, **facts)


def _at(settings: Rerank, row: Row, point: Mapping[str, Any], evaluation: Evaluation, folder: Path) -> Row:
    """Return a row with a budget of documents, of which the figures that depend on it are its own."""
    figures = {name: _number(value) for name, value in point["figures"].items()}
    costs = _costs(settings, row.ranker, row.queries, point["documents"])
    return replace(
        row,
        name=evaluation.name,
        folder=folder,
        k=point["k"],
        documents=point["documents"],
        quality=_quality(settings, evaluation),
        figures={**figures, **costs},
        batches=(),
    )


def _quality(settings: Rerank, evaluation: Evaluation) -> dict[str, tuple[float, float, float]]:
    metrics = [metric for metric in settings.metrics if STAGE + metric in evaluation.values]
    intervals = evaluation.intervals([STAGE + metric for metric in metrics])
    return {metric: (evaluation.means[STAGE + metric], *intervals[STAGE + metric]) for metric in metrics}


def _costs(settings: Rerank, ranker: str, queries: int, documents: int) -> dict[str, float]:
    return {f"cost/{name}": value for name, value in settings.cost(ranker, queries, documents).items()}


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _compared(evaluations: Sequence[Evaluation], metrics: Sequence[str]) -> Comparison | None:
    shared = [metric for metric in metrics if all(metric in one.values for one in evaluations)]
    return compare(*evaluations, metrics=shared) if shared and len(evaluations) > 1 else None


def _tests(comparison: Comparison | None) -> list[dict[str, Any]]:
    return [] if comparison is None else comparison.table.to_dict("records")
