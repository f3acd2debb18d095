"""The heap of the best items, held against ``sorted``."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.parts.shared.heap import push, sort_heap

NUMBER = st.integers(0, 9)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@given(
    scores=st.lists(st.sampled_from([-2.0, 0.0, 0.5, 3.0]), max_size=30), k=st.integers(1, 12), seed=st.integers(0, 9)
)
def test_the_best_are_kept_and_equal_scores_go_by_number(scores: list[float], k: int, seed: int, kind: type) -> None:
    numbers = np.random.default_rng(seed).permutation(len(scores))
    score, item, size = np.zeros(k, dtype=kind), np.zeros(k, dtype=np.int32), 0
    for value, number in zip(scores, numbers, strict=True):
        size = push(score, item, size, k, kind(value), number)
    sort_heap(score, item, size)
    expected = sorted(zip(scores, numbers.tolist(), strict=True), key=lambda pair: (-pair[0], pair[1]))[:k]
    assert list(zip(score[:size].tolist(), item[:size].tolist(), strict=True)) == expected
