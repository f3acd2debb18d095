"""The curves of a benchmark: quality and latency by documents per query, throughput and latency by queries per call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recx.jobs.benchmark.outcome import COST, MEAN_MS, P95_MS

Facts = Mapping[str, Any]
"""What ``benchmark.json`` says of a ranker."""
Point = tuple[float, float | None]

ENDS = ("mean", "low", "high")
OF_BUDGETS = {"mean_ms": MEAN_MS, "p95_ms": P95_MS, "cost_per_1000": COST}
"""Column of the table of budgets -> the figure that it shows."""
K, SIZE = "documents per query that are ranked", "queries per call"


def curves_of(rankers: Sequence[Facts], quality: str) -> list[dict[str, Any]]:
    """Return the curves as data (see ``recx.report.charts.figures.curve_charts``), without those of a single point.

    The last point of a curve by documents is of whole lists, at the length of the longest one.

    Args:
        rankers: As in ``benchmark.json``.
        quality: The metric that is weighed against latency.
    """
    by_k = {row["name"]: _by_documents(row) for row in rankers}
    by_size = {row["name"]: row.get("batches", ()) for row in rankers}
    curves = [
        _curve(
            "Quality by documents", K, quality, {name: _qualities(points, quality) for name, points in by_k.items()}
        ),
        _curve("Latency by documents", K, "p95 latency in ms", {name: _p95s(points) for name, points in by_k.items()}),
        _curve("Throughput by queries per call", SIZE, "documents per second", _of_sizes(by_size, "documents_per_s")),
        _curve(
            "Latency by queries per call", SIZE, "median latency of a call in ms", _of_sizes(by_size, "call_p50_ms")
        ),
    ]
    return [{**curve, "log_x": True, "log_y": curve["y_label"] != quality} for curve in curves if curve["series"]]


def _by_documents(row: Facts) -> list[tuple[int, Facts]]:
    """Return documents per query -> the figures with so many, the whole lists last."""
    points = [(at["k"], at) for at in row.get("budgets", ())]
    return [*points, (row["longest"], row)] if points else []


def _qualities(points: Sequence[tuple[int, Facts]], quality: str) -> list[Point]:
    return [(k, at["quality"].get(quality, {}).get("mean")) for k, at in points]


def _p95s(points: Sequence[tuple[int, Facts]]) -> list[Point]:
    return [(k, at["figures"].get(P95_MS)) for k, at in points]


def _of_sizes(by_size: Mapping[str, Sequence[Facts]], figure: str) -> dict[str, list[Point]]:
    return {name: [(at["queries_per_call"], at[figure]) for at in points] for name, points in by_size.items()}


def _curve(title: str, x_label: str, y_label: str, series: Mapping[str, list[Point]]) -> dict[str, Any]:
    known = {name: [(x, y) for x, y in points if y is not None] for name, points in series.items()}
    shown = {name: points for name, points in known.items() if len(points) > 1}
    return {"title": title, "x_label": x_label, "y_label": y_label, "series": shown}


def budget_rows(rankers: Sequence[Facts], quality: str) -> list[dict[str, Any]]:
    """Return a row per ranker and number of documents: quality with its interval, latency and cost, for a table.

    Args:
        rankers: As in ``benchmark.json``.
        quality: The metric that is weighed against latency.
    """
    return [
        {
            "name": row["name"],
            "documents": at.get("k"),
            **dict(zip(("value", "low", "high"), map(at["quality"].get(quality, {}).get, ENDS), strict=True)),
            **{name: at["figures"].get(figure) for name, figure in OF_BUDGETS.items()},
        }
        for row in rankers
        for _, at in _by_documents(row)
    ]
