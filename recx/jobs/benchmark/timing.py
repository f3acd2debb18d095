"""Times calls one at a time, and what follows from the times: percentiles and throughput."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from recx.core.types import Array, Longs

T = TypeVar("T")
NS_PER_MS, NS_PER_S = 1e6, 1e9
FEWEST = {95: 20, 99: 100}
"""Percentile -> how many calls it takes for one of them to lie above it."""


def timed(
    call: Callable[..., T], arguments: Sequence[tuple[Any, ...]], clock: Callable[[], int] = time.perf_counter_ns
) -> tuple[list[T], Longs]:
    """Return what each call makes and how many nanoseconds it took [n], one call at a time.

    Between the two looks at the clock there is the call and nothing else.
    """
    made: list[T] = []
    spent: list[int] = []
    for given in arguments:
        start = clock()
        outcome = call(*given)
        stop = clock()
        made.append(outcome)
        spent.append(stop - start)
    return made, np.array(spent, dtype=np.int64)


def latency(spent: Array) -> dict[str, float]:
    """Return milliseconds of nanoseconds [n]: mean_ms, std_ms (n - 1; NaN for one call), p50_ms, p95_ms and p99_ms.

    Percentiles are linear between the two nearest calls (Hyndman and Fan 1996, type 7: NumPy's default).
    """
    if not len(spent):
        return {f"{name}_ms": float("nan") for name in ("mean", "std", "p50", "p95", "p99")}
    ms = spent / NS_PER_MS
    p50, p95, p99 = np.percentile(ms, [50, 95, 99]).tolist()
    std = float(ms.std(ddof=1)) if len(ms) > 1 else float("nan")
    return {"mean_ms": float(ms.mean()), "std_ms": std, "p50_ms": p50, "p95_ms": p95, "p99_ms": p99}


def throughput(queries: int, documents: int, spent: float) -> dict[str, float]:
    """Return queries_per_s and documents_per_s: counts by the nanoseconds that all calls took together."""
    seconds = spent / NS_PER_S
    if not seconds > 0:
        return {"queries_per_s": float("nan"), "documents_per_s": float("nan")}
    return {"queries_per_s": queries / seconds, "documents_per_s": documents / seconds}
