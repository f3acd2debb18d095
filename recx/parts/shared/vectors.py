"""Item vectors of length 1: the embeddings of the data, and learned vectors for items without one."""

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
    """Vectors of all items.

    Attributes:
        vector: The vectors [n_items, d], of length 1, or 0 for an item with neither an embedding nor co-clicks.
        learned: Which vectors were learned from co-clicks [n_items].
    """

    vector: Floats
    learned: Bools


def item_vectors(history: Interactions, factors: int, distance: int, seed: int) -> ItemVectors:
    """Return a vector for each item; missing embeddings are learned from co-clicks.

    Items without an embedding get a vector from the truncated SVD of the co-click matrix. If other items have
    embeddings, a ridge regression fitted on those items maps the SVD vectors into the space of the embeddings.

    Args:
        history: The events, with the items' embeddings.
        factors: Length of the learned vectors.
        distance: Largest distance between two co-clicks in a user's sequence.
        seed: Seed of the SVD.
    """
    known = history.items.has_embedding
    if known.all() and history.items.embedding is not None:
        return ItemVectors(unit_embedding(history.items), ~known)
    learned = unit(_svd(history, factors, distance, seed))
    has_learned = np.abs(learned).sum(axis=1) > 0
    if not known.any():
        return ItemVectors(learned, has_learned)
    vector = unit_embedding(history.items).copy()
    both, missing = known & has_learned, ~known & has_learned
    gram = learned[both].T @ learned[both] + np.eye(factors, dtype=np.float32)
    bridge = np.linalg.solve(gram, learned[both].T @ vector[both])
    vector[missing] = unit(learned[missing] @ bridge)
    return ItemVectors(vector, missing & (np.abs(vector).sum(axis=1) > 0))


def _svd(history: Interactions, factors: int, distance: int, seed: int) -> Floats:
    """Return the scaled left singular vectors [n_items, factors] of the positive PMI matrix of the co-clicks.

    Skip-gram with negative sampling implicitly factorises a shifted PMI matrix (Levy and Goldberg 2014).
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
    # Smoothing the context (power 0.75) keeps rare items from getting the largest entries.
    context = total**0.75
    row = np.repeat(np.arange(n), np.diff(counts.indptr))
    counts.data = np.log1p(counts.data * context.sum() / (total[row] * context[counts.indices]))
    model = TruncatedSVD(rank, random_state=seed)
    vectors[:, :rank] = model.fit_transform(counts) / np.sqrt(np.maximum(model.singular_values_, 1e-12))
    return vectors


@once_per_input
def unit_embedding(items: Entities) -> Floats:
    """Return the items' embeddings scaled to length 1 [n_items, d], 0 for an item without one."""
    assert items.embedding is not None
    return np.nan_to_num(unit(items.embedding))


def unit(vectors: Any) -> Floats:
    """Return the vectors [n, d] scaled to length 1; zero vectors stay zero."""
    squares = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)  # the square of 1e20 overflows float32
    return np.asarray(vectors / np.maximum(np.sqrt(squares), 1e-12)[:, None], dtype=np.float32)
