"""Documents by how well their words answer the query's: what any ranker of texts must beat."""

from __future__ import annotations

from dataclasses import dataclass

from recx.core.bounds import NonNegativeFloat, Unit, checked
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.bm25 import bm25


@dataclass(frozen=True)
@checked("ranker")
class Bm25:
    """Needs no training (see ``recx.parts.shared.bm25``).

    k1: how long a word's repetitions go on to count. b: how much less the words of long documents count, from 0 to 1.
    """

    k1: NonNegativeFloat = 1.2
    b: Unit = 0.75

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates by falling BM25 of the user's text and the item's.

        Raises:
            InputError: the users or the items have no texts.
        """
        return candidates.reorder(bm25(candidates, history, self.k1, self.b))
