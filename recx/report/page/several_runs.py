"""Several runs side by side: the data of their page, and its rendering, which a benchmark's page shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recx.core.chosen import chain, data_name
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.evaluation.compare import Comparison
from recx.evaluation.pareto import front
from recx.evaluation.verdicts import first_of, sides, told_apart
from recx.evaluation.warnings import ranking_shares
from recx.experiment.saved_nouns import nouns_of_configs
from recx.experiment.saved_runs import SavedRun
from recx.report.charts.charts import Point
from recx.report.charts.scale import finite
from recx.report.page import render as page_of
from recx.report.page.contents import present
from recx.report.page.section_figures import RESAMPLES
from recx.report.page.write import read

LATENCY = ("latency/p95_ms", "p95 latency in ms")
SECONDS = ("time/rank", "ranking time in s")
ENDS = ("value", "low", "high")
MEASURED = ("time/", "latency/", "throughput/", "memory/", "cost/")
WIDE = 30.0
"""From this ratio of the largest to the smallest cost on, the axis is logarithmic."""
Costs = Mapping[str, Any]
"""Measurement -> number, or text if there is none."""


def render(page: Mapping[str, Any]) -> str:
    """Return the page of a comparison or a benchmark as HTML."""
    fronts = [{**one, "points": [Point(**point) for point in one["points"]]} for one in page.get("fronts", ())]
    return page_of.render({**page, "fronts": fronts}, "comparison.html.jinja")


def comparison_data(
    runs: Sequence[SavedRun], evaluations: Sequence[Evaluation], comparison: Comparison
) -> dict[str, Any]:
    """Return the data of the page of several runs.

    Args:
        runs: The runs, the first being the baseline.
        evaluations: All figures of each run.
        comparison: The comparison of the figures that are tested.
    """
    names = [comparison.baseline, *comparison.runs]
    ends = [evaluation.intervals(resamples=RESAMPLES) for evaluation in evaluations]
    figures = [
        {
            "metric": metric,
            "values": [
                dict(zip(ENDS, (evaluation.means.get(metric), *found.get(metric, (None, None))), strict=True))
                for evaluation, found in zip(evaluations, ends, strict=True)
            ],
        }
        for metric in dict.fromkeys(name for evaluation in evaluations for name in evaluation.values)
    ]
    costs = [_costs(run) for run in runs]
    objective, tested = str(runs[0].config.get("objective", "")), comparison.table["metric"].tolist()
    quality = objective if objective in tested else tested[0]
    x, x_label = LATENCY if all(LATENCY[0] in of_run for of_run in costs) else SECONDS
    places = [(as_number(of_run.get(x)), one.means[quality]) for of_run, one in zip(costs, evaluations, strict=True)]
    best = front(np.array([[at, -mean] for at, mean in places], dtype=np.float64)).tolist()
    points = [
        Point(name, *place, on, *found[quality])
        for name, place, on, found in zip(names, places, best, ends, strict=True)
    ]
    procedure, users = comparison.procedure, int(comparison.table["users"].max())
    data = ", ".join(filter(None, dict.fromkeys(data_name(run.config) for run in runs)))
    between = f"{', '.join(comparison.runs)} {'against' if comparison.tested else 'beside'} {comparison.baseline}"
    return present(
        title=f"{between} on {data}" if data else between,
        runs=[{"name": name, "about": chain(run.config), "reason": ""} for name, run in zip(names, runs, strict=True)],
        warnings=[*comparison.warnings, *ranking_shares(evaluations)],
        quality=quality,
        metrics=figures,
        measured=measured_rows(costs),
        tests=comparison.table.to_dict("records") if comparison.tested else [],
        fronts=front_of("Quality against time", x_label, quality, points),
        procedure={**vars(procedure), **procedure.in_words(users)},
        by=comparison.by,
        margin=comparison.margin,
        nouns=vars(nouns_of_configs(run.config for run in runs)),
        **_pairs_and_slices(comparison, quality),
    )


def _pairs_and_slices(comparison: Comparison, quality: str) -> dict[str, Any]:
    """Return the rows of all pairs, those of the slices of the main metric, and what both come to in sentences."""
    pairs, slices = comparison.pairs, comparison.slices
    said = [] if pairs is None else told_apart(pairs, quality)
    if slices is not None:
        said += [*first_of(comparison.crossings(quality)), sides(slices)]
    return {
        "pairs": [] if pairs is None else pairs.to_dict("records"),
        "slices": [] if slices is None else slices[slices["metric"] == quality].to_dict("records"),
        "said": [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in said],
    }


def _costs(run: SavedRun) -> dict[str, Any]:
    """Return time, latency and memory of a run; stages that were read from the stage cache have text instead."""
    costs: dict[str, Any] = {name: value for name, value in run.metrics.items() if name.startswith(MEASURED)}
    if not run.metrics.get("data/cache_hits"):
        return costs
    try:
        stages = read(run.folder)["run"]["stages"]
    except InputError:  # without its report, it is unknown which stages were cached
        return {name: value for name, value in costs.items() if not name.startswith("time/")}
    for row in stages:
        if hits := row["cached"]:
            part = "" if hits >= row["passes"] else f"{hits} of {row['passes']} "
            costs[f"time/{row['stage']}"] = f"{part}from the cache"
    return {**costs, "time/total": "partly from the cache"}


def measured_rows(costs: Sequence[Costs], currency: str = "") -> list[dict[str, Any]]:
    """Return one row per measurement that any run has, with the values of all runs."""
    names = dict.fromkeys(name for one in costs for name, value in one.items() if value or not name.startswith("cost/"))
    return [
        {
            "name": f"{name} in {currency}" if currency and name.startswith("cost/") else name,
            "values": [one.get(name) for one in costs],
        }
        for name in names
    ]


def as_number(value: Any) -> float:
    """Return a number, NaN for text and None."""
    return float(value) if isinstance(value, int | float) else float("nan")


def front_of(name: str, x_label: str, quality: str, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Return the chart of quality against cost in a list, which is empty without a point."""
    known = [point for point in points if finite(point.x) and finite(point.y)]
    if not known:
        return []
    log_x = 0 < min(point.x for point in known) < max(point.x for point in known) / WIDE
    labels = {"title": name, "x_label": x_label, "y_label": quality}
    return [{**labels, "log_x": log_x, "points": [vars(point) for point in known]}]
