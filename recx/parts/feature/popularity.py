"""Clicks on the item, as of the request.

Known: the events of all users before the request; without times, all of the history.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recx.core.bounds import checked
from recx.core.memo import once_per_input
from recx.core.protocols import FittedFeature
from recx.core.system.durations import SECOND, Duration, milliseconds
from recx.core.types import Array, Bools, Floats, Interactions, Longs, RankedLists, Requests
from recx.parts.feature.fitted import Constant, FittedWith
from recx.parts.feature.rows import of_rows
from recx.parts.shared.click_counts import EventCounter
from recx.parts.shared.item_clicks import AllEvents, ItemClicks, all_events, item_clicks


@dataclass(frozen=True)
@checked("feature")
class Clicks:
    """log(1 + clicks in the last ``window`` before the request).

    Attributes:
        window: Largest age of a click that counts, such as ``6h``; None: all clicks count.
    """

    window: Duration | None = None

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, item_clicks(history))

    def values(self, clicks: ItemClicks, candidates: RankedLists, requests: Requests) -> Floats:
        window = milliseconds(self.window, "feature.window") if self.window else None
        return np.log1p(clicks.within(candidates, requests, window)).astype(np.float32)


@dataclass(frozen=True)
@checked("feature")
class Trend:
    """log of the ratio of the click rates in a short and a long window, both smoothed by one click.

    Attributes:
        short: Length of the short window.
        long: Length of the long window.
    """

    short: Duration = "1h"
    long: Duration = "6h"

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, item_clicks(history))

    def values(self, clicks: ItemClicks, candidates: RankedLists, requests: Requests) -> Floats:
        short, long = milliseconds(self.short, "feature.short"), milliseconds(self.long, "feature.long")
        lately = clicks.within(candidates, requests, short) + 1
        before = clicks.within(candidates, requests, long) * (short / long) + 1
        return np.asarray(np.log(lately) - np.log(before), dtype=np.float32)


@dataclass(frozen=True)
class SinceClick:
    """log(1 + minutes since the last click on the item before the request); 0 if the data has no times.

    An item without a click before the request counts as last clicked at the start of the history.
    """

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, (item_clicks(history), all_events(history)))

    def values(self, known: tuple[ItemClicks, AllEvents], candidates: RankedLists, requests: Requests) -> Floats:
        clicks, events = known
        counter, times = clicks.counter, events.times
        if counter is None or times is None or requests.time is None or not len(times):
            return np.zeros(len(candidates), dtype=np.float32)
        count = clicks.within(candidates, requests, None)
        clicked = count > 0
        last = np.full(len(candidates), times[0])
        last[clicked] = counter.time[counter.indptr[candidates.item[clicked]] + count[clicked] - 1]
        away = np.maximum(0, of_rows(requests.time, candidates) - last)
        return np.asarray(np.log1p(away / (60 * SECOND)), dtype=np.float32)


@dataclass(frozen=True)
@checked("feature")
class PeerClicks:
    """log(1 + clicks in the last ``window`` before the request by users with the same value of ``column``).

    0 if the data lacks the column or the user's value is unknown.

    Attributes:
        column: Class column of the users' table, such as region.
        window: Largest age of a click that counts.
    """

    column: str = "region"
    window: Duration = "6h"

    def fit(self, history: Interactions) -> FittedFeature:
        if history.time is None or self.column not in history.users.table:
            return Constant(0)
        return FittedWith(self, _peers(history, self.column))

    def values(self, peers: _Peers, candidates: RankedLists, requests: Requests) -> Floats:
        if requests.time is None:
            return np.zeros(len(candidates), dtype=np.float32)
        window = milliseconds(self.window, "feature.window")
        clicks = _before_requests(candidates, peers, requests, 0) - _before_requests(
            candidates, peers, requests, window
        )
        return np.where(_kinds(candidates, peers, requests)[1], np.log1p(clicks), 0).astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Peers:
    """Counts the clicks by item and group, of the users whose group is known.

    Attributes:
        column: The column of the users' table that holds the groups.
        group: The group of each user [n_users], -1 if unknown.
        n_groups: Number of groups.
        counter: Counts the clicks of kind ``item * n_groups + group``.
    """

    column: str
    group: Array
    n_groups: int
    counter: EventCounter

    def for_users(self, history: Interactions) -> _Peers:
        return replace(self, group=history.users.table[self.column])


@once_per_input
def _peers(history: Interactions, column: str) -> _Peers:
    assert history.time is not None
    group = history.users.table[column]
    n_groups = int(group.max(initial=0)) + 1
    known = group[history.user] >= 0
    kind = history.item[known].astype(np.int64) * n_groups + group[history.user[known]]
    return _Peers(column, group, n_groups, EventCounter.of(kind, history.time[known]))


@once_per_input
def _kinds(candidates: RankedLists, peers: _Peers, requests: Requests) -> tuple[Longs, Bools]:
    """Return the kind of a click by the user's group on each row's item, and whether the group is known [n_rows]."""
    own = of_rows(peers.group[requests.user], candidates)
    return candidates.item.astype(np.int64) * peers.n_groups + own, own >= 0


@once_per_input
def _before_requests(candidates: RankedLists, peers: _Peers, requests: Requests, earlier: int) -> Longs:
    """Return the clicks by the user's group on each row's item up to ``earlier`` ms before the request [n_rows]."""
    assert requests.time is not None
    return peers.counter.before(_kinds(candidates, peers, requests)[0], requests.time - earlier, candidates.indptr)
