"""Lists of the largest sums of weights against a dense product, and the clicks that they start from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Interactions, Requests
from recx.parts.shared.item_weights import ItemWeights, distinct_clicks


def world_of(clicks: Sequence[Sequence[int]], n_items: int) -> Interactions:
    """Return a history of each user's items, oldest first."""
    rows = [(user, item) for user, items in enumerate(clicks) for item in items]
    frame = pd.DataFrame(rows, columns=["user", "item"])
    entities = {"users": Entities(np.arange(len(clicks))), "items": Entities(np.arange(n_items))}
    return Interactions.from_frame(frame, order="given", duplicates="keep", **entities)


def test_an_item_clicked_twice_counts_once() -> None:
    world = world_of([[3, 1, 3], [], [0]], 5)
    clicks = distinct_clicks(world)
    assert clicks.indptr.tolist() == [0, 2, 2, 3]
    assert clicks.item.tolist() == [1, 3, 0]
    borders, users = clicks.by_item(world.n_items)
    assert borders.tolist() == [0, 1, 2, 2, 3, 3]
    assert users.tolist() == [2, 0, 0]


def test_lists_are_the_largest_sums_of_the_weights() -> None:
    rng = np.random.default_rng(1)
    world = world_of(rng.integers(0, 40, (30, 12)).tolist(), 40)
    dense = np.where(rng.random((40, 40)) < 0.3, rng.random((40, 40)), 0).astype(np.float32)
    np.fill_diagonal(dense, 0)
    clicked = np.zeros((30, 40), dtype=np.float32)
    clicked[world.user, world.item] = 1
    scores = clicked @ dense
    fitted = ItemWeights("retriever=x", sparse.csr_array(dense), "drop")
    lists = fitted.retrieve(world, Requests(np.arange(30, dtype=np.int32)), 5)
    for user in range(30):
        allowed, rows = np.where(clicked[user] == 0, scores[user], 0), slice(5 * user, 5 * user + 5)
        assert lists.item[rows].tolist() == np.argsort(-allowed, kind="stable")[:5].tolist()
        assert lists.score[rows] == pytest.approx(np.sort(allowed)[:-6:-1], rel=1e-5)
    kept = ItemWeights("retriever=x", fitted.weights, "keep").retrieve(world, Requests(np.array([0], np.int32)), 40)
    assert len(kept.item) == (scores[0] > 0).sum()


def test_similar_items_are_those_of_the_largest_weights() -> None:
    fitted = ItemWeights("retriever=x", sparse.csr_array(np.array([[0, 0.2, 0.7], [0, 0, 0], [1, 0, 0]])), "drop")
    assert fitted.similar(0, 5).item.tolist() == [2, 1]
    assert fitted.similar(1, 5).item.tolist() == []


def test_weights_of_other_items_are_refused() -> None:
    fitted = ItemWeights("retriever=slim", sparse.csr_array((2, 2)), "drop")
    world = world_of([[0]], 3)
    with pytest.raises(InputError, match="retriever=slim was fitted on 2 items, and this history has 3"):
        fitted.retrieve(world, Requests(np.array([0], dtype=np.int32)), 1)
