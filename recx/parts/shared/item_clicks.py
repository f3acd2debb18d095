"""The clicks on items and all events, counted as of the request: the owners that features and re-rankers share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.memo import once_per_input
from recx.core.types import Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.shared.click_counts import EventCounter, sorted_times


@dataclass(frozen=True, eq=False)
class ItemClicks:
    """Counts the clicks on items before a time; without times, all of them.

    Attributes:
        counter: Counts the clicks on each item before a time; None if the history has no times.
        total: Number of clicks per item [n_items].
    """

    counter: EventCounter | None
    total: Longs

    def before(self, item: Ints, time: Longs | None, indptr: Longs | None = None) -> Longs:
        """Return the clicks on each item [n], 0 for item -1, before each time (see ``EventCounter.before``)."""
        if self.counter is None or time is None:
            return np.where(item < 0, 0, self.total[item])
        return self.counter.before(item, time, indptr)

    def within(self, candidates: RankedLists, requests: Requests, window: int | None) -> Longs:
        """Return the clicks on each row's item in the last ``window`` ms before the request [n_rows]; None: ever."""
        until_now = _before_requests(candidates, self, requests, 0)
        if window is None or self.counter is None or requests.time is None:
            return until_now
        return until_now - _before_requests(candidates, self, requests, window)


@once_per_input
def item_clicks(history: Interactions) -> ItemClicks:
    """Return the counts of a history."""
    counter = None if history.time is None else EventCounter.of(history.item, history.time)
    return ItemClicks(counter, history.clicks)


@once_per_input
def _before_requests(candidates: RankedLists, clicks: ItemClicks, requests: Requests, earlier: int) -> Longs:
    """Return the clicks on each row's item up to ``earlier`` ms before the request [n_rows], once for all features."""
    time = None if requests.time is None else requests.time - earlier
    return clicks.before(candidates.item, time, candidates.indptr)


@dataclass(frozen=True, eq=False)
class AllEvents:
    """Counts all events before a time; without times, all of them.

    Attributes:
        n: Number of events.
        times: Their times in ms, sorted; None if the history has no times.
    """

    n: int
    times: Longs | None

    def within(self, requests: Requests, window: int | None) -> Longs:
        """Return the events in the last ``window`` ms before each request [n_lists]; None: ever."""
        if self.times is None or requests.time is None:
            return np.full(len(requests), self.n)
        before = np.searchsorted(self.times, requests.time)
        return before if window is None else before - np.searchsorted(self.times, requests.time - window)


@once_per_input
def all_events(history: Interactions) -> AllEvents:
    """Return the counts of a history."""
    return AllEvents(len(history), None if history.time is None else sorted_times(history))
