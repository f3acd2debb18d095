"""Properties of the item, compared with what the user has read.

Known: the user's events before the request, the data's table of items, and of an item without a creation time when it
was first clicked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import Decay, PositiveInt, checked
from recx.core.entities import UNKNOWN_TIME
from recx.core.memo import once_per_input
from recx.core.protocols import FittedFeature
from recx.core.ragged import rows_of_groups
from recx.core.system.durations import HOUR
from recx.core.types import Array, Bools, Floats, Interactions, Longs, RankedLists, Requests
from recx.parts.feature.fitted import Constant, FittedWith, PerItem
from recx.parts.feature.rows import of_rows
from recx.parts.shared.products import products_of_pairs
from recx.parts.shared.sequences import Sequences, sequences
from recx.parts.shared.vectors import unit, unit_embedding


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

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, None if history.items.embedding is None else _embedded(history))

    def values(self, embedded: _Embedded | None, candidates: RankedLists, requests: Requests) -> Floats:
        if embedded is None:
            return np.full(len(candidates), 0.5, dtype=np.float32)
        angle = _cosine(candidates, embedded, requests, self.last, self.recency)
        return np.where(np.isnan(angle), np.float32(0.5), (1 + angle) / 2).clip(0, 1)


@dataclass(frozen=True)
class StretchedSimilarity(ContentSimilarity):
    """sqrt(phi_rel + 0.1), where phi_rel is ``ContentSimilarity`` with the same settings: stretches its lower end."""

    def values(self, embedded: _Embedded | None, candidates: RankedLists, requests: Requests) -> Floats:
        return np.asarray(np.sqrt(super().values(embedded, candidates, requests) + np.float32(0.1)))


@dataclass(frozen=True, eq=False)
class _Embedded:
    """The items' embeddings, and what the users clicked.

    Attributes:
        vector: The embeddings scaled to length 1 [n_items, d].
        known: Which items have one [n_items].
        sequences: The users' clicks.
    """

    vector: Floats
    known: Bools
    sequences: Sequences


@once_per_input
def _embedded(history: Interactions) -> _Embedded:
    return _Embedded(unit_embedding(history.items), history.items.has_embedding, sequences(history))


@once_per_input
def _cosine(candidates: RankedLists, embedded: _Embedded, requests: Requests, last: int, recency: float) -> Floats:
    """Return the cosine of the item's embedding and the mean of the user's last clicks [n_rows]; NaN if unknown."""
    user = unit(embedded.sequences.weighted(requests, last, recency) @ embedded.vector)
    found = products_of_pairs(user, candidates.list_of_row, embedded.vector, candidates.item)
    known = embedded.known[candidates.item] & of_rows(np.abs(user).sum(axis=1) > 0, candidates)
    return np.where(known, found, np.nan).astype(np.float32)


@dataclass(frozen=True)
class CategoryShare:
    """Share of the user's events that have the item's category; 0 if the category is unknown."""

    def fit(self, history: Interactions) -> FittedFeature:
        if "category" not in history.items.table:
            return Constant(0)
        category = history.items.table["category"]
        return FittedWith(self, (category, int(category.max(initial=0)) + 1, sequences(history)))

    def values(self, known: tuple[Array, int, Sequences], candidates: RankedLists, requests: Requests) -> Floats:
        category, n, clicked = known
        read = category[clicked.item[rows_of_groups(clicked.indptr, requests.user)]]
        events = clicked.lengths(requests.user)
        key = np.repeat(np.arange(len(requests)), events) * n + read
        counts = np.bincount(key[read >= 0], minlength=len(requests) * n)
        own = category[candidates.item]
        share = counts[candidates.list_of_row * n + own] / np.maximum(1, of_rows(events, candidates))
        return np.where(own >= 0, share, 0).astype(np.float32)


@dataclass(frozen=True)
class Age:
    """log(1 + hours since the item was created, or first clicked if that is unknown); 0 if the data has no times."""

    def fit(self, history: Interactions) -> FittedFeature:
        if history.time is None:
            return Constant(0)
        created = history.items.table.get("created_at", history.first_seen)
        return FittedWith(self, np.where(created == UNKNOWN_TIME, history.first_seen, created))

    def values(self, born: Longs, candidates: RankedLists, requests: Requests) -> Floats:
        if requests.time is None:
            return np.zeros(len(candidates), dtype=np.float32)
        # A first click after the request would leak the future, and a creation after it is an error in the data.
        age = np.maximum(0, of_rows(requests.time, candidates) - born[candidates.item])
        return np.asarray(np.log1p(age / HOUR), dtype=np.float32)


@dataclass(frozen=True)
class Words:
    """log(1 + number of words of the item); the mean over the known items if missing or negative."""

    def fit(self, history: Interactions) -> FittedFeature:
        words = history.items.table.get("words")
        known = np.zeros(history.n_items, dtype=bool) if words is None else (words >= 0) & np.isfinite(words)
        if words is None or not known.any():
            return Constant(0)
        logs: Floats = np.log1p(words, where=known, out=np.zeros(len(words), dtype=np.float32))
        return PerItem(np.where(known, logs, logs[known].mean()).astype(np.float32))
