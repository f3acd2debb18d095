"""From what was measured to figures: latency, throughput, memory; grades in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recx.core.types import Fold, Longs, RankedLists
from recx.jobs.benchmark.timing import NS_PER_S, latency, throughput

GRADES = {0: "not relevant", 1: "weakly relevant", 2: "relevant", 3: "highly relevant"}


def spent_of(measured: Mapping[str, Any], retrieved: Mapping[str, Any]) -> Longs | None:
    """Return the nanoseconds that each query took [n], retrieving included where it was measured; None: not timed."""
    if "ns" not in measured:
        return None
    spent: Longs = np.asarray(measured["ns"]) + np.asarray(retrieved.get("ns", 0))
    return spent


def figures_of(
    lists: RankedLists, measured: Mapping[str, Any], retrieved: Mapping[str, Any]
) -> dict[str, float | None]:
    """Return latency/, throughput/, memory/ and time/ figures; those that were not measured are left out."""
    figures = {"memory/model_mb": measured["size"] / 1e6, "time/fit_s": measured["fit_s"]}
    spent = spent_of(measured, retrieved)
    if spent is None:
        return dict(figures)
    n = (lists.n_lists, len(lists))
    figures["time/first_call_s"] = (measured["first_ns"] + retrieved.get("first_ns", 0)) / NS_PER_S
    figures |= {f"latency/{name}": value for name, value in latency(spent).items()}
    figures |= {f"throughput/{name}": value for name, value in throughput(*n, float(spent.sum())).items()}
    if "batch_ns" in measured:
        total = float(measured["batch_ns"] + retrieved.get("batch_ns", 0))
        figures |= {f"throughput/batch_{name}": value for name, value in throughput(*n, total).items()}
    return {**figures, "memory/peak_mb": (measured["memory"] + retrieved.get("memory", 0.0)) / 1e6}


def seconds_of(
    chain: Mapping[str, float], measured: Mapping[str, Any], retrieved: Mapping[str, Any]
) -> dict[str, float]:
    """Return a chain's seconds by stage; of stages that were measured what their calls took, without any warm-up."""
    seconds = {stage: took for stage, took in chain.items() if stage != "rank"}
    if "fit_ranker" in chain:
        seconds["fit_ranker"] = measured["fit_s"]
    calls = {"retrieve": retrieved, "rank": measured}
    return {**seconds, **{stage: float(np.sum(of["ns"])) / NS_PER_S for stage, of in calls.items() if "ns" in of}}


def grades_of(candidates: RankedLists, fold: Fold) -> dict[str, int]:
    """Return how many of the candidates have each grade, as the data says it: a target's weight, 0 for all others."""
    target = fold.target
    assert target is not None
    n_items = max(1, fold.history.n_items)
    known = target.user.astype(np.int64) * n_items + target.item
    shown = np.repeat(candidates.user.astype(np.int64), candidates.lengths) * n_items + candidates.item
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[order], shown), max(0, len(known) - 1))
    grade = np.where(known[order][at] == shown, target.weight[order][at], 0.0) if len(known) else np.zeros(len(shown))
    values, counts = np.unique(grade, return_counts=True)
    return {f"{value:g}": count for value, count in zip(values.tolist(), counts.tolist(), strict=True)}


def in_words(grades: Mapping[str, int]) -> dict[str, int]:
    """Return counts by what the grades mean: ``2 relevant``, ``4`` (no word). Where none is above 1, 1 is relevant."""
    graded = any(float(grade) > 1 for grade in grades)
    words = GRADES if graded else {0: GRADES[0], 1: "relevant"}
    named = sorted((float(grade), grade, count) for grade, count in grades.items())
    return {
        f"{grade} {words.get(int(value), '')}".strip() if value.is_integer() else grade: count
        for value, grade, count in named
    }


def balance(quality: float, mean_ms: float, weight: float) -> float:
    """Return the score quality / (latency x weight), latency being the mean in milliseconds; NaN where it has none."""
    return quality / (mean_ms * weight) if mean_ms > 0 else float("nan")


def best(values: Sequence[float], *, least: bool = False) -> int | None:
    """Return the place of the largest value (or the least), the first of equals; None where none is known."""
    known = [place for place, value in enumerate(values) if value == value]
    if not known:
        return None
    return min(known, key=lambda place: values[place] if least else -values[place])
