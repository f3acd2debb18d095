"""Clicks of two groups of users, each on the items of its own group."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from recx.plugin import Doubles, Entities, Interactions, indptr_of

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


@pytest.fixture(scope="session")
def dense_layers() -> Callable[[Doubles, Doubles, int], list[Doubles]]:
    """A textbook propagation."""
    return _dense_layers


def _dense_layers(edges: Doubles, vectors: Doubles, layers: int) -> list[Doubles]:
    """Return the vectors after each layer, node by node (equation 7 of the paper)."""
    n_users, n_items = edges.shape
    found = [vectors]
    for _ in range(layers):
        last, new = found[-1], np.zeros_like(vectors)
        for u in range(n_users):
            for i in range(n_items):
                if edges[u, i]:
                    norm = edges[u, i] / np.sqrt(edges[u].sum() * edges[:, i].sum())
                    new[u] += norm * last[n_users + i]
                    new[n_users + i] += norm * last[u]
        found.append(new)
    return found
