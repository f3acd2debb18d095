"""The most clicked items as of the time of the request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recx.core.bounds import checked
from recx.core.memo import once_per_input
from recx.core.protocols import Seen
from recx.core.ragged import blocks, check_numbers, indptr_of, position_of_rows
from recx.core.system.durations import Duration, milliseconds
from recx.core.system.threads import available, side_by_side
from recx.core.types import Doubles, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.shared.click_sweep import Clicks, Marks, marks_of, weights_of
from recx.parts.shared.popular_items import most_clicked
from recx.parts.shared.top_k import Rules, lists_of

NEGLIGIBLE = 1e-6  # a click whose weight has decayed below this does not count
EXACT = 2**24  # up to here, float32 holds every count
PIECE = 20_000  # requests that are at least worth another sweep over the clicks
MARKS = 64  # places in the clicks where a sweep may begin, at most


@dataclass(frozen=True)
@checked("retriever")
class Popularity:
    """Counts the clicks before each request; an item without a counted click is not retrieved.

    If the data has no times, every click of the history counts 1.

    Attributes:
        window: Largest age of a click that counts, such as ``3h``; None: all clicks count.
        half_life: Time after which the weight of a click has halved; None: clicks do not decay.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    window: Duration | None = None
    half_life: Duration | None = None
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> Popularity:
        """Return this retriever, which learns nothing: the counts depend on the request."""
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return each request's most clicked items; all were clicked before it, so that they are eligible."""
        known = _oldest_first(history)
        if history.time is None or requests.time is None:  # as if every request came after all clicks
            time, now = np.zeros(len(known.item), dtype=np.int64), np.ones(len(requests), dtype=np.int64)
            return Popularity(seen=self.seen)._lists(replace(known, time=time), history, requests, now, k)
        return self._lists(known, history, requests, requests.time, k)

    def for_users(self, history: Interactions) -> Popularity:
        return self

    def _lists(self, known: _Known, history: Interactions, requests: Requests, now: Longs, k: int) -> RankedLists:
        """Return the lists as of ``now``, of clicks that are sorted by time."""
        half_life = milliseconds(self.half_life, "retriever.half_life") if self.half_life else 0
        item, time = known.item, known.time
        weight = _weights(history, half_life) if half_life else np.zeros(0)
        if half_life and len(weight) != len(time):
            raise ValueError(f"{len(weight)} weights of {len(time)} clicks")
        reach, n = self._reach(half_life), len(known.clicked)
        if requests.allowed is None:
            marks = _swept(history, reach, half_life).marks(len(item), n + 1)
        else:  # clicks on other items change no total of these
            counts = requests.allowed[known.clicked][item]
            item, time, weight = item[counts], time[counts], weight[counts] if half_life else weight
            marks = marks_of(Clicks(item, time, weight, reach, half_life), 0, n + 1)
        clicks = Clicks(item, time, weight, reach, half_life)
        by_time = np.argsort(now)
        before = np.searchsorted(time, now[by_time])
        counted = before if clicks.reach < 0 else before - np.searchsorted(time, now[by_time] - clicks.reach)
        k = min(k, n, int(counted.max(initial=0)))  # no list can be longer
        rules = known.rules(history, requests[by_time], now[by_time], self.seen)
        spare = int(np.sort(np.diff(rules.indptr))[len(now) * 9 // 10]) if len(now) else 0
        exact = not half_life and known.most > EXACT
        score = np.empty((len(now), k), dtype=np.float64 if exact else np.float32)
        found, length = np.empty((len(now), k), dtype=np.int32), np.zeros(len(now), dtype=np.int64)
        candidates = np.arange(n, dtype=np.int32)

        def find(piece: tuple[int, int]) -> None:
            rows = slice(*piece)
            own = rules._replace(now=rules.now[rows], user=rules.user[rows])
            some = before[rows], by_time[rows], own
            most_clicked(clicks, marks, *some, candidates, n + 1, spare, found, score, length)

        pieces = blocks(len(now) if k else 0, max(PIECE, -(-len(now) // (4 * available()))))
        side_by_side(find, pieces)
        lists = lists_of(requests.user, length, found, score)
        return replace(lists, item=known.clicked[lists.item])

    def _reach(self, half_life: int) -> int:
        """Return the largest age in ms of a click that counts: the window, or that of a negligible weight; -1: any."""
        window = milliseconds(self.window, "retriever.window") if self.window else -1
        if not half_life:
            return window
        faded = int(-np.log2(NEGLIGIBLE) * half_life)
        return min(window, faded) if self.window else faded


@dataclass(frozen=True, eq=False)
class _Known:
    """All clicks, oldest first, with the clicked items numbered among themselves: work follows them, not all items.

    Attributes:
        clicked: The items with a click, increasing [n_clicked].
        place: The place of each item among these, ``n_clicked`` for one without a click [n_items].
        item: The place of each click's item [n]; clicks at the same time are interchangeable.
        time: The time of each click [n]; 0 without times.
        most: The largest number of clicks of an item.
    """

    clicked: Ints
    place: Ints
    item: Ints
    time: Longs
    most: int

    def check_read(self) -> None:
        check_numbers(self.place, len(self.clicked) + 1)
        check_numbers(self.item, len(self.clicked))
        if len(self.item) != len(self.time):
            raise ValueError("clicks without a time")

    def rules(self, history: Interactions, requests: Requests, now: Longs, seen: Seen) -> Rules:
        """Return what the kernel needs to know of requests, whose users are numbered from 0, by places of items."""
        lengths = history.indptr[requests.user + 1] - history.indptr[requests.user]
        borders = indptr_of(lengths if seen == "drop" else np.zeros_like(lengths))
        rows = np.repeat(history.indptr[requests.user], np.diff(borders)) + position_of_rows(borders)
        nothing = np.zeros(0, dtype=np.int64)  # all that is counted was clicked before the request
        return Rules(nothing, now, np.arange(len(requests), dtype=np.int32), borders, self.place[history.item[rows]])


@once_per_input
def _oldest_first(history: Interactions) -> _Known:
    clicked = np.flatnonzero(history.clicks).astype(np.int32)
    place = np.full(history.n_items, len(clicked), dtype=np.int32)
    place[clicked] = np.arange(len(clicked), dtype=np.int32)
    time, item, most = np.zeros(len(history), dtype=np.int64), place[history.item], int(history.clicks.max(initial=0))
    if history.time is not None:
        order = np.argsort(history.time)
        time, item = history.time[order], item[order]
    return _Known(clicked, place, item, time, most)


@dataclass(frozen=True, eq=False)
class _Swept:
    """Places in all clicks where a sweep may begin: what ``Marks`` holds, for the places of items."""

    added: Longs
    gone: Longs
    start: Longs
    weight: Doubles
    clicks: Ints

    def check_read(self) -> None:
        n, shape = len(self.added), self.weight.shape
        if len(shape) != 2 or shape != self.clicks.shape or not n == len(self.gone) == len(self.start) == shape[0]:
            raise ValueError("totals of other marks")
        if (np.diff(self.added, prepend=0) < 0).any() or (self.gone < 0).any() or (self.gone > self.added).any():
            raise ValueError("marks that are not in the order of a sweep")

    def marks(self, n_clicks: int, n_items: int) -> Marks:
        """Return the marks; raises ValueError unless they are of so many clicks on so many items."""
        if self.weight.shape[1] != n_items or self.added.max(initial=0) > n_clicks:
            raise ValueError(f"marks of other clicks than these {n_clicks} on {n_items} items")
        return Marks(self.added, self.gone, self.start, self.weight, self.clicks)


@once_per_input
def _swept(history: Interactions, reach: int, half_life: int) -> _Swept:
    """Return marks of all clicks: as many as take no more memory than the clicks."""
    known = _oldest_first(history)
    weight = _weights(history, half_life) if half_life else np.zeros(0)
    n_items = len(known.clicked) + 1
    n = max(0, min(MARKS, len(known.item) // n_items - 1))
    return _Swept(*marks_of(Clicks(known.item, known.time, weight, reach, half_life), n, n_items))


@once_per_input
def _weights(history: Interactions, half_life: int) -> Doubles:
    """Return the weights of all clicks, oldest first."""
    return weights_of(_oldest_first(history).time, half_life)
