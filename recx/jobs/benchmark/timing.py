"""Times calls one at a time, and derives latency percentiles and throughput."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from recx.core.types import Array, Longs

T = TypeVar("T")
NS_PER_MS, NS_PER_S = 1e6, 1e9
FEWEST = {95: 20, 99: 100}
"""Percentile -> the number of calls from which at least one lies above it."""


def timed(
    call: Callable[..., T], arguments: Sequence[tuple[Any, ...]], clock: Callable[[], int] = time.perf_counter_ns
) -> tuple[list[T], Longs]:
    """Time calls one at a time; between the two readings of the clock there is the call and nothing else.

    Args:
        call: What to time.
        arguments: The arguments of each call.
        clock: Returns nanoseconds.

    Returns:
        What each call returned, and the nanoseconds that it took [n].
    """
    results: list[T] = []
    nanoseconds: list[int] = []
    for given in arguments:
        start = clock()
        result = call(*given)
        stop = clock()
        results.append(result)
        nanoseconds.append(stop - start)
    return results, np.array(nanoseconds, dtype=np.int64)


def latency(nanoseconds: Array) -> dict[str, float]:
    """Return statistics of latencies in milliseconds.

    Percentiles are interpolated linearly between the two nearest calls (Hyndman and Fan 1996, type 7: NumPy's default).

    Args:
        nanoseconds: Of each call [n].

    Returns:
        ``mean_ms``, ``std_ms`` (n - 1; NaN for one call), ``p50_ms``, ``p95_ms`` and ``p99_ms``; NaN without calls.
    """
    names = ("mean_ms", "std_ms", "p50_ms", "p95_ms", "p99_ms")
    if not len(nanoseconds):
        return dict.fromkeys(names, math.nan)
    ms = nanoseconds / NS_PER_MS
    std = float(ms.std(ddof=1)) if len(ms) > 1 else math.nan
    return dict(zip(names, (float(ms.mean()), std, *np.percentile(ms, [50, 95, 99]).tolist()), strict=True))


def p95_interval(nanoseconds: Array) -> dict[str, float]:
    """Return the ends of a 95 % interval of the 95th percentile: ``p95_low_ms`` and ``p95_high_ms``.

    They are order statistics: how many of n calls lie below the percentile is binomial, whatever their distribution
    (David and Nagaraja, Order Statistics, 2003, section 7.1). NaN where too few calls lie beyond it for an end.

    Args:
        nanoseconds: Of each call [n].
    """
    from scipy.stats import binom

    n, ms = len(nanoseconds), np.sort(nanoseconds) / NS_PER_MS
    ranks = (int(binom.ppf(0.025, n, 0.95)), int(binom.ppf(0.975, n, 0.95)) + 1) if n else (0, 1)
    ends = [float(ms[rank - 1]) if 1 <= rank <= n else math.nan for rank in ranks]
    return dict(zip(("p95_low_ms", "p95_high_ms"), ends, strict=True))


def throughput(queries: int, documents: int, nanoseconds: float) -> dict[str, float]:
    """Return ``queries_per_s`` and ``documents_per_s``.

    Args:
        queries: How many were served.
        documents: How many documents they had together.
        nanoseconds: What all calls took together; where it is 0, the throughput is NaN.
    """
    seconds = nanoseconds / NS_PER_S if nanoseconds > 0 else math.nan
    return {"queries_per_s": queries / seconds, "documents_per_s": documents / seconds}


def ms(value: float) -> str:
    """Return milliseconds with three significant digits."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 1e-4 else f"{value:.7f}"
