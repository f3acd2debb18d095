"""Less room for what is popular: relevance against the clicks on an item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import Unit, checked
from recx.core.ragged import max_of_groups
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.reranker.relevance import relevance
from recx.parts.shared.item_clicks import item_clicks


@dataclass(frozen=True)
@checked("reranker")
class Popularity:
    """Orders by ``(1 - penalty) * relevance - penalty * popularity``.

    Relevance is the ranker's score and popularity is log(1 + clicks before the request), both as shares of their range
    in the list: 0 to 1 for the score, and of the largest for the clicks. A penalty in the ranking itself is the
    simplest of the corrections for popularity bias (Abdollahpouri, Burke and Mobasher 2019 compare such re-rankers).

    Attributes:
        penalty: Share of the popularity; 0: the ranker's order, 1: the least popular first.
    """

    penalty: Unit = 0.2

    def for_users(self, history: Interactions) -> Popularity:
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates with popular items further down."""
        clicks = np.log1p(item_clicks(history).within(candidates, requests, None))
        most = np.repeat(max_of_groups(clicks, candidates.indptr), candidates.lengths)
        popular = np.divide(clicks, most, out=np.zeros(len(candidates)), where=most > 0)
        return candidates.reorder((1 - self.penalty) * relevance(candidates) - self.penalty * popular)
