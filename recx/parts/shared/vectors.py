"""Item vectors of length 1: the data's own embeddings, and learnt ones where an item has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.entities import Entities
from recx.core.memo import once_per_input
from recx.core.types import Bools, Doubles, Floats, Interactions
from recx.parts.shared.click_counts import pairs_within


@dataclass(frozen=True, eq=False)
class ItemVectors:
    """vector: float32 [n_items, d], of length 1, or 0 where an item has neither embedding nor co-clicks.

    learnt: which items' vectors come from co-clicks [n_items].
    """

    vector: Floats
    learnt: Bools


def item_vectors(history: Interactions, factors: int, distance: int, seed: int) -> ItemVectors:
    """Return a vector for each item; co-clicks fill in for missing embeddings.

    Items without an embedding get one from the truncated SVD of the co-click matrix. Where other items have
    embeddings, a ridge regression from those items' SVD vectors carries the learnt ones into the embeddings' space.
    """
    known = history.items.has_embedding
    if known.all() and history.items.embedding is not None:
        return ItemVectors(unit_embedding(history.items), ~known)
    learnt = unit(_svd(history, factors, distance, seed))
    has_learnt = np.abs(learnt).sum(axis=1) > 0
    if not known.any():
        return ItemVectors(learnt, has_learnt)
    vector = unit_embedding(history.items).copy()
    both, missing = known & has_learnt, ~known & has_learnt
    gram = learnt[both].T @ learnt[both] + np.eye(factors, dtype=np.float32)
    bridge = np.linalg.solve(gram, learnt[both].T @ vector[both])
    vector[missing] = unit(learnt[missing] @ bridge)
    return ItemVectors(vector, missing & (np.abs(vector).sum(axis=1) > 0))


def _svd(history: Interactions, factors: int, distance: int, seed: int) -> Floats:
    """Return the scaled left singular vectors [n_items, factors] of the co-clicks' positive log-odds (PMI).

    Factorising the shifted PMI matrix is what skip-gram with negative sampling does (Levy and Goldberg 2014).
    """
    from sklearn.decomposition import TruncatedSVD

    n = history.n_items
    counts = sparse.csr_array((n, n), dtype=np.float64)
    for apart, earlier, later in pairs_within(history, distance):
        pair = (history.item[earlier], history.item[later])
        counts += sparse.coo_array((np.full(len(earlier), 1 / apart), pair), shape=(n, n)).tocsr()
    counts = (counts + counts.T).tocsr()
    counts.setdiag(0)
    counts.eliminate_zeros()
    vectors = np.zeros((n, factors), dtype=np.float32)
    total: Doubles = counts.sum(axis=1)
    rank = min(factors, int((total > 0).sum()) - 1)
    if rank < 1:
        return vectors
    # The context side is smoothed (power 0.75) so that rare items do not get the largest entries.
    context = total**0.75
    line = np.repeat(np.arange(n), np.diff(counts.indptr))
    counts.data = np.log1p(counts.data * context.sum() / (total[line] * context[counts.indices]))
    model = TruncatedSVD(rank, random_state=seed)
    vectors[:, :rank] = model.fit_transform(counts) / np.sqrt(np.maximum(model.singular_values_, 1e-12))
    return vectors


@once_per_input
def unit_embedding(items: Entities) -> Floats:
    """Return the items' own embeddings at length 1 [n_items, d], 0 where an item has none."""
    assert items.embedding is not None
    return np.nan_to_num(unit(items.embedding))


def unit(vectors: Any) -> Floats:
    """Return the vectors [n, d] at length 1; a zero vector stays zero."""
    squares = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)  # those of 1e20 do not fit into a float32
    return np.asarray(vectors / np.maximum(np.sqrt(squares), 1e-12)[:, None], dtype=np.float32)
