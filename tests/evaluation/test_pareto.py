"""The Pareto front: by a slow loop, and by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from recx.core.types import Doubles
from recx.evaluation.pareto import front


def slow_front(points: Doubles) -> list[bool]:
    kept = []
    for one in points.tolist():
        dominated = False
        for other in points.tolist():
            no_worse = all(o <= p for o, p in zip(other, one, strict=True))
            better = any(o < p for o, p in zip(other, one, strict=True))
            dominated |= no_worse and better
        kept.append(not dominated)
    return kept


@given(arrays(np.float64, st.tuples(st.integers(0, 8), st.just(3)), elements=st.integers(-3, 3).map(float)))
def test_the_front_is_that_of_a_slow_loop(points: Doubles) -> None:
    assert front(points).tolist() == slow_front(points)
    assert front(points).any() or not len(points)


def test_the_front_of_three_rankers_by_hand() -> None:
    # (-quality, p95, cost): the second is as good as the first but slower; the third is worst and free
    points = np.array([[-0.7, 5.0, 1.0], [-0.7, 6.0, 1.0], [-0.1, 9.0, 0.0]])
    assert front(points).tolist() == [True, False, True]
    assert front(np.array([[-0.7, 5.0, 1.0], [-0.7, 5.0, 1.0]])).tolist() == [True, True]
    assert front(np.array([[-0.7, np.nan, 0.0], [-0.1, 1.0, 0.0]])).tolist() == [False, True]
