"""Items whose text is near the user's, and near the texts of those whom they answered before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from recx.core.bounds import PositiveInt, Unit, checked
from recx.core.protocols import Encoder, FittedEncoder, Seen
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.nearest import Neighbours, Search, has_vector
from recx.parts.shared.texts import encoded, past_tasks, scaled_rows, texts_of, unit_rows
from recx.parts.shared.top_k import Eligibility


@dataclass(frozen=True)
@checked("retriever")
class Text:
    """Compares the vectors that an encoder makes of texts, by cosine; for users who are tasks or queries.

    encoder: turns a text into a vector. past: how much of an item's vector is the mean of the past texts that it
    answered (0: its own text alone, 1: theirs alone); an item without a past has its own text.
    index: a ``faiss.index_factory`` string, such as ``Flat`` (exact; the only one for sparse vectors), ``HNSW32``.
    nprobe, ef_search: how much of an IVF or HNSW index a search visits.
    """

    encoder: Encoder
    past: Unit = 0.7
    index: str = "Flat"
    nprobe: PositiveInt = 16
    ef_search: PositiveInt = 128
    seen: Seen = "drop"

    def fit(self, history: Interactions) -> FittedText:
        """Put the vectors of all items that have one into the index.

        Raises:
            InputError: users or items have no texts, or the index cannot be built (see ``recx.parts.shared.nearest``).
        """
        known = encoded(history, self.encoder)
        answered = past_tasks(history, self.encoder)
        own = np.where(has_vector(answered), 1 - self.past, 1)
        vectors = unit_rows(scaled_rows(known.items, own) + answered * np.float32(self.past))
        near = Search(self.index, self.nprobe, self.ef_search).over(vectors)
        return FittedText(self, known.fitted, near, {"items_without_vector": history.n_items - len(near.listed)})


@dataclass(frozen=True, eq=False)
class FittedText:
    """fitted: the encoder that knows the words. near: finds the nearest items."""

    settings: Text
    fitted: FittedEncoder
    near: Neighbours
    notes: Mapping[str, float]

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the nearest items that may be shown; a user without a known word gets an empty list."""
        query = self.fitted.encode(texts_of(history.users, "users")[requests.user])
        lists = self.near.lists(query, Eligibility(history, self.settings.seen), requests, k)
        return replace(lists, notes={**self.notes, "requests_without_vector": int((~has_vector(query)).sum())})
