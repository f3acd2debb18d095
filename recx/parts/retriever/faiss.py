"""The items nearest to the user by embedding, from a FAISS index."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recx.core.bounds import Decay, NonNegativeInt, PositiveInt, Seed, checked
from recx.core.protocols import Seen
from recx.core.similar import Similar
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.nearest import Neighbours, Search, neighbours
from recx.parts.shared.sequences import sequences
from recx.parts.shared.vectors import ItemVectors, item_vectors


@dataclass(frozen=True)
@checked("retriever")
class Faiss:
    """Ranks items by cosine similarity to the recency-weighted mean of the vectors of the user's last clicks.

    Attributes:
        index: A ``faiss.index_factory`` string, such as ``Flat`` (exact), ``HNSW32`` or ``IVF64,Flat``.
        nprobe: Number of cells that a search of an IVF index visits.
        ef_search: Size of the candidate queue of a search of an HNSW index.
        ef_construction: Size of that queue while the index is built.
        fetch: Number of items that an approximate index is asked for, for each item of a list; those that may not be
            shown are dropped.
        recall_sample: Number of users, drawn among all, whose lists are compared with exact ones
            (``retrieval/ann_recall``).
        last: Number of last clicks that represent the user.
        recency: Weight of each click relative to the next newer one.
        factors: Length of the vectors learned from co-clicks, for items without an embedding.
        distance: Largest distance between two co-clicks in a user's sequence.
        seed: Seed of the truncated SVD and of the draw of those users.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    index: str = "Flat"
    nprobe: PositiveInt = 16
    ef_search: PositiveInt = 128
    ef_construction: PositiveInt = 100
    fetch: PositiveInt = 2
    recall_sample: NonNegativeInt = 1000
    last: PositiveInt = 10
    recency: Decay = 0.7
    factors: PositiveInt = 64
    distance: PositiveInt = 5
    seed: Seed = 0
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedFaiss:
        """Build the index over all items that have a vector.

        Raises:
            InputError: FAISS does not know the index string, or cannot train the index on so few items.
        """
        vectors = item_vectors(history, self.factors, self.distance, self.seed)
        return FittedFaiss(self, vectors, neighbours(vectors.vector, Search.of(self)))


@dataclass(frozen=True, eq=False)
class FittedFaiss:
    """The fitted retriever.

    Attributes:
        settings: The settings of the fit.
        vectors: Vectors of all items.
        near: Search over these vectors.
    """

    settings: Faiss
    vectors: ItemVectors
    near: Neighbours

    def for_users(self, history: Interactions) -> FittedFaiss:
        return self

    def similar(self, item: int, k: int) -> Similar:
        """Return the items with the nearest vectors, by cosine."""
        return self.near.similar(item, k)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the nearest eligible items; the list is empty if no clicked item of the user has a vector."""
        clicks = sequences(history).weighted(requests, self.settings.last, self.settings.recency)
        query = clicks @ self.vectors.vector
        query /= np.maximum(np.linalg.norm(query, axis=1, keepdims=True), 1e-12)
        lists = self.near.lists(query, history, requests, k, self.settings.seen)
        return replace(lists, notes={"items_with_learnt_vector": int(self.vectors.learned.sum()), **lists.notes})
