"""Score and rank of each candidate in its retriever's list, and the length of the list.

Known: what the retriever knows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import NonNegativeFloat, checked
from recx.core.types import Floats, Interactions, RankedLists, Requests
from recx.parts.feature.rows import share_of_largest


@dataclass(frozen=True)
class Score:
    """Retrieval score divided by the largest of the list, comparable across users; 0 if the source lacks the item.

    Attributes:
        source: Name of a source of a union, or None for the score of the list itself.
    """

    source: str | None = None

    def fit(self, history: Interactions) -> Score:
        return self  # the history decides nothing

    def __call__(self, candidates: RankedLists, requests: Requests) -> Floats:
        return share_of_largest(_column(candidates, self.source, "score"), candidates)


@dataclass(frozen=True)
@checked("feature")
class Rank:
    """1 / (smoothing + rank in the list); 0 if the source lacks the item.

    The weight of a rank in reciprocal rank fusion: Cormack, Clarke, Büttcher, SIGIR 2009, with a smoothing of 60.

    Attributes:
        source: Name of a source of a union, or None for the rank in the list itself.
        smoothing: Number added to the rank.
    """

    source: str | None = None
    smoothing: NonNegativeFloat = 10.0

    def fit(self, history: Interactions) -> Rank:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Floats:
        rank = _column(candidates, self.source, "rank")
        return np.where(rank > 0, 1 / (np.float32(self.smoothing) + rank), 0).astype(np.float32)


@dataclass(frozen=True)
class ListLength:
    """The logarithm of the number of candidates in the list: of two items in a short list, each is chosen more often.

    It is the same for all of a list, so it tells a probability (``loss=logistic``) and never an order within the list.
    """

    def fit(self, history: Interactions) -> ListLength:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Floats:
        return np.repeat(np.log(np.maximum(candidates.lengths, 1)), candidates.lengths).astype(np.float32)


def _column(candidates: RankedLists, source: str | None, kind: str) -> Floats:
    """Return a column of the list itself, or of a source: 0 where it is NaN, all 0 if the retriever has no such one."""
    if source is None:
        return candidates.score if kind == "score" else candidates.rank.astype(np.float32)
    column = candidates.columns.get(f"{source}_{kind}")
    if column is None:
        return np.zeros(len(candidates), dtype=np.float32)
    return np.where(column == column, column, column.dtype.type(0))  # NaN is not equal to itself
