"""Clicks of two groups of users, each on the items of its own group."""

from __future__ import annotations

import numpy as np
import pytest

from recx.plugin import Entities, Interactions, indptr_of

USERS, ITEMS = 60, 24


@pytest.fixture
def history() -> Interactions:
    """Even users click even items, odd ones odd items; user 5 has no event and item 7 no click. Ids fall."""
    rng = np.random.default_rng(0)
    lists = [2 * rng.choice(ITEMS // 2, size=rng.integers(3, 8), replace=False) + user % 2 for user in range(USERS)]
    lists = [clicked[clicked != 7] for clicked in lists]
    lists[5] = lists[5][:0]
    item = np.concatenate(lists).astype(np.int32)
    indptr = indptr_of(np.array([len(clicked) for clicked in lists]))
    weight = rng.integers(1, 6, len(item)).astype(np.float32)
    return Interactions(indptr, item, None, weight, Entities(200 - np.arange(USERS)), Entities(np.arange(ITEMS)))
