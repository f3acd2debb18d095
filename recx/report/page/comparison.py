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
from recx.plain import flat, plain, title
from recx.report.benchmark import NOTE
from recx.report.page import read
from recx.report.page.charts import Point
from recx.report.page.page import render_template
from recx.report.page.scale import finite
from recx.report.page.story import VERSION
from recx.report.page.story_figures import RESAMPLES
from recx.report.page.story_run import under
from recx.results import BENCHMARK, SavedRun

LATENCY = ("latency/p95_ms", "p95 latency in ms")
SECONDS = ("time/rank", "seconds of ranking")
COST = "cost/per_1000_queries"
MEASURED = ("time/", "latency/", "throughput/", "memory/", "cost/")
WIDE = 30.0
"""From this ratio of the largest to the smallest on, what it takes is drawn on a scale of powers."""
Took = Mapping[str, Any]
"""Figure -> number, or words where there is none."""


def render(story: Mapping[str, Any]) -> str:
    """Return the page of a comparison's or a benchmark's story."""
    fronts = [{**one, "points": [Point(**point) for point in one["points"]]} for one in story.get("fronts", ())]
    return render_template("comparison.html.jinja", {**story, "fronts": fronts})


def story_of_runs(
    runs: Sequence[SavedRun], evaluations: Sequence[Evaluation], comparison: Comparison
) -> dict[str, Any]:
    """Return the story of runs, the first being the baseline.

    evaluations: all figures of each run. comparison: of what is tested of them.
    """
    names = [comparison.baseline, *comparison.runs]
    ends = [evaluation.intervals(resamples=RESAMPLES) for evaluation in evaluations]
    metrics = list(dict.fromkeys(name for evaluation in evaluations for name in evaluation.values))
    taken = [_taken(run) for run in runs]
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
    x, x_label = LATENCY if all(LATENCY[0] in took for took in taken) else SECONDS
    places = [(_number(took.get(x)), one.means[quality]) for took, one in zip(taken, evaluations, strict=True)]
    best = front(np.array([[at, -mean] for at, mean in places], dtype=np.float64)).tolist()
    points = [
        Point(name, *place, on, *found[quality])
        for name, place, on, found in zip(names, places, best, ends, strict=True)
    ]
    return _story(
        title=f"{', '.join(comparison.runs)} against {comparison.baseline}",
        runs=[{"name": name, "about": title(run.config), "reason": ""} for name, run in zip(names, runs, strict=True)],
        warnings=comparison.warnings,
        quality=quality,
        metrics=figures,
        measured=_measured(taken),
        tests=comparison.table.to_dict("records"),
        fronts=_front("Quality against what it takes", x_label, quality, points),
        procedure=vars(comparison.procedure),
    )


def story_of_benchmark(folder: Path, words: Sequence[str] = (), git: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the story of the benchmark in a folder. words, git: of the command that ran it, where they are known.

    Raises:
        InputError: a file of it is missing or damaged.
    """
    path, saved = folder / BENCHMARK, SavedRun(folder)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        told = _of_document(document)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} cannot be read ({type(error).__name__}): run the benchmark again") from error
    counts = {name: document.get(name, 0) for name in ("queries", "queries_in_all", "documents")}
    run = {
        "when": str(document["machine"].get("written_at", "")),
        "words": list(words),
        "git": dict(git or {}),
        "stages": [],
        "counts": {name: count for name, count in counts.items() if count},
        "how": _how(document["settings"]),
        **under(saved.config, saved.protocol),
    }
    return {"version": VERSION, **told, "folder": folder.name, "run": plain(run)}


def _of_document(document: Mapping[str, Any]) -> dict[str, Any]:
    rankers, settings = document["rankers"], document["settings"]
    metrics = list(dict.fromkeys(metric for row in rankers for metric in row["quality"]))
    quality = settings.get("quality", metrics[0] if metrics else "")
    figures = [
        {"metric": metric, "values": [_quality(row["quality"].get(metric)) for row in rankers]} for metric in metrics
    ]
    measured = [{**row["figures"], "balance": row["balance"]} for row in rankers]
    judged = [row for row in rankers if quality in row["quality"]]

    def points(figure: str) -> list[Point]:
        places = [(_number(row["figures"].get(figure)), row["quality"][quality]) for row in judged]
        return [
            Point(row["name"], at, found["mean"], row["on_front"], found["low"], found["high"])
            for row, (at, found) in zip(judged, places, strict=True)
        ]

    currency = str(settings.get("currency", "the currency of the prices"))
    costs = any(row["figures"].get(COST) for row in rankers)
    cost = f"cost of 1,000 queries in {currency}"
    return _story(
        title=f"Benchmark of {len(rankers)} rankers on {document['queries']:,} queries",
        runs=[{"name": row["name"], "about": "", "reason": row["reason"]} for row in rankers],
        conclusions=document["conclusions"],
        warnings=document["cautions"],
        quality=quality,
        metrics=figures,
        measured=_measured(measured, currency),
        tests=document["tests"],
        fronts=[
            *_front("Quality against latency", LATENCY[1], quality, points(LATENCY[0])),
            *(_front("Quality against cost", cost, quality, points(COST)) if costs else []),
        ],
        note=f"{NOTE[0].upper()}{NOTE[1:]}.",
        grades=document["grades"],
        machine=document["machine"],
    )


def _how(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return how the calls were measured, in words."""
    names = ("sample", "warmup", "batch_size", "timeout_s", "parallel", "currency", "cost_weight")
    known = {name: settings[name] for name in names if settings.get(name) is not None}
    return flat({"sample": "all queries", **known})


def _taken(run: SavedRun) -> dict[str, Any]:
    """Return what a run took, with words for seconds that went into reading from the stage cache."""
    taken: dict[str, Any] = {name: value for name, value in run.metrics.items() if name.startswith(MEASURED)}
    if not run.metrics.get("data/cache_hits"):
        return taken
    try:
        stages = {row["stage"]: (row["cached"], row["passes"]) for row in read(run.folder)["run"]["stages"]}
    except InputError:  # without its report it cannot be told which
        return {name: value for name, value in taken.items() if not name.startswith("time/")}
    for stage, (hits, passes) in stages.items():
        if hits:
            taken[f"time/{stage}"] = f"{'' if hits >= passes else f'{hits} of {passes} '}from the cache"
    return {**taken, "time/total": "partly from the cache"}


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


def _measured(taken: Sequence[Took], currency: str = "") -> list[dict[str, Any]]:
    """Return a row for each figure that is there for any run, with the values of all."""
    names = dict.fromkeys(name for one in taken for name, value in one.items() if value or not name.startswith("cost/"))
    return [
        {
            "name": f"{name} in {currency}" if currency and name.startswith("cost/") else name,
            "values": [one.get(name) for one in taken],
        }
        for name in names
    ]


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def _front(name: str, x_label: str, quality: str, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Return the one figure of quality against what it takes; none without a point."""
    known = [point for point in points if finite(point.x) and finite(point.y)]
    if not known:
        return []
    least, most = min(point.x for point in known), max(point.x for point in known)
    labels = {"title": name, "x_label": x_label, "y_label": quality}
    return [{**labels, "log_x": 0 < least < most / WIDE, "points": [vars(point) for point in known]}]
