"""Which items are candidates for a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from recx.plugin import Doubles, Floats, Interactions, RankedLists, Requests, Seen, Unit, checked, top_k


@dataclass(frozen=True)
@checked("retriever")  # checks each setting against its annotation
class Follows:
    """The items that users chose right after the last item of this user, the most frequent first.

    Attributes:
        popularity: The weight of how often an item is chosen at all, which decides where nothing else does.
        seen: ``drop`` or ``keep`` what the user has chosen before.
    """

    popularity: Unit = 0.1
    seen: Seen = "drop"

    def fit(self, history: Interactions) -> FittedFollows:
        same_user = history.user[1:] == history.user[:-1]
        pair = history.item[:-1][same_user], history.item[1:][same_user]
        n = history.n_items
        follows = sparse.csr_array((np.ones(len(pair[0])), pair), shape=(n, n))
        return FittedFollows(self, follows, history.clicks / max(1, len(history)))


@dataclass(frozen=True, eq=False)
class FittedFollows:
    """What was learned.

    Attributes:
        settings: The settings.
        follows: A CSR of how often the second item was chosen right after the first [n_items, n_items].
        share: The share of each item in all events [n_items].
    """

    settings: Follows
    follows: Any
    share: Doubles

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        weight = self.settings.popularity

        def score(block: Requests) -> Floats:
            known = history.lengths[block.user] > 0
            last = history.item[history.indptr[block.user[known] + 1] - 1]
            table = np.tile(weight * self.share, (len(block), 1))  # [requests of the block, items]
            table[known] += (1 - weight) * self.follows[last].toarray()
            return table.astype(np.float32)

        return top_k(score, history, requests, k, self.settings.seen)  # leaves out seen and not yet known items
