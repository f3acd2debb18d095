"""A feature: one number per candidate, from which a ranker learns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import (
    HOUR,
    Constant,
    Eligibility,
    FittedFeature,
    FittedWith,
    Floats,
    Interactions,
    Longs,
    PositiveFloat,
    RankedLists,
    Requests,
    checked,
)


@dataclass(frozen=True)
@checked("feature")  # checks each setting against its annotation
class Freshness:
    """1 for a new item, 1/2 after ``half_life_hours``; 0 if the data has no times.

    Attributes:
        half_life_hours: The age in hours at which the value is 1/2.
    """

    half_life_hours: PositiveFloat = 24.0

    def fit(self, history: Interactions) -> FittedFeature:
        since = Eligibility(history, "keep").since  # when each item was created or first clicked
        return Constant(0) if since is None else FittedWith(self, since)

    def values(self, since: Longs, candidates: RankedLists, requests: Requests) -> Floats:
        assert requests.time is not None  # as the history has times
        age = np.maximum(0, requests.time[candidates.list_of_row] - since[candidates.item]) / HOUR
        fresh: Floats = np.exp2(-age / self.half_life_hours).astype(np.float32)
        return fresh
