"""A retriever: which items are candidates for a request.

Where its lists depend on more than settings, the files that they name and code, declare it by ``depends_on`` or
``cacheable`` (see ``recx.core.protocols``): the stage cache does not notice it otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import Eligibility, Floats, Interactions, RankedLists, Requests, Seen, checked, top_k


@dataclass(frozen=True)
@checked("retriever")  # checks each setting against its annotation
class Newest:
    """The newest items first.

    Attributes:
        seen: ``drop`` or ``keep`` what the user has clicked.
    """

    seen: Seen = "drop"

    def fit(self, history: Interactions) -> Newest:
        return self  # nothing to learn; otherwise return another object, the fitted retriever

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        since = Eligibility(history, self.seen).since  # when each item was created or first clicked
        newness = np.arange(history.n_items) if since is None else np.argsort(np.argsort(since, kind="stable"))

        def score(block: Requests) -> Floats:
            return np.tile(newness.astype(np.float32), (len(block), 1))  # [requests of the block, items]

        return top_k(score, history, requests, k, self.seen)  # leaves out seen and not yet published items
