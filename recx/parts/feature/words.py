"""How well an item's text answers the user's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import NonNegativeFloat, Unit, checked
from recx.core.types import Floats, Interactions, RankedLists, Requests
from recx.parts.feature.rows import share_of_largest
from recx.parts.shared.bm25 import bm25
from recx.parts.shared.texts import texts_of


@dataclass(frozen=True)
@checked("feature")
class Bm25:
    """BM25, divided by the list's largest so that queries of any length compare; 0 if all are 0."""

    k1: NonNegativeFloat = 1.2
    b: Unit = 0.75

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        return share_of_largest(bm25(candidates, history, self.k1, self.b), candidates)


@dataclass(frozen=True)
class Length:
    """log(1 + characters of the item's text)."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        texts = texts_of(history.items, "items")[candidates.item]
        lengths: Floats = np.log1p(np.fromiter(map(len, texts), dtype=np.float32, count=len(texts)))
        return lengths
