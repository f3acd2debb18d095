"""From measurements to figures: latency, throughput, memory; grades as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from recx.core.types import Fold, Longs, RankedLists
from recx.jobs.benchmark.timing import NS_PER_S, latency, throughput

GRADES: Mapping[float, str] = {0: "not relevant", 1: "weakly relevant", 2: "relevant", 3: "highly relevant"}
Measured = Mapping[str, Any]
"""What ``recx.jobs.benchmark.measured`` measured of a ranker or a retriever; {} where it was not measured."""


def latencies_of(ranker: Measured, retriever: Measured) -> Longs | None:
    """Return the nanoseconds that each query took [n], retrieval included if it was measured; None if not timed."""
    if "ns" not in ranker:
        return None
    latencies: Longs = np.asarray(ranker["ns"]) + np.asarray(retriever.get("ns", 0))
    return latencies


def figures_of(lists: RankedLists, ranker: Measured, retriever: Measured) -> dict[str, float]:
    """Return the ``latency/``, ``throughput/``, ``memory/`` and ``time/`` figures that were measured."""
    figures = {"memory/model_mb": ranker["size"] / 1e6, "time/fit_s": ranker["fit_s"]}
    latencies = latencies_of(ranker, retriever)
    if latencies is None:
        return figures
    totals = {"": float(latencies.sum())}
    if "batch_ns" in ranker:
        totals["batch_"] = float(ranker["batch_ns"] + retriever.get("batch_ns", 0))
    figures["time/first_call_s"] = (ranker["first_ns"] + retriever.get("first_ns", 0)) / NS_PER_S
    figures |= {f"latency/{name}": value for name, value in latency(latencies).items()}
    for kind, total in totals.items():
        rates = throughput(lists.n_lists, len(lists), total)
        figures |= {f"throughput/{kind}{name}": value for name, value in rates.items()}
    return {**figures, "memory/peak_mb": (ranker["memory"] + retriever.get("memory", 0.0)) / 1e6}


def seconds_of(chain: Mapping[str, float], ranker: Measured, retriever: Measured) -> dict[str, float]:
    """Return a chain's seconds by stage; a measured stage gets the time of its calls, without the warm-up."""
    seconds = {stage: took for stage, took in chain.items() if stage != "rank"}
    if "fit_ranker" in chain:
        seconds["fit_ranker"] = ranker["fit_s"]
    calls = {"retrieve": retriever, "rank": ranker}
    return {**seconds, **{stage: float(np.sum(of["ns"])) / NS_PER_S for stage, of in calls.items() if "ns" in of}}


def grades_of(candidates: RankedLists, fold: Fold) -> dict[str, int]:
    """Return how many candidates have each grade: the weight of a target, 0 for all others."""
    target = fold.target
    assert target is not None
    n_items = max(1, fold.history.n_items)
    known = target.user.astype(np.int64) * n_items + target.item
    shown = np.repeat(candidates.user.astype(np.int64), candidates.lengths) * n_items + candidates.item
    grade = np.zeros(len(shown))
    if len(known):
        order = np.argsort(known, kind="stable")
        at = order[np.minimum(np.searchsorted(known, shown, sorter=order), len(known) - 1)]
        grade = np.where(known[at] == shown, target.weight[at], 0.0)
    values, counts = np.unique(grade, return_counts=True)
    return {f"{value:g}": count for value, count in zip(values.tolist(), counts.tolist(), strict=True)}


def grades_as_text(grades: Mapping[str, int]) -> dict[str, int]:
    """Return counts by the meaning of grades: ``2 relevant``, ``4`` (no name). If none is above 1, 1 is relevant."""
    graded = any(float(grade) > 1 for grade in grades)
    names: Mapping[float, str] = GRADES if graded else {0: GRADES[0], 1: GRADES[2]}
    return {f"{grade} {names.get(float(grade), '')}".strip(): grades[grade] for grade in sorted(grades, key=float)}


def balance(quality: float, mean_ms: float, weight: float) -> float:
    """Return the score quality / (latency x weight), where latency is the mean in milliseconds; NaN without latency."""
    return quality / (mean_ms * weight) if mean_ms > 0 else math.nan
