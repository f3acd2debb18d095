"""A feature: one number per candidate, from which a ranker learns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import HOUR, Eligibility, Floats, Interactions, PositiveFloat, RankedLists, Requests, checked


@dataclass(frozen=True)
@checked("feature")  # checks each setting against its annotation
class Freshness:
    """1 for a new item, 1/2 after ``half_life_hours``; 0 if the data has no times.

    Attributes:
        half_life_hours: The age in hours at which the value is 1/2.
    """

    half_life_hours: PositiveFloat = 24.0

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        since = Eligibility(history, "keep").since
        if since is None or requests.time is None:
            return np.zeros(len(candidates), dtype=np.float32)
        age = np.maximum(0, requests.time[candidates.list_of_row] - since[candidates.item]) / HOUR
        fresh: Floats = np.exp2(-age / self.half_life_hours).astype(np.float32)
        return fresh
