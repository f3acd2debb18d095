"""Items whose text is similar to the user's, or to the past texts that they answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recx.core.bounds import NonNegativeInt, PositiveInt, Seed, Unit, checked
from recx.core.protocols import Encoder, FittedEncoder, Seen
from recx.core.similar import Similar
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.nearest import Neighbours, Search, has_vector, neighbours
from recx.parts.shared.texts import encoded, past_tasks, scaled_rows, texts_of, unit_rows


@dataclass(frozen=True)
@checked("retriever")
class Text:
    """Ranks items by the cosine similarity of text vectors, for users that are tasks or queries.

    Attributes:
        encoder: Encodes texts as vectors.
        past: Weight in an item's vector of the mean of the past texts that it answered (0: only its own text, 1: only
            past texts); an item without past texts has the vector of its own text.
        index: A ``faiss.index_factory`` string, such as ``HNSW32`` or ``Flat`` (exact; required for sparse vectors).
        nprobe: Number of cells that a search of an IVF index visits.
        ef_search: Size of the candidate queue of a search of an HNSW index.
        ef_construction: Size of that queue while the index is built.
        fetch: Number of items that an approximate index is asked for, for each item of a list; those that may not be
            shown are dropped.
        recall_sample: Number of users, drawn among all, whose lists are compared with exact ones
            (``retrieval/ann_recall``).
        seed: Seed of that draw.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    encoder: Encoder
    past: Unit = 0.7
    index: str = "Flat"
    nprobe: PositiveInt = 16
    ef_search: PositiveInt = 128
    ef_construction: PositiveInt = 100
    fetch: PositiveInt = 2
    recall_sample: NonNegativeInt = 1000
    seed: Seed = 0
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedText:
        """Build the index over all items that have a vector.

        Raises:
            InputError: Users or items have no texts, or the index cannot be built (see ``recx.parts.shared.nearest``).
        """
        known = encoded(history, self.encoder)
        answered = past_tasks(history, self.encoder)
        own = np.where(has_vector(answered), 1 - self.past, 1)
        vectors = unit_rows(scaled_rows(known.items, own) + answered * np.float32(self.past))
        return FittedText(self, known.fitted, neighbours(vectors, Search.of(self)))


@dataclass(frozen=True, eq=False)
class FittedText:
    """The fitted retriever.

    Attributes:
        settings: The settings of the fit.
        fitted: The encoder, fitted on the known texts.
        near: Search over the items' vectors.
    """

    settings: Text
    fitted: FittedEncoder
    near: Neighbours

    def for_users(self, history: Interactions) -> FittedText:
        return self

    def similar(self, item: int, k: int) -> Similar:
        """Return the items with the nearest vectors, by cosine."""
        return self.near.similar(item, k)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the nearest eligible items; a user without a known word gets an empty list."""
        query = self.fitted.encode(texts_of(history.users, "users")[requests.user])
        return self.near.lists(query, history, requests, k, self.settings.seen)
