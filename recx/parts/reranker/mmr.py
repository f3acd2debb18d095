"""Maximal marginal relevance: lists whose items are relevant and unlike one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recx.core.bounds import PositiveInt, Unit, checked
from recx.core.compiled import compiled
from recx.core.errors import InputError
from recx.core.memo import once_per_input
from recx.core.protocols import Encoder
from recx.core.ragged import blocks
from recx.core.system.threads import side_by_side
from recx.core.types import Doubles, Floats, Interactions, Ints, Longs, RankedLists, Requests, Vectors
from recx.parts.reranker.co_clicks import clicked_together, order_by_co_clicks
from recx.parts.reranker.marginal import next_place, rest
from recx.parts.reranker.places import LISTS
from recx.parts.reranker.relevance import relevance
from recx.parts.shared.texts import texts_of
from recx.parts.shared.vectors import unit_embedding


@dataclass(frozen=True)
@checked("reranker")
class MMR:
    """Fills the places one by one with the item of the largest marginal relevance (Carbonell and Goldstein 1998).

    That of item i, after the items S, is ``relevance * r(i) - (1 - relevance) * max over j in S of cos(i, j)``, where
    r is the ranker's score as a share of its range in the list, from 0 to 1, and a cosine below 0 counts as 0. The
    items that have no place left follow in the ranker's order.

    With ``co_clicks``, the cosine is that of the sets of users who clicked the items before the request: the number of
    those who clicked both, near to each other, over the square root of the product of the numbers of each.

    Attributes:
        relevance: Share of relevance; 1: the ranker's order.
        similarity: What is compared: ``embedding``, the data's vectors of the items; ``text``, vectors of their texts;
            ``co_clicks``, who clicked them.
        encoder: Encodes the texts.
        distance: Largest distance between two items in a user's sequence, in which each stands where it was clicked
            first, that counts as clicked by the same user (``co_clicks``).
        top: Number of places that are filled so.
    """

    encoder: Encoder
    relevance: Unit = 0.7
    similarity: Literal["embedding", "text", "co_clicks"] = "embedding"
    distance: PositiveInt = 10
    top: PositiveInt = 20

    def for_users(self, history: Interactions) -> MMR:
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates with similar ones further apart.

        Raises:
            InputError: The items have no embeddings or no texts, or no user clicked two of them.
        """
        relevant, score = relevance(candidates), np.empty(len(candidates))
        if self.similarity == "co_clicks":
            co_clicked = clicked_together(history, self.distance)
            order_by_co_clicks(co_clicked, candidates, requests, relevant, self.relevance, self.top, score)
            return candidates.reorder(score)
        vectors = self._vectors(history)
        dense, sparse = _as_arrays(vectors)

        def order(piece: tuple[int, int]) -> None:
            start, stop = piece
            borders = candidates.indptr[start : stop + 1]
            width = vectors.shape[1]
            _order(borders, candidates.item, relevant, self.relevance, self.top, dense, *sparse, width, score)

        side_by_side(order, blocks(candidates.n_lists, LISTS))
        return candidates.reorder(score)

    def _vectors(self, history: Interactions) -> Vectors:
        if self.similarity == "text":
            return _text_vectors(history, self.encoder)
        if history.items.embedding is None:
            raise InputError(
                "reranker.similarity=embedding, and the items of this data have no embeddings: write "
                "reranker.similarity=text, if they have texts, or co_clicks, or choose another reranker"
            )
        return unit_embedding(history.items)


@once_per_input
def _text_vectors(history: Interactions, encoder: Encoder) -> Vectors:
    """Return the vectors of the items' texts [n_items, d]."""
    distinct, place = np.unique(texts_of(history.items, "items"), return_inverse=True)
    return encoder.fit(distinct).encode(distinct)[place]


def _as_arrays(vectors: Vectors) -> tuple[Floats, tuple[Longs, Ints, Floats]]:
    """Return dense vectors, or empty ones, and the arrays of sparse ones, or empty ones."""
    if isinstance(vectors, np.ndarray):
        return vectors, (np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))
    data = vectors.data.astype(np.float32, copy=False)
    return np.zeros((0, 0), np.float32), (vectors.indptr.astype(np.int64), vectors.indices.astype(np.int32), data)


@compiled("score")
def _order(
    borders: Longs,
    item: Ints,
    relevant: Doubles,
    share: float,
    top: int,
    dense: Floats,
    indptr: Longs,
    column: Ints,
    value: Floats,
    width: int,
    score: Doubles,
) -> None:
    """Write the marginal relevance of each item when it got its place into ``score`` [n_rows].

    It never rises along the places, since each further item can only lower that of the others.

    Args:
        borders: Borders of the lists [n_lists + 1].
        item: The item of each row.
        relevant: The relevance of each row.
        share: Share of the relevance.
        top: Number of places that are filled.
        dense: Vectors of the items [n_items, width], or none if they are sparse.
        indptr: Borders of the sparse vectors [n_items + 1].
        column: Where the numbers of the sparse vectors stand.
        value: These numbers.
        width: Length of a vector.
        score: Takes the scores.
    """
    chosen = np.zeros(width, dtype=np.float32)
    for at in range(len(borders) - 1):
        start, stop = borders[at], borders[at + 1]
        nearest, done = np.zeros(stop - start), np.zeros(stop - start, dtype=np.bool_)
        for _ in range(min(top, stop - start)):
            best = next_place(relevant[start:stop], nearest, share, done, score[start:stop])
            own = item[start + best]
            if len(dense) > 0:
                chosen[:] = dense[own]
            else:
                for entry in range(indptr[own], indptr[own + 1]):
                    chosen[column[entry]] = value[entry]
            for place in range(stop - start):
                if not done[place]:
                    other = item[start + place]
                    product = 0.0
                    if len(dense) > 0:
                        product = _product(dense[other], chosen)
                    else:
                        for entry in range(indptr[other], indptr[other + 1]):
                            product += value[entry] * chosen[column[entry]]
                    nearest[place] = max(nearest[place], product)
            if len(dense) == 0:
                for entry in range(indptr[own], indptr[own + 1]):
                    chosen[column[entry]] = 0
        rest(relevant[start:stop], done, score[start:stop])


@compiled()
def _product(one: Floats, other: Floats) -> float:
    """Return the product of two vectors [d], in four sums: an addition need not wait for the one before it."""
    a = b = c = rest = np.float32(0)
    whole = len(one) - len(one) % 4
    for at in range(0, whole, 4):
        a += one[at] * other[at]
        b += one[at + 1] * other[at + 1]
        c += one[at + 2] * other[at + 2]
        rest += one[at + 3] * other[at + 3]
    for at in range(whole, len(one)):
        rest += one[at] * other[at]
    return float((a + b) + (c + rest))
