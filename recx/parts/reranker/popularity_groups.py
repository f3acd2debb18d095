"""Groups of popular and less popular items, by the clicks on all items before each request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.compiled import compiled
from recx.core.errors import InputError
from recx.core.memo import once_per_input
from recx.core.types import Interactions, Ints, Longs, Requests
from recx.parts.shared.click_counts import sorted_times
from recx.parts.shared.item_clicks import item_clicks


@dataclass(frozen=True, eq=False)
class Bar:
    """The clicks from which on an item is among the most popular ones that together have a share of all events.

    Attributes:
        times: The times of all events, sorted [n]; None if the history has no times.
        start: The number of events from which on each bar holds, rising from 0 [m].
        clicks: The bars [m].
    """

    times: Longs | None
    start: Longs
    clicks: Longs

    def before(self, requests: Requests) -> Longs:
        """Return the bar as of each request [n_lists]."""
        if self.times is None or requests.time is None:
            return np.full(len(requests), self.clicks[-1])
        known = np.searchsorted(self.times, requests.time)
        return self.clicks[np.searchsorted(self.start, known, side="right") - 1]


def popularity_groups(history: Interactions, requests: Requests, item: Ints, indptr: Longs, *shares: float) -> Longs:
    """Return the group of each row's item by its clicks before the request [n_rows].

    Group 0 are the most popular items, all with at least as many clicks as the last one that is needed for the first
    share of all events; group 1 those of the second share, and so on; the last group are all others. So equally
    popular items are in one group, and an item without a click is in the last one.

    Args:
        history: The events.
        requests: The requests [n_lists].
        item: The item of each row [n_rows].
        indptr: Borders of the rows of each request [n_lists + 1].
        *shares: Rising shares of all events.

    Raises:
        InputError: The history has no events.
    """
    bars = [popularity_bar(history, share).before(requests) for share in shares]
    clicks = item_clicks(history).before(item, requests.time, indptr)
    lengths = np.diff(indptr)
    group = np.zeros(len(item), dtype=np.int64)
    for bar in bars:
        group += clicks < np.repeat(bar, lengths)
    return group


@once_per_input
def popularity_bar(history: Interactions, share: float) -> Bar:
    """Return the bar of a share of all events, at every moment of a history; raises InputError if it has no events."""
    n = len(history)
    if not n:
        raise InputError(
            "reranker: this one compares items by their clicks, and the history of this data has no events: choose "
            "reranker=mmr or reranker=none"
        )
    item = history.item if history.time is None else history.item[np.argsort(history.time)]
    most = int(history.clicks.max())
    bars = np.empty(n + 1, dtype=np.int32)
    _bars(item, share, np.zeros(history.n_items, dtype=np.int64), np.zeros((3, most + 2), dtype=np.int64), bars)
    start = np.flatnonzero(np.diff(bars, prepend=0))
    times = None if history.time is None else sorted_times(history)
    return Bar(times, start, bars[start].astype(np.int64))


@compiled("clicks", "level", "bars")
def _bars(item: Ints, share: float, clicks: Longs, level: Longs, bars: Ints) -> None:
    """Write the bar after each number of events into ``bars`` [n + 1].

    The numbers of clicks that items have form a list, in which an item moves to the next level with each event; the
    bar is one of these levels.

    Args:
        item: The item of each event, oldest first [n].
        share: The share of all events.
        clicks: The clicks on each item so far [n_items], all 0.
        level: For each number of clicks: the items that have it, and the next smaller and the next larger number that
            an item has, 0 for none [3, most + 2], all 0.
        bars: The bars.
    """
    holders, below, above = level[0], level[1], level[2]
    bars[0] = bar = 1
    reached = 0  # events of the items with at least as many clicks as the bar
    for n in range(1, len(item) + 1):
        old = clicks[item[n - 1]]
        new = old + 1
        clicks[item[n - 1]] = new
        if holders[new] == 0:  # between the old level, or nothing, and the next one
            below[new], above[new] = old, above[old]
            if above[old] > 0:
                below[above[old]] = new
            above[old] = new
        holders[new] += 1
        if old > 0:
            holders[old] -= 1
            if holders[old] == 0:
                above[below[old]] = new
                below[new] = below[old]
        reached += 1 if old >= bar else (new if new >= bar else 0)
        if old == bar and holders[old] == 0:
            bar = new
        needed = np.int64(np.ceil(share * n - 1e-6))  # 0.07 * 100 is a little above 7
        while reached < needed:
            bar = below[bar]
            reached += bar * holders[bar]
        while above[bar] > 0 and reached - bar * holders[bar] >= needed:
            reached -= bar * holders[bar]
            bar = above[bar]
        bars[n] = bar
