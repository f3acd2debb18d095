"""The figures: the answer in a few numbers, curves against the cut, and every metric with its interval."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from recx.core.evaluation import Evaluation
from recx.core.resampling import bootstrap
from recx.core.types import Array, Doubles
from recx.evaluation.definitions import FUNNEL, METRICS
from recx.evaluation.metrics.ranking import means_by_cut
from recx.report.page.report_data import KINDS, ReportData

RESAMPLES = 1_000
"""Of the bootstrap: enough for the ends of intervals that a page shows; `recx compare` takes 10,000."""
EVERY_CUT, MOST_CUTS = 100, 60
"""Curves have a point for every cut up to the first; further down so many in all, closer at the top."""

Row = dict[str, Any]
Ends = tuple[float, float]


def metric_rows(report: Evaluation, intervals: Sequence[Ends]) -> list[Row]:
    """Return a row a metric: name, line, metric, k, value, low, high, users, meaning; intervals: of the values."""
    ends = dict(zip(report.values, intervals, strict=True))
    users = {name: int((~np.isnan(values)).sum()) for name, values in report.values.items()}
    rows = []
    for name, value in report.means.items():
        if name.endswith("/users"):
            continue
        line, bare, k = split_name(name)
        low, high = ends.get(name, (None, None))
        row = {"name": name, "line": line, "metric": bare, "k": k, "value": value, "low": low, "high": high}
        counted = users.get(name, int(report.means.get(f"{line}/users", len(report.users))))
        rows.append({**row, "users": counted, "meaning": {**METRICS, **FUNNEL}.get(bare, "")})
    return rows


def intervals(columns: Sequence[Doubles]) -> list[Ends]:
    """Return low and high of the mean of every column [n_users each], NaN for users that are left out.

    At once for all columns, since drawing the users takes as long as all else. A shorter column leaves users out.
    """
    values = np.full((max(map(len, columns), default=0), len(columns)), np.nan)
    for place, column in enumerate(columns):
        values[: len(column), place] = column
    low, high = bootstrap(values, resamples=RESAMPLES)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def split_name(name: str) -> tuple[str, str, int | None]:
    """Return a figure's line, metric and cut (None: not cut)."""
    line, _, metric = name.rpartition("/")
    found = re.fullmatch(r"(.+)_at_(\d+)", metric)
    return (line, found[1], int(found[2])) if found else (line, metric, None)


def answer(held: ReportData, rows: Sequence[Row], objective: str) -> Row:
    """Return the answer first: the headline's rows, the funnel at k and what the ranker adds."""
    share = np.bincount(held.kind, minlength=len(KINDS)) / max(held.n_users, 1)
    hit, gained, lost, in_ranking, in_retrieval = share.tolist()
    counts = np.bincount(held.kind, minlength=len(KINDS)).tolist()
    where = "in first place" if held.k == 1 else f"in the first {held.k}"
    return {
        "k": held.k,
        "where": where,
        "users": held.n_users,
        "headline": headline(rows, objective, held.k),
        "funnel": {where: hit + gained, "lost in ranking": lost + in_ranking, "lost in retrieval": in_retrieval},
        "found": 1 - in_retrieval,
        "shown": hit + gained,
        "shown_before": hit + lost,
        "kinds": dict(zip(KINDS, counts, strict=True)),
        "lift": _lift(held, rows),
        "higher": int((held.lift > 0).sum()),
        "lower": int((held.lift < 0).sum()),
    }


def _lift(held: ReportData, rows: Sequence[Row]) -> Row:
    """Return what the ranker adds to NDCG at k, with its interval, which the rows may hold already."""
    known = next((row for row in rows if row["name"] == f"funnel/lift_ndcg_at_{held.k}"), None)
    if known is not None:
        return {name: known[name] for name in ("value", "low", "high")}
    [(low, high)] = intervals([held.lift])
    return {"value": float(held.lift.mean()), "low": low, "high": high}


def headline(rows: Sequence[Row], objective: str, k: int) -> list[Row]:
    """Return the rows to show first, at most five: the objective and one or two of every line."""
    by_name = {row["name"]: row for row in rows}
    deepest = max((row["k"] for row in rows if row["line"] == "retrieval" and row["k"]), default=0)
    wanted = [
        *(objective, f"end_to_end/ndcg_at_{k}", f"end_to_end/hit_at_{k}", "end_to_end/top_1_accuracy"),
        *(f"retrieval/recall_at_{deepest}", f"ranking/ndcg_at_{k}", "end_to_end/mrr", f"funnel/lift_ndcg_at_{k}"),
    ]
    found = [name for name in dict.fromkeys(wanted) if name in by_name]
    return [by_name[name] for name in found][:5] or list(rows[:5])


def curves_of(held: ReportData) -> dict[str, dict[str, list[list[float]]]]:
    """Return recall and ndcg -> candidates and recommendations -> pairs of cut and mean over users."""
    cuts = _cuts(int(held.before.lists.lengths.max(initial=1)))
    lines = {"candidates": means_by_cut(held.before, cuts), "recommendations": means_by_cut(held.after, cuts)}
    return {
        figure: {
            name: [list(pair) for pair in zip(cuts.tolist(), of[figure], strict=True)] for name, of in lines.items()
        }
        for figure in ("recall", "ndcg")
    }


def _cuts(longest: int) -> Array:
    if longest <= EVERY_CUT:
        return np.arange(1, max(longest, 1) + 1)
    return np.unique(np.geomspace(1, longest, MOST_CUTS).round().astype(np.int64))
