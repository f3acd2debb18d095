"""Clicks on the item, as of the request."""

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
    """log(1 + clicks in the last ``window`` before the request).

    Attributes:
        window: Largest age of a click that counts, such as ``6h``; None: all clicks count.
    """

    window: Duration | None = None

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        window = milliseconds(self.window, "feature.window") if self.window else None
        return np.log1p(clicks_within(candidates, history, requests, window)).astype(np.float32)


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

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        short, long = milliseconds(self.short, "feature.short"), milliseconds(self.long, "feature.long")
        lately = clicks_within(candidates, history, requests, short) + 1
        before = clicks_within(candidates, history, requests, long) * (short / long) + 1
        return np.asarray(np.log(lately) - np.log(before), dtype=np.float32)


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

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        group = history.users.table.get(self.column)
        if group is None or history.time is None or requests.time is None:
            return np.zeros(len(candidates), dtype=np.float32)
        own = of_rows(group[requests.user], candidates)
        kind = candidates.item.astype(np.int64) * (int(group.max(initial=0)) + 1) + own
        since = requests.time - milliseconds(self.window, "feature.window")
        clicks = _peer_counter(history, self.column).between(kind, since, requests.time, candidates.indptr)
        return np.where(own >= 0, np.log1p(clicks), 0).astype(np.float32)


@once_per_input
def _peer_counter(history: Interactions, column: str) -> EventCounter:
    """Return the counter of clicks by item and group, of the users whose group is known."""
    assert history.time is not None
    group = history.users.table[column]
    known = group[history.user] >= 0
    kind = history.item[known].astype(np.int64) * (int(group.max(initial=0)) + 1) + group[history.user[known]]
    return EventCounter(kind, history.time[known])
