"""What the item is, held against what the user has read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import Decay, PositiveInt, checked
from recx.core.entities import UNKNOWN_TIME
from recx.core.ragged import rows_of_groups
from recx.core.system.durations import HOUR
from recx.core.types import Floats, Interactions, RankedLists, Requests
from recx.parts.feature.rows import cosine, of_rows


@dataclass(frozen=True)
@checked("feature")
class ContentSimilarity:
    """Cosine of the user's mean embedding and the item's, mapped to [0, 1]; 0.5 where either is unknown.

    last, recency: how many last clicks make the user, and how much each older one counts of the next.
    """

    last: PositiveInt = 10
    recency: Decay = 0.7

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        angle = cosine(candidates, history, requests, self.last, self.recency)
        mapped: Floats = np.nan_to_num((1 + angle) / 2, nan=0.5).clip(0, 1)
        return mapped


@dataclass(frozen=True)
@checked("feature")
class StretchedSimilarity:
    """sqrt(phi_rel + 0.1): phi_rel with its lower end stretched."""

    last: PositiveInt = 10
    recency: Decay = 0.7

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        stretched: Floats = np.sqrt(
            ContentSimilarity(self.last, self.recency)(candidates, history, requests) + np.float32(0.1)
        )
        return stretched


@dataclass(frozen=True)
class CategoryShare:
    """Share of the user's history that is of the item's category; 0 where the category is unknown."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        category = history.items.table.get("category")
        if category is None:
            return np.zeros(len(candidates), dtype=np.float32)
        n = int(category.max(initial=0)) + 1
        read = category[history.item[rows_of_groups(history.indptr, requests.user)]]
        line = np.repeat(np.arange(len(requests)), history.lengths[requests.user])
        counts = np.bincount(line[read >= 0] * n + read[read >= 0], minlength=len(requests) * n)
        asked = category[candidates.item]
        events = of_rows(history.lengths[requests.user], candidates)
        share = counts[candidates.list_of_row * n + asked] / np.maximum(1, events)
        return np.where(asked >= 0, share, 0).astype(np.float32)


@dataclass(frozen=True)
class Age:
    """log(1 + hours since the item was created, or first clicked where that is unknown); 0 where data has no times."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        if history.time is None or requests.time is None:
            return np.zeros(len(candidates), dtype=np.float32)
        created = history.items.table.get("created_at", history.first_seen)
        born = np.where(created == UNKNOWN_TIME, history.first_seen, created)[candidates.item]
        # A first click at or after the request would be a look ahead, and a creation after it is an error of the data.
        age = np.maximum(0, of_rows(requests.time, candidates) - born)
        log_age: Floats = np.log1p(age / HOUR).astype(np.float32)
        return log_age


@dataclass(frozen=True)
class Words:
    """log(1 + words of the item); the mean of the known ones where unknown (missing, or negative)."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        words = history.items.table.get("words")
        known = np.zeros(history.n_items, dtype=bool) if words is None else (words >= 0) & np.isfinite(words)
        if words is None or not known.any():
            return np.zeros(len(candidates), dtype=np.float32)
        logs: Floats = np.log1p(words, where=known, out=np.zeros(len(words), dtype=np.float32))
        return np.where(known, logs, logs[known].mean())[candidates.item].astype(np.float32)
