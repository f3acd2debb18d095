"""Counts of clicks and co-clicks, over the whole history or as of a point in time.

A count as of a time includes only events strictly before it. The events are sorted once per history; each count is then
one binary search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.memo import once_per_input
from recx.core.ragged import distinct, indptr_of, order_in_groups, position_of_rows
from recx.core.types import Array, Interactions, Longs, Requests

LARGE = 500_000  # keys; a binary search over more of them misses the CPU cache


def positions(keys: Longs, queries: Longs) -> Longs:
    """Return ``np.searchsorted(keys, queries)`` [m]; sorting the queries is six times as fast on millions of keys."""
    if len(keys) < LARGE:
        return np.searchsorted(keys, queries)
    order = np.argsort(queries)
    found = np.empty(len(queries), dtype=np.int64)
    found[order] = np.searchsorted(keys, queries[order])
    return found


@dataclass(frozen=True, eq=False)
class EventCounter:
    """Counts events of a kind before a point in time.

    Attributes:
        kind: Kind of each event, whole numbers from 0 [n].
        time: Time of each event [n], in ms.
    """

    kind: Longs
    time: Longs

    @cached_property
    def _ticks(self) -> tuple[Longs | None, int, int]:
        """Distinct times (None if kind and ms together fit into an int64), the first tick and the number of ticks."""
        if not len(self.time):
            return None, 0, 2
        start, span = int(self.time.min()), int(self.time.max()) - int(self.time.min()) + 2
        if (int(self.kind.max()) + 2) * span <= np.iinfo(np.int64).max:
            return None, start, span
        times = distinct(self.time)
        return times, 0, len(times) + 1

    @cached_property
    def _keys(self) -> Longs:
        """Kind and time as one number, sorted: a count is a difference of positions in this array."""
        return np.sort(self._key(self.kind, self.time))

    @cached_property
    def _first(self) -> Longs:
        """The position of the first key of each kind, and the number of keys [n_kinds + 1]."""
        return indptr_of(np.bincount(self.kind))

    def _key(self, kind: Array, time: Longs) -> Longs:
        times, start, span = self._ticks
        tick = time if times is None else np.searchsorted(times, time)
        return kind.astype(np.int64) * span + np.clip(tick - start, 0, span - 1)

    def before(self, kind: Array, time: Longs) -> Longs:
        """Return the number of events of each kind [m] before each time [m]."""
        return self._position(kind, time) - self._first[np.minimum(kind, len(self._first) - 1)]

    def between(self, kind: Array, start: Longs, stop: Longs) -> Longs:
        """Return the number of events of each kind [m] at or after ``start`` and before ``stop`` [m]."""
        return self._position(kind, stop) - self._position(kind, start)

    def _position(self, kind: Array, time: Longs) -> Longs:
        known = np.minimum(kind, len(self._first) - 1)  # the key of an unknown, larger kind could overflow int64
        return positions(self._keys, self._key(known, time))


@once_per_input
def item_counter(history: Interactions) -> EventCounter:
    """Return the counter of the clicks on each item; the history must have times."""
    assert history.time is not None
    return EventCounter(history.item.astype(np.int64), history.time)


@dataclass(frozen=True, eq=False)
class PairCounter:
    """Counts co-clicks before a point in time; a pair counts from its later event on.

    Attributes:
        pair: Sorted keys ``first item * n_items + second item`` of all pairs that occur.
        counter: Counter of the pairs; their kind is the position in ``pair``.
        n_items: Number of items.
    """

    pair: Longs
    counter: EventCounter
    n_items: int

    def before(self, first: Array, second: Array, time: Longs) -> Longs:
        """Return how often the second item was clicked shortly after the first one, before each time [m]."""
        counts = np.zeros(len(first), dtype=np.int64)
        if not len(self.pair):
            return counts
        key = first.astype(np.int64) * self.n_items + second
        at = np.minimum(positions(self.pair, key), len(self.pair) - 1)
        found = self.pair[at] == key
        counts[found] = self.counter.before(at[found], time[found])
        return counts


@once_per_input
def pair_counter(history: Interactions, distance: int, both_ways: bool) -> PairCounter:
    """Return the counter of pairs of events of one user.

    Without times, every pair counts as before every request.

    Args:
        history: The events.
        distance: Largest distance between the two events of a pair in the user's sequence.
        both_ways: Whether a pair counts in both orders; a pair of an item with itself counts once all the same.
    """
    found = [rows for _, *rows in pairs_within(history, distance)]
    earlier = np.concatenate([rows[0] for rows in found] or [np.zeros(0, np.int64)])
    later = np.concatenate([rows[1] for rows in found] or [np.zeros(0, np.int64)])
    time = np.zeros(len(later), dtype=np.int64) if history.time is None else history.time[later]
    a, b = history.item[earlier].astype(np.int64), history.item[later].astype(np.int64)
    keys = a * history.n_items + b
    if both_ways:
        other = a != b  # a pair of one item with itself is the same in both orders
        turned = (b * history.n_items + a)[other]
        keys, time = np.concatenate([keys, turned]), np.concatenate([time, time[other]])
    pair, kind = np.unique(keys, return_inverse=True)
    return PairCounter(pair, EventCounter(kind, time), history.n_items)


def pairs_within(history: Interactions, distance: int) -> Iterator[tuple[int, Longs, Longs]]:
    """Yield the pairs of events of one user as (distance, rows of the earlier event, rows of the later event)."""
    user = history.user
    for apart in range(1, min(distance, int(history.lengths.max(initial=0)) - 1) + 1):
        earlier = np.flatnonzero(user[apart:] == user[:-apart])
        yield apart, earlier, earlier + apart


def last_clicks(history: Interactions, requests: Requests, last: int, recency: float) -> Any:
    """Return the CSR [n_lists, n_items] of each user's last clicks, weighted ``recency ** n`` for the n-th newest."""
    lengths = np.minimum(history.lengths[requests.user], last)
    indptr = indptr_of(lengths)
    position = position_of_rows(indptr)
    rows = np.repeat(history.indptr[requests.user + 1], lengths) - 1 - position
    weight = (recency**position).astype(np.float32)
    return sparse.csr_array((weight, history.item[rows], indptr), shape=(len(requests), history.n_items))


def keep_largest(table: Any, n: int) -> Any:
    """Return the CSR with the ``n`` largest entries of each row, ties broken by column."""
    table.sort_indices()
    indptr = table.indptr.astype(np.int64)
    rows = order_in_groups(table.data, indptr)
    rows = np.sort(rows[position_of_rows(indptr) < n])
    lengths = np.minimum(np.diff(indptr), n)
    return sparse.csr_array((table.data[rows], table.indices[rows], indptr_of(lengths)), shape=table.shape)
