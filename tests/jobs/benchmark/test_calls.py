"""Lists of which only the first documents are ranked, against a plain loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recx.core.types import RankedLists
from recx.jobs.benchmark.calls import first_ranked


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 11), st.integers(0, 2**32 - 1))
def test_the_first_are_in_the_rankers_order_and_the_others_follow_in_their_own(
    lengths: list[int], k: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    items = [rng.choice(20, n, replace=False).astype(np.int32) for n in lengths]
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    item = np.concatenate([np.zeros(0, np.int32), *items])
    score = np.concatenate([np.zeros(0, np.float32), *(np.arange(n, 0, -1, dtype=np.float32) for n in lengths)])
    candidates = RankedLists(
        np.arange(len(lengths), dtype=np.int32), indptr, item, score, {"row": np.arange(len(item)) * 1.0}
    )
    head = candidates.top(k)
    ranked = head.reorder(rng.integers(0, 3, len(head)).astype(np.float32))  # with ties
    found = first_ranked(candidates, ranked, k)
    for place, mine in enumerate(items):
        first = ranked[place : place + 1].item.tolist()
        assert found[place : place + 1].item.tolist() == [*first, *mine[k:].tolist()]
    assert np.array_equal(found.indptr, candidates.indptr)
    assert np.array_equal(item[found.columns["row"].astype(np.int64)], found.item)  # columns move with their rows
    assert np.array_equal(found.score, -found.rank)
