"""The figures: a summary in a few numbers, curves against the cut, and every metric with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from recx.core.evaluation import Evaluation
from recx.core.metric_names import split_name
from recx.core.resampling import bootstrap
from recx.core.types import Doubles
from recx.evaluation.definitions import definition
from recx.report.page.report_data import KINDS, ReportData

RESAMPLES = 1_000
"""Of the bootstrap: enough for the intervals on a page; `recx compare` takes 10,000."""
VALUES_AT_ONCE = 2_000_000
"""Values in memory while intervals are computed."""

Row = dict[str, Any]
Ends = tuple[float, float]


def metric_rows(evaluation: Evaluation, intervals: Sequence[Ends]) -> list[Row]:
    """Return one row per metric.

    Args:
        evaluation: The run's figures.
        intervals: Ends of the intervals of ``evaluation.values``.
    """
    ends, means = dict(zip(evaluation.values, intervals, strict=True)), evaluation.means
    users = {name: int((~np.isnan(values)).sum()) for name, values in evaluation.values.items()}
    rows = []
    for name, value in means.items():
        stage, bare, k = split_name(name)
        if bare != "users":
            low, high = ends.get(name, (None, None))
            row = {"name": name, "line": stage, "metric": bare, "k": k, "value": value, "low": low, "high": high}
            counted = users.get(name, int(means.get(f"{stage}/users", len(evaluation.users))))
            rows.append({**row, "users": counted, "meaning": definition(bare)})
    return rows


def pivot(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the rows of ``metric_rows`` as the table that a person reads.

    Returns:
        ``cuts``: of all metrics, rising, None (uncut) last. ``stages``: one entry for each, with its name, the users
        whom it counts, their share of all, and its metrics with one row of ``rows`` or None for every cut.
    """
    cuts = sorted({row["k"] for row in rows}, key=lambda k: (k is None, k or 0))
    found: dict[str, dict[str, dict[int | None, Row]]] = {}
    for row in rows:
        found.setdefault(row["line"], {}).setdefault(row["metric"], {})[row["k"]] = row
    users = {
        stage: max(row["users"] for of in metrics.values() for row in of.values()) for stage, metrics in found.items()
    }
    most = max(users.values(), default=0)
    stages = [
        {
            "stage": stage,
            "users": users[stage],
            "share": users[stage] / most if most else 1.0,
            "metrics": [
                {"metric": metric, "meaning": next(iter(of.values()))["meaning"], "rows": [of.get(k) for k in cuts]}
                for metric, of in metrics.items()
            ],
        }
        for stage, metrics in found.items()
    ]
    return {"cuts": cuts, "stages": stages}


def intervals(columns: Iterable[Doubles]) -> list[Ends]:
    """Return the ends of the interval of every column's mean.

    Columns of few users are resampled at once, since drawing the users takes as long as everything else; those of many
    users are never all in memory.

    Args:
        columns: Values per user, NaN for users that are left out [up to n_users each].
    """
    ends: list[Ends] = []
    for some in _batches(columns):
        values = np.full((len(some), max(map(len, some))), np.nan)
        for row, column in zip(values, some, strict=True):
            row[: len(column)] = column
        low, high = bootstrap(values.T, resamples=RESAMPLES)
        ends += zip(low.tolist(), high.tolist(), strict=True)
    return ends


def _batches(columns: Iterable[Doubles]) -> Iterator[list[Doubles]]:
    """Yield the columns in batches of about ``VALUES_AT_ONCE`` values."""
    batch: list[Doubles] = []
    for column in columns:
        batch.append(column)
        if sum(map(len, batch)) >= VALUES_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def answer(data: ReportData, rows: Sequence[Row], objective: str) -> Row:
    """Return the summary: the most important metrics, the funnel at k, and what the ranker adds."""
    counts = np.bincount(data.kind, minlength=len(KINDS))
    hit, gained, lost, in_ranking, in_retrieval = (counts / max(data.n_users, 1)).tolist()
    where = "in first place" if data.k == 1 else f"in the first {data.k}"
    return {
        "k": data.k,
        "where": where,
        "users": data.n_users,
        "headline": headline(rows, objective, data.k),
        "funnel": {where: hit + gained, "lost in ranking": lost + in_ranking, "lost in retrieval": in_retrieval},
        "found": 1 - in_retrieval,
        "shown": hit + gained,
        "shown_before": hit + lost,
        "kinds": dict(zip(KINDS, counts.tolist(), strict=True)),
        "lift": _lift(data, rows),
        "higher": int((data.lift > 0).sum()),
        "lower": int((data.lift < 0).sum()),
    }


def _lift(data: ReportData, rows: Sequence[Row]) -> Row:
    """Return what the ranker adds to NDCG at k, with its interval, which the rows may contain already."""
    for row in rows:
        if row["name"] == f"funnel/lift_ndcg_at_{data.k}":
            return {name: row[name] for name in ("value", "low", "high")}
    [(low, high)] = intervals([data.lift])
    return {"value": float(data.lift.mean()), "low": low, "high": high}


def headline(rows: Sequence[Row], objective: str, k: int) -> list[Row]:
    """Return at most five rows to show first: the objective and one or two of every stage."""
    by_name = {row["name"]: row for row in rows}
    deepest = max((row["k"] for row in rows if row["line"] == "retrieval" and row["k"]), default=0)
    wanted = [
        *(objective, f"end_to_end/ndcg_at_{k}", f"end_to_end/hit_at_{k}", "end_to_end/top_1_accuracy"),
        *(f"retrieval/recall_at_{deepest}", f"ranking/ndcg_at_{k}", "end_to_end/mrr", f"funnel/lift_ndcg_at_{k}"),
    ]
    found = [by_name[name] for name in dict.fromkeys(wanted) if name in by_name]
    return found[:5] or list(rows[:5])


def curves_of(data: ReportData) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Return the means of recall and NDCG by cut: metric -> candidates and recommendations -> (cut, mean)."""
    return {
        metric: {name: list(zip(data.cuts.tolist(), of[metric], strict=True)) for name, of in data.curves.items()}
        for metric in ("recall", "ndcg")
    }
