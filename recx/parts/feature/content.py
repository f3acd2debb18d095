"""Properties of the item, compared with what the user has read."""

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
    """Cosine of the item's embedding and the mean of the user's last clicks, mapped to [0, 1]; 0.5 if unknown.

    Attributes:
        last: Number of last clicks of the user.
        recency: Weight of each click relative to the next newer one.
    """

    last: PositiveInt = 10
    recency: Decay = 0.7

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        angle = cosine(candidates, history, requests, self.last, self.recency)
        return np.nan_to_num((1 + angle) / 2, nan=0.5).clip(0, 1)


@dataclass(frozen=True)
class StretchedSimilarity(ContentSimilarity):
    """sqrt(phi_rel + 0.1), where phi_rel is ``ContentSimilarity`` with the same settings: stretches its lower end."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        return np.asarray(np.sqrt(super().__call__(candidates, history, requests) + np.float32(0.1)))


@dataclass(frozen=True)
class CategoryShare:
    """Share of the user's events that have the item's category; 0 if the category is unknown."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        category = history.items.table.get("category")
        if category is None:
            return np.zeros(len(candidates), dtype=np.float32)
        n = int(category.max(initial=0)) + 1
        read = category[history.item[rows_of_groups(history.indptr, requests.user)]]
        events = history.lengths[requests.user]
        key = np.repeat(np.arange(len(requests)), events) * n + read
        counts = np.bincount(key[read >= 0], minlength=len(requests) * n)
        own = category[candidates.item]
        share = counts[candidates.list_of_row * n + own] / np.maximum(1, of_rows(events, candidates))
        return np.where(own >= 0, share, 0).astype(np.float32)


@dataclass(frozen=True)
class Age:
    """log(1 + hours since the item was created, or first clicked if that is unknown); 0 if the data has no times."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        if history.time is None or requests.time is None:
            return np.zeros(len(candidates), dtype=np.float32)
        created = history.items.table.get("created_at", history.first_seen)
        born = np.where(created == UNKNOWN_TIME, history.first_seen, created)[candidates.item]
        # A first click after the request would leak the future, and a creation after it is an error in the data.
        age = np.maximum(0, of_rows(requests.time, candidates) - born)
        return np.asarray(np.log1p(age / HOUR), dtype=np.float32)


@dataclass(frozen=True)
class Words:
    """log(1 + number of words of the item); the mean over the known items if missing or negative."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        words = history.items.table.get("words")
        known = np.zeros(history.n_items, dtype=bool) if words is None else (words >= 0) & np.isfinite(words)
        if words is None or not known.any():
            return np.zeros(len(candidates), dtype=np.float32)
        logs: Floats = np.log1p(words, where=known, out=np.zeros(len(words), dtype=np.float32))
        return np.where(known, logs, logs[known].mean())[candidates.item].astype(np.float32)
