"""How often an item was clicked, as of the request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import checked
from recx.core.memo import once_per_input
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Floats, Interactions, RankedLists, Requests
from recx.parts.feature.rows import clicks_within, of_rows
from recx.parts.shared.click_counts import EventCounter


@dataclass(frozen=True)
@checked("feature")
class Clicks:
    """log(1 + clicks in the last ``window`` before the request), such as ``6h``; None: of all time."""

    window: Duration | None = None

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        window = milliseconds(self.window, "feature.window") if self.window else None
        return np.log1p(clicks_within(candidates, history, requests, window)).astype(np.float32)


@dataclass(frozen=True)
@checked("feature")
class Trend:
    """log of the click rate in the last ``short`` against that in the last ``long``, both smoothed by one click."""

    short: Duration = "1h"
    long: Duration = "6h"

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        short, long = milliseconds(self.short, "feature.short"), milliseconds(self.long, "feature.long")
        lately = clicks_within(candidates, history, requests, short) + 1
        before = clicks_within(candidates, history, requests, long) * (short / long) + 1
        trend: Floats = (np.log(lately) - np.log(before)).astype(np.float32)
        return trend


@dataclass(frozen=True)
@checked("feature")
class PeerClicks:
    """log(1 + clicks in the last ``window`` before the request by users who share the asking user's ``column``).

    column: a class column of the users' table, such as region; 0 where the data has none or the user's is unknown.
    """

    column: str = "region"
    window: Duration = "6h"

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        group = history.users.table.get(self.column)
        if group is None or history.time is None or requests.time is None:
            return np.zeros(len(candidates), dtype=np.float32)
        clock, groups = _peer_clock(history, self.column), int(group.max(initial=0)) + 1
        own = of_rows(group[requests.user], candidates)
        now = of_rows(requests.time, candidates)
        kind = candidates.item.astype(np.int64) * groups + own
        clicks = clock.between(kind, now - milliseconds(self.window, "feature.window"), now)
        return np.where(own >= 0, np.log1p(clicks), 0).astype(np.float32)


@once_per_input
def _peer_clock(history: Interactions, column: str) -> EventCounter:
    """Return the clock of clicks by item and group of user, of the users whose group is known."""
    assert history.time is not None
    group = history.users.table[column]
    known = group[history.user] >= 0
    kind = history.item[known].astype(np.int64) * (int(group.max(initial=0)) + 1) + group[history.user[known]]
    return EventCounter(kind, history.time[known])
