"""Several runs, or the rankers of a benchmark, side by side: their story and its page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recx.benchmark.figures import front
from recx.comparison import Comparison
from recx.errors import InputError
from recx.evaluation import Evaluation
from recx.plain import plain, title
from recx.report.page.charts import Point
from recx.report.page.page import render_template
from recx.report.page.story_figures import RESAMPLES
from recx.results import SavedRun

BENCHMARK = "benchmark.json"
LINE = "end_to_end/"
LATENCY = ("latency/p95_ms", "p95 latency in ms")
SECONDS = ("time/rank", "seconds of ranking")
WIDE = 30.0
"""From this ratio of the largest to the smallest on, what it takes is drawn on a scale of powers."""
Row = Mapping[str, Any]


def render(story: Mapping[str, Any]) -> str:
    """Return the page of a comparison's story."""
    points = [Point(**point) for point in story["pareto"]["points"]] if "pareto" in story else []
    return render_template("comparison.html.jinja", {**story, "points": points})


def page_of_benchmark(folder: Path) -> str:
    """Return the page of a benchmark from the ``benchmark.json`` in its folder.

    Raises:
        InputError: there is no such file, or it is damaged.
    """
    path = folder / BENCHMARK
    try:
        story = story_of_benchmark(json.loads(path.read_text(encoding="utf-8")), folder.name)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read ({type(error).__name__}): run the benchmark again") from error
    return render(story)


def story_of_runs(
    runs: Sequence[SavedRun], evaluations: Sequence[Evaluation], comparison: Comparison
) -> dict[str, Any]:
    """Return the story of runs, the first being the baseline.

    evaluations: all figures of each run. comparison: of what is tested of them.
    """
    names = [comparison.baseline, *comparison.runs]
    ends = [evaluation.intervals(resamples=RESAMPLES) for evaluation in evaluations]
    metrics = list(dict.fromkeys(name for evaluation in evaluations for name in evaluation.values))
    taken = [{name: value for name, value in run.metrics.items() if name.startswith("time/")} for run in runs]
    objective = str(runs[0].config.get("objective", ""))
    tested = list(dict.fromkeys(comparison.table["metric"]))
    quality = objective if objective in tested else tested[0]
    figures = [
        {
            "metric": metric,
            "values": [
                {"value": evaluation.means.get(metric), **_ends(found.get(metric))}
                for evaluation, found in zip(evaluations, ends, strict=True)
            ],
        }
        for metric in metrics
    ]
    x, x_label = LATENCY if all(LATENCY[0] in run.metrics for run in runs) else SECONDS
    points = [
        (name, run.metrics.get(x), evaluation.means[quality], *found[quality])
        for name, run, evaluation, found in zip(names, runs, evaluations, ends, strict=True)
    ]
    return _story(
        title=f"{', '.join(comparison.runs)} against {comparison.baseline}",
        runs=[{"name": name, "about": title(run.config), "reason": ""} for name, run in zip(names, runs, strict=True)],
        warnings=comparison.warnings,
        quality=quality,
        metrics=figures,
        measured=_measured(taken),
        tests=comparison.table.to_dict("records"),
        pareto=_pareto(points, x_label, quality),
        procedure=vars(comparison.procedure),
    )


def story_of_benchmark(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the story of a benchmark, from what ``benchmark.json`` holds; name: of its folder."""
    rankers, settings = document["rankers"], document["settings"]
    metrics = list(dict.fromkeys(metric for row in rankers for metric in row["quality"]))
    quality = settings.get("quality", metrics[0] if metrics else "")
    figures = [
        {"metric": metric, "values": [_quality(row["quality"].get(metric)) for row in rankers]} for metric in metrics
    ]
    points = [
        (row["name"], row["figures"].get(LATENCY[0]), *_quality(row["quality"].get(quality)).values())
        for row in rankers
        if row["quality"].get(quality)
    ]
    measured = [{**row["figures"], "balance": row["balance"]} for row in rankers]
    return _story(
        title=f"Benchmark of {len(rankers)} rankers on {document['queries']:,} queries",
        subtitle=name,
        runs=[{"name": row["name"], "about": "", "reason": row["reason"]} for row in rankers],
        conclusions=document["conclusions"],
        warnings=document["cautions"],
        quality=quality,
        metrics=figures,
        measured=_measured(measured),
        tests=document["tests"],
        pareto=_pareto(points, LATENCY[1], quality),
        grades=document["grades"],
        machine=document["machine"],
    )


def _story(**told: Any) -> dict[str, Any]:
    """Return what there is to tell as plain values."""
    whole: dict[str, Any] = plain({name: what for name, what in told.items() if what})
    return whole


def _quality(found: Mapping[str, float] | None) -> dict[str, float | None]:
    return (
        {"value": None, **_ends(None)}
        if found is None
        else {"value": found["mean"], **_ends((found["low"], found["high"]))}
    )


def _ends(interval: tuple[float, float] | None) -> dict[str, float | None]:
    return {"low": None, "high": None} if interval is None else {"low": interval[0], "high": interval[1]}


def _measured(taken: Sequence[Mapping[str, float]]) -> list[dict[str, Any]]:
    """Return a row for each figure that is there for any run, with the values of all."""
    names = dict.fromkeys(name for one in taken for name, value in one.items() if value or not name.startswith("cost/"))
    return [{"name": name, "values": [one.get(name) for one in taken]} for name in names]


def _spread(values: Sequence[float]) -> float:
    """Return how many times the smallest the largest is; 0 where one is not above 0."""
    return max(values) / min(values) if min(values) > 0 else 0.0


def _pareto(points: Sequence[tuple[Any, ...]], x_label: str, quality: str) -> dict[str, Any]:
    """Return points of quality against what it takes, and which of them no other one beats in both; {} without any."""
    known = [point for point in points if point[1] is not None and point[2] is not None]
    if not known:
        return {}
    best = front(np.array([[x, -y] for _, x, y, *_ in known], dtype=np.float64))
    named = [dict(zip(("name", "x", "y", "low", "high"), point, strict=True)) for point in known]
    return {
        "x_label": x_label,
        "y_label": quality,
        "log_x": _spread([x for _, x, *_ in known]) > WIDE,
        "points": [{**point, "on_front": bool(on)} for point, on in zip(named, best, strict=True)],
    }
