"""A ranker: the order in which the candidates are shown.

Where its order depends on more than settings, the files that they name and code, declare it by ``depends_on`` or
``cacheable`` (see ``recx.core.protocols``): the stage cache does not notice it otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import HOUR, Eligibility, Interactions, RankedLists, Requests, Unit, checked


@dataclass(frozen=True)
@checked("ranker")  # checks each setting against its annotation
class Blend:
    """A weighted mean of the retriever's order, 1 / rank, and of freshness, 1 / (1 + age in days); learns nothing.

    A ranker that learns has a method ``fit`` too, which returns another object, the fitted ranker.

    Attributes:
        weight: The weight of freshness.
    """

    weight: Unit = 0.5

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        since = Eligibility(history, "keep").since  # when each item was created or first clicked
        fresh = np.zeros(len(candidates))
        if since is not None and requests.time is not None:
            age = np.maximum(0, requests.time[candidates.list_of_row] - since[candidates.item])
            fresh = 1 / (1 + age / (24 * HOUR))
        return candidates.reorder(self.weight * fresh + (1 - self.weight) / candidates.rank)
