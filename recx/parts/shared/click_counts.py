"""Counts of clicks and co-clicks, over the whole history or as of a point in time.

A count as of a time includes only events strictly before it. The events of each kind, and the co-clicks of each item,
are sorted once per history; each count is then a binary search among those of one kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recx.core.compiled import compiled
from recx.core.memo import once_per_input
from recx.core.ragged import blocks_of_groups, check_borders, indptr_of
from recx.core.system.threads import side_by_side
from recx.core.types import Array, Interactions, Ints, Longs

ROWS = 50_000  # rows that are counted together by one thread


@dataclass(frozen=True, eq=False)
class EventCounter:
    """Counts events of a kind before a point in time.

    Attributes:
        indptr: Borders of the kinds' events [n_kinds + 1].
        time: Time of each event [n], in ms, sorted within each kind.
    """

    indptr: Longs
    time: Longs

    def check_read(self) -> None:
        """Check what was read from a file; raises ValueError."""
        check_borders(self.indptr, len(self.time))

    @classmethod
    def of(cls, kind: Array, time: Longs) -> EventCounter:
        """Return the counter of events.

        Args:
            kind: Kind of each event [n], whole numbers from 0.
            time: Time of each event [n], in ms.
        """
        kind = kind.astype(np.int64, copy=False)
        indptr, placed = indptr_of(np.bincount(kind)), np.empty(len(kind), dtype=np.int64)
        _place_events(kind, time, indptr[:-1].copy(), placed)
        _sort_groups(placed, indptr)
        return cls(indptr, placed)

    def before(self, kind: Array, time: Longs, indptr: Longs | None = None) -> Longs:
        """Return the number of events of each kind [m] before each time.

        Args:
            kind: The kinds [m].
            time: The times [m] or, with ``indptr``, the time of each list [n_lists].
            indptr: Borders of the lists of rows that share a time [n_lists + 1].
        """
        kind, counts = kind.astype(np.int64, copy=False), np.zeros(len(kind), dtype=np.int64)
        borders = np.arange(len(kind) + 1) if indptr is None else indptr

        def count(lists: tuple[int, int]) -> None:
            start, stop = lists
            _count_events(self.indptr, self.time, kind, borders[start : stop + 1], time[start:stop], counts)

        side_by_side(count, blocks_of_groups(borders, ROWS))
        return counts

    def between(self, kind: Array, start: Longs, stop: Longs, indptr: Longs | None = None) -> Longs:
        """Return the number of events of each kind [m] in [start, stop); ``indptr`` as in ``before``."""
        return self.before(kind, stop, indptr) - self.before(kind, start, indptr)


@once_per_input
def sorted_times(history: Interactions) -> Longs:
    """Return the times of all events, sorted [n]; the history must have times."""
    assert history.time is not None
    return np.sort(history.time)


@dataclass(frozen=True, eq=False)
class PairCounter:
    """Counts co-clicks before a point in time; a pair counts from its later event on.

    The tick of a time is the number of events before it, so that it fits into half of an entry.

    Attributes:
        indptr: Borders of the entries of each item [n_items + 1].
        entry: ``other item << 32 | tick of the later event`` of each pair [n], sorted within each item.
        times: The times of all events, sorted.
        clicks: Number of events per item [n_items].
        both_ways: Whether a pair counts in both orders. It is then kept once, with the item of fewer clicks, which
            makes searches short; otherwise it is kept with the item of the earlier event.
    """

    indptr: Longs
    entry: Longs
    times: Longs
    clicks: Longs
    both_ways: bool

    def check_read(self) -> None:
        check_borders(self.indptr, len(self.entry))
        if len(self.clicks) + 1 != len(self.indptr):
            raise ValueError("clicks of other items than those of the pairs")

    def before(self, first: Ints, second: Ints, time: Longs, indptr: Longs) -> Longs:
        """Return how often each row's item was clicked shortly after its list's first item [n_rows].

        Args:
            first: The first item of each list [n_lists]; -1: no item.
            second: The item of each row [n_rows].
            time: The time of each list [n_lists]: pairs before it count.
            indptr: Borders of the lists' rows [n_lists + 1].
        """
        tick, counts = np.searchsorted(self.times, time), np.zeros(len(second), dtype=np.int64)
        stored = self.indptr, self.entry, self.clicks, self.both_ways

        def count(lists: tuple[int, int]) -> bool:
            start, stop = lists
            return count_pairs(*stored, first[start:stop], second, indptr[start : stop + 1], tick[start:stop], counts)

        if not all(side_by_side(count, blocks_of_groups(indptr, ROWS))):
            raise ValueError(f"numbers of items that are not all below {len(self.clicks)}")
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
    if history.time is None:
        times, tick = np.zeros(1, dtype=np.int64), np.zeros(len(history), dtype=np.int32)
    else:
        times, tick = sorted_times(history), _ticks(history.time)
    clicks, events = history.clicks, (history.indptr, history.item, tick)
    end = np.zeros(history.n_items, dtype=np.int64)
    _place_pairs(*events, clicks, distance, both_ways, end, np.zeros(0, dtype=np.int64))
    indptr = indptr_of(end)
    entry = np.empty(indptr[-1], dtype=np.int64)
    _place_pairs(*events, clicks, distance, both_ways, indptr[:-1].copy(), entry)
    _sort_groups(entry, indptr)
    return PairCounter(indptr, entry, times, clicks, both_ways)


def _sort_groups(values: Longs, indptr: Longs) -> None:
    """Sort the values of each group in place."""
    several = np.flatnonzero(np.diff(indptr) > 1)
    for start, stop in zip(indptr[several].tolist(), indptr[several + 1].tolist(), strict=True):
        values[start:stop].sort()


def _ticks(time: Longs) -> Ints:
    """Return the number of events before each event's time [n]."""
    order = np.argsort(time)
    rises = np.flatnonzero(np.diff(time[order], prepend=time[order[:1]]))
    first = np.zeros(len(time), dtype=np.int32)
    first[rises] = rises
    tick = np.empty_like(first)
    tick[order] = np.maximum.accumulate(first)
    return tick


@compiled()
def _first_from(ordered: Longs, start: int, stop: int, value: int | np.int64) -> int:
    """Return the first position from ``start`` on, before ``stop``, that is not below the value, or ``stop``."""
    while start < stop:
        middle = (start + stop) >> 1
        if ordered[middle] < value:
            start = middle + 1
        else:
            stop = middle
    return start


@compiled("count")
def _count_events(indptr: Longs, time: Longs, kind: Longs, borders: Longs, now: Longs, count: Longs) -> None:
    """Write the number of events of each row's kind before its list's time into ``count`` [n_rows].

    Args:
        indptr: Borders of the kinds' events [n_kinds + 1].
        time: Times of the events, sorted within each kind [n].
        kind: The kind of each row [n_rows].
        borders: Borders of the lists' rows [n_lists + 1].
        now: The time of each list [n_lists].
        count: The counts; those of rows of unknown kinds stay what they are.
    """
    n_kinds = len(indptr) - 1
    for q in range(len(now)):
        for row in range(borders[q], borders[q + 1]):
            asked = kind[row]
            if 0 <= asked < n_kinds:
                start = indptr[asked]
                count[row] = _first_from(time, start, indptr[asked + 1], now[q]) - start


@compiled("end", "placed")
def _place_events(kind: Longs, time: Longs, end: Longs, placed: Longs) -> None:
    """Write the time of each event [n] to the end of its kind's in ``placed``, and move that end [n_kinds] by one."""
    for row in range(len(kind)):
        placed[end[kind[row]]] = time[row]
        end[kind[row]] += 1


@compiled("end", "entry")
def _place_pairs(
    indptr: Longs, item: Ints, tick: Ints, clicks: Longs, distance: int, both_ways: bool, end: Longs, entry: Longs
) -> None:
    """Move the end of each item's entries by its pairs; write these there, unless ``entry`` is empty.

    Args:
        indptr: Borders of the users' events [n_users + 1].
        item: The item of each event [n].
        tick: The tick of each event [n].
        clicks: Number of events per item [n_items].
        distance: Largest distance between the two events of a pair.
        both_ways: Whether a pair is kept with the item of fewer clicks, or else with that of the earlier event.
        end: Where the next entry of each item goes [n_items].
        entry: The entries.
    """
    for user in range(len(indptr) - 1):
        for later in range(indptr[user] + 1, indptr[user + 1]):
            for earlier in range(max(indptr[user], later - distance), later):
                a, b = np.int64(item[earlier]), np.int64(item[later])
                if both_ways and (clicks[b] < clicks[a] or (clicks[b] == clicks[a] and b < a)):
                    a, b = b, a
                if len(entry):
                    entry[end[a]] = b << 32 | tick[later]
                end[a] += 1


@compiled("count")
def count_pairs(
    indptr: Longs,
    entry: Longs,
    clicks: Longs,
    both_ways: bool,
    first: Ints,
    second: Ints,
    borders: Longs,
    tick: Longs,
    count: Longs,
) -> bool:
    """Write the number of pairs of each row's item and its list's first item into ``count``.

    Args:
        indptr: Borders of the entries of each item [n_items + 1].
        entry: See ``PairCounter``.
        clicks: Number of events per item [n_items].
        both_ways: Whether pairs are kept with the item of fewer clicks.
        first: The first item of each list [n_lists]; -1: no item.
        second: The item of each row [n_rows].
        borders: Borders of the lists' rows [n_lists + 1].
        tick: The tick of each list [n_lists]: pairs before it count.
        count: The counts [n_rows], 0 before.

    Returns:
        Whether all items are known; the counts of other ones would be of what lies elsewhere in memory.
    """
    for q in range(len(tick)):
        if first[q] >= len(clicks):
            return False
        if first[q] < 0:
            continue
        for row in range(borders[q], borders[q + 1]):
            a, b = np.int64(first[q]), np.int64(second[row])
            if b < 0 or b >= len(clicks):
                return False
            if both_ways and (clicks[b] < clicks[a] or (clicks[b] == clicks[a] and b < a)):
                a, b = b, a
            stop = indptr[a + 1]
            start = _first_from(entry, indptr[a], stop, b << 32)
            if start < stop and entry[start] >> 32 == b:
                count[row] = _first_from(entry, start, stop, b << 32 | tick[q]) - start
    return True


def pairs_within(history: Interactions, distance: int) -> Iterator[tuple[int, Longs, Longs]]:
    """Yield the pairs of events of one user as (distance, rows of the earlier event, rows of the later event)."""
    user = history.user
    for apart in range(1, min(distance, int(history.lengths.max(initial=0)) - 1) + 1):
        earlier = np.flatnonzero(user[apart:] == user[:-apart])
        yield apart, earlier, earlier + apart
