"""Nearest items to the user by embedding, found by a FAISS index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from recx.core.bounds import Decay, PositiveInt, Seed, checked
from recx.core.protocols import Seen
from recx.core.types import Floats, Interactions, RankedLists, Requests
from recx.parts.shared.click_counts import last_clicks
from recx.parts.shared.nearest import Neighbours, Search, has_vector
from recx.parts.shared.top_k import Eligibility
from recx.parts.shared.vectors import item_vectors


@dataclass(frozen=True)
@checked("retriever")
class Faiss:
    """The user is the recency-weighted mean of the vectors of the last clicks; items come by cosine.

    index: a ``faiss.index_factory`` string, such as ``Flat`` (exact), ``HNSW32`` or ``IVF64,Flat``.
    nprobe, ef_search: how much of an IVF or HNSW index a search visits.
    last, recency: how many last clicks make the user, and how much each older one counts of the next.
    factors, distance: size of the vectors learnt from co-clicks at most ``distance`` places apart, for items that have
    no embedding.
    """

    index: str = "Flat"
    nprobe: PositiveInt = 16
    ef_search: PositiveInt = 128
    last: PositiveInt = 10
    recency: Decay = 0.7
    factors: PositiveInt = 64
    distance: PositiveInt = 5
    seed: Seed = 0
    seen: Seen = "drop"

    def fit(self, history: Interactions) -> FittedFaiss:
        """Build the index over all items that have a vector.

        Raises:
            InputError: FAISS does not know the index string, or cannot train it on so few items.
        """
        vectors = item_vectors(history, self.factors, self.distance, self.seed)
        near = Search(self.index, self.nprobe, self.ef_search).over(vectors.vector)
        notes: dict[str, float] = {
            "items_with_learnt_vector": int(vectors.learnt.sum()),
            "items_without_vector": history.n_items - len(near.listed),
        }
        return FittedFaiss(self, vectors.vector, near, notes)


@dataclass(frozen=True, eq=False)
class FittedFaiss:
    """vector: float32 [n_items, d]. near: finds the nearest of them."""

    settings: Faiss
    vector: Floats
    near: Neighbours
    notes: Mapping[str, float]

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the nearest items that may be shown; a user none of whose clicks has a vector gets an empty list."""
        query = self._users(history, requests)
        lists = self.near.lists(query, Eligibility(history, self.settings.seen), requests, k)
        return replace(lists, notes={**self.notes, "requests_without_vector": int((~has_vector(query)).sum())})

    def _users(self, history: Interactions, block: Requests) -> Floats:
        query = last_clicks(history, block, self.settings.last, self.settings.recency) @ self.vector
        query /= np.maximum(np.linalg.norm(query, axis=1, keepdims=True), 1e-12)
        return np.ascontiguousarray(query, dtype=np.float32)
