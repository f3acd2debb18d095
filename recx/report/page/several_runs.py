"""Several runs side by side: their story and its page, which a benchmark's is made of too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.system.serialize import plain, title
from recx.evaluation.compare import Comparison
from recx.evaluation.pareto import front
from recx.experiment.saved_runs import SavedRun
from recx.report.charts.charts import Point
from recx.report.charts.scale import finite
from recx.report.page.render import render_template
from recx.report.page.section_figures import RESAMPLES
from recx.report.page.write import read

LATENCY = ("latency/p95_ms", "p95 latency in ms")
SECONDS = ("time/rank", "seconds of ranking")
ENDS = ("value", "low", "high")
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
                dict(zip(ENDS, (evaluation.means.get(metric), *found.get(metric, (None, None))), strict=True))
                for evaluation, found in zip(evaluations, ends, strict=True)
            ],
        }
        for metric in metrics
    ]
    x, x_label = LATENCY if all(LATENCY[0] in took for took in taken) else SECONDS
    places = [(as_number(took.get(x)), one.means[quality]) for took, one in zip(taken, evaluations, strict=True)]
    best = front(np.array([[at, -mean] for at, mean in places], dtype=np.float64)).tolist()
    points = [
        Point(name, *place, on, *found[quality])
        for name, place, on, found in zip(names, places, best, ends, strict=True)
    ]
    return present(
        title=f"{', '.join(comparison.runs)} against {comparison.baseline}",
        runs=[{"name": name, "about": title(run.config), "reason": ""} for name, run in zip(names, runs, strict=True)],
        warnings=comparison.warnings,
        quality=quality,
        metrics=figures,
        measured=measured_rows(taken),
        tests=comparison.table.to_dict("records"),
        fronts=front_of("Quality against what it takes", x_label, quality, points),
        procedure=vars(comparison.procedure),
        by=comparison.by,
    )


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


def present(**told: Any) -> dict[str, Any]:
    """Return what there is to tell as plain values."""
    whole: dict[str, Any] = plain({name: what for name, what in told.items() if what})
    return whole


def measured_rows(taken: Sequence[Took], currency: str = "") -> list[dict[str, Any]]:
    """Return a row for each figure that is there for any run, with the values of all."""
    names = dict.fromkeys(name for one in taken for name, value in one.items() if value or not name.startswith("cost/"))
    return [
        {
            "name": f"{name} in {currency}" if currency and name.startswith("cost/") else name,
            "values": [one.get(name) for one in taken],
        }
        for name in names
    ]


def as_number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def front_of(name: str, x_label: str, quality: str, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Return the one figure of quality against what it takes; none without a point."""
    known = [point for point in points if finite(point.x) and finite(point.y)]
    if not known:
        return []
    least, most = min(point.x for point in known), max(point.x for point in known)
    labels = {"title": name, "x_label": x_label, "y_label": quality}
    return [{**labels, "log_x": 0 < least < most / WIDE, "points": [vars(point) for point in known]}]
