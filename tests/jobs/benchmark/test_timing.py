from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from recx.jobs.benchmark.timing import latency, p95_interval, throughput, timed


def clock_of(*times: int) -> Iterator[int]:
    return iter(times)


def test_a_call_takes_what_the_clock_says_and_nothing_between_the_calls_counts() -> None:
    ticks = clock_of(100, 150, 1000, 1007, 5000, 5900)
    made, spent = timed(lambda one, other: one + other, [(1, 2), (3, 4), (5, 6)], lambda: next(ticks))
    assert made == [3, 7, 11]
    assert spent.tolist() == [50, 7, 900]
    assert spent.dtype == np.int64


def test_no_call_takes_no_time() -> None:
    made, spent = timed(lambda: 1, [])
    assert (made, spent.tolist()) == ([], [])


def test_percentiles_by_hand() -> None:
    # 1 to 101 ms: the p-th percentile is p + 1; the mean 51; the variance of 1..n is n (n + 1) / 12
    spent = np.random.default_rng(0).permutation(np.arange(1, 102)) * 1_000_000
    assert latency(spent) == pytest.approx(
        {"mean_ms": 51, "std_ms": math.sqrt(101 * 102 / 12), "p50_ms": 51, "p95_ms": 96, "p99_ms": 100}
    )
    # Between two calls: of 10 and 20 ms the 95th percentile lies 95 % of the way
    assert latency(np.array([20_000_000, 10_000_000]))["p95_ms"] == pytest.approx(19.5)


def test_one_call_has_no_deviation_and_none_has_nothing() -> None:
    one = latency(np.array([3_000_000]))
    assert one.pop("std_ms") != one["mean_ms"]
    assert set(one.values()) == {3.0}
    assert all(math.isnan(value) for value in latency(np.zeros(0)).values())


def test_the_interval_of_the_95th_percentile_covers_it_as_often_as_it_says() -> None:
    rng, n, covered = np.random.default_rng(0), 150, 0
    true = -math.log(0.05)  # of an exponential distribution
    for _ in range(1000):
        low, high = p95_interval(rng.exponential(size=n) * 1e6).values()
        covered += low <= true <= high
    assert 0.94 < covered / 1000 < 0.985  # at least 95 %, and hardly more


def test_an_end_that_too_few_calls_lie_beyond_is_unknown() -> None:
    # of 20 calls all may lie below the percentile with probability 0.95^20 = 0.36, so that the largest is no upper end;
    # fewer than 17 do with a probability of 0.0159, fewer than 18 with 0.0755
    low, high = p95_interval(np.arange(1, 21) * 1_000_000).values()
    assert low == 17.0
    assert math.isnan(high)
    assert all(math.isnan(end) for end in p95_interval(np.zeros(0)).values())


def test_throughput_by_hand() -> None:
    # 4 queries with 100 documents in 2 seconds
    assert throughput(4, 100, 2e9) == {"queries_per_s": 2.0, "documents_per_s": 50.0}
    assert all(math.isnan(value) for value in throughput(4, 100, 0.0).values())


def test_the_deviation_of_one_call_is_unknown() -> None:
    assert math.isnan(latency(np.array([5]))["std_ms"])
