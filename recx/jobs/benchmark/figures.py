"""From measurements to figures: latency, throughput, memory; grades as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from recx.core.types import Fold, Longs, RankedLists
from recx.jobs.benchmark.timing import FEWEST, NS_PER_MS, NS_PER_S, latency, p95_interval, throughput

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
    figures["time/first_call_s"] = (ranker["first_ns"] + retriever.get("first_ns", 0)) / NS_PER_S
    figures |= _of_latencies(latencies, len(lists))
    sizes = batches_of(lists, ranker, retriever)
    if len(sizes) > 1:
        figures |= {f"throughput/batch_{name}": sizes[-1][name] for name in ("queries_per_s", "documents_per_s")}
    return {**figures, "memory/peak_mb": (ranker["memory"] + retriever.get("memory", 0.0)) / 1e6}


def _of_latencies(ns: Longs, documents: int) -> dict[str, float]:
    """Return the ``latency/`` and ``throughput/`` figures of single calls, which took ``ns`` [n]."""
    rates = throughput(len(ns), documents, float(ns.sum()))
    of_calls = {f"latency/{name}": value for name, value in {**latency(ns), **p95_interval(ns)}.items()}
    return {**of_calls, **{f"throughput/{name}": value for name, value in rates.items()}}


def budgets_of(ranker: Measured, retriever: Measured) -> dict[int, dict[str, float]]:
    """Return documents per query -> how many ``documents`` were ranked, and the figures of single calls if timed."""
    found: dict[int, dict[str, float]] = {}
    for k, made in ranker.get("budgets", {}).items():
        ns = latencies_of(made, retriever)
        found[int(k)] = {"documents": made["documents"]} | ({} if ns is None else _of_latencies(ns, made["documents"]))
    return found


def batches_of(lists: RankedLists, ranker: Measured, retriever: Measured) -> list[dict[str, float]]:
    """Return the figures of each number of queries per call, the smallest, 1, first; [] if nothing was timed.

    Args:
        lists: What the ranker returned.
        ranker: What was measured of it.
        retriever: What was measured of retrieving.

    Returns:
        ``queries_per_call``, ``calls``, ``ms_per_query`` (all calls over all queries), ``call_p50_ms`` and
        ``call_p95_ms`` (how long a query waits for its call, whose last one may have fewer queries and is left out;
        NaN with fewer calls than a percentile needs), ``queries_per_s`` and ``documents_per_s``.
    """
    single = latencies_of(ranker, retriever)
    if single is None or not len(single):
        return []
    n, by_size = lists.n_lists, {1: single}
    for size, ns in ranker["batches"].items():
        others = retriever.get("batches", {})
        if not retriever or size in others:
            by_size[int(size)] = np.asarray(ns) + np.asarray(others.get(size, 0))
    found = []
    for size, ns in sorted(by_size.items()):
        whole, total = latency(ns[: n // size]), float(ns.sum())
        p95 = whole["p95_ms"] if n // size >= FEWEST[95] else math.nan
        figures = {"queries_per_call": size, "calls": len(ns), "ms_per_query": total / NS_PER_MS / n}
        waits = {"call_p50_ms": whole["p50_ms"], "call_p95_ms": p95}
        found.append({**figures, **waits, **throughput(n, len(lists), total)})
    return found


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
