"""The most clicked items as of the time of the request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recx.core.bounds import checked
from recx.core.precision import narrowed
from recx.core.protocols import Seen
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Doubles, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.shared.top_k import OfItems, top_k

NEGLIGIBLE = 1e-6  # a click whose weight has decayed below this does not count
EXACT = 2**24  # up to here, float32 holds every count
SPAN = 500  # half-lives covered by requests that are counted together: 2 ** SPAN and its inverse fit a float64


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
        """Return each request's most clicked items."""
        if history.time is None or requests.time is None:
            counts = narrowed(np.where(history.clicks > 0, history.clicks, -np.inf))
            return top_k(lambda block: np.tile(counts, (len(block), 1)), history, requests, k, self.seen)

        # Requests close in time share nearly all counts, so they are processed in the order of time.
        by_time = np.argsort(requests.time, kind="stable")
        oldest_first = np.argsort(history.time, kind="stable")
        time, item = history.time[oldest_first], history.item[oldest_first]

        def score(block: Requests) -> OfItems:
            return self._counts(time, item, block, history.n_items)

        lists = top_k(score, history, requests[by_time], k, self.seen)
        back = np.empty_like(by_time)
        back[by_time] = np.arange(len(by_time))
        return lists.take(back)

    def _counts(self, time: Longs, item: Ints, block: Requests, n_items: int) -> OfItems:
        """Return the counts of the clicked items as of each request of the block, whose times increase.

        Clicks before the first request are counted together. Each later click is added at the first request after it,
        each click is removed at the first request for which it is too old, and cumulative sums along the block give the
        counts of all requests.
        """
        now = block.time
        assert now is not None
        middle = self._border(now)
        if middle:
            return _below(*(self._counts(time, item, part, n_items) for part in (block[:middle], block[middle:])))
        window = self._reach()
        first = 0 if window is None else int(np.searchsorted(time, now[0] - window))
        last = int(np.searchsorted(time, now[-1]))
        time, item = time[first:last], item[first:last]
        weight = self._aged(time, now[-1])
        active = np.flatnonzero(np.bincount(item, minlength=n_items))
        column_of = np.zeros(n_items, dtype=np.int64)
        column_of[active] = np.arange(len(active))
        column = column_of[item]
        change = np.zeros((len(now), len(active)))
        flat = change.reshape(-1)  # the fast path of ``np.add.at`` takes a single index
        old = int(np.searchsorted(time, now[0]))
        change[0] = np.bincount(column[:old], weight[:old], minlength=len(active))
        enter = np.searchsorted(now, time[old:], side="right")
        np.add.at(flat, enter * len(active) + column[old:], weight[old:])
        if window is not None:
            gone = int(np.searchsorted(time, now[-1] - window))
            leave = np.searchsorted(now, time[:gone] + window, side="right")
            np.subtract.at(flat, leave * len(active) + column[:gone], weight[:gone])
        counts = np.cumsum(change, axis=0, out=change)
        counts *= self._aged(np.repeat(now[-1], len(now)), now)[:, None]
        # Sums that should cancel leave rounding errors, far below the weight of any click that counts.
        least = 0.0 if window is None else NEGLIGIBLE
        exact = self.half_life is None and counts.max(initial=0) > EXACT
        return OfItems(np.where(counts > least, counts, -np.inf).astype(np.float64 if exact else np.float32), active)

    def _border(self, now: Longs) -> int:
        """Return where to split requests that are too many half-lives apart to be counted together; 0: nowhere."""
        if self.half_life is None:
            return 0
        span = int(now[-1] - now[0])
        if span <= SPAN * milliseconds(self.half_life, "retriever.half_life"):
            return 0
        return int(np.searchsorted(now, now[0] + span // 2, side="right"))

    def _reach(self) -> int | None:
        """Return the largest age in ms of a click that counts: the window, or the age at which it is negligible."""
        window = milliseconds(self.window, "retriever.window") if self.window else None
        if self.half_life is None:
            return window
        faded = int(-np.log2(NEGLIGIBLE) * milliseconds(self.half_life, "retriever.half_life"))
        return faded if window is None else min(window, faded)

    def _aged(self, time: Longs, now: Longs) -> Doubles:
        if self.half_life is None:
            return np.ones(len(time))
        return np.exp2((time - now) / milliseconds(self.half_life, "retriever.half_life"))


def _below(upper: OfItems, lower: OfItems) -> OfItems:
    """Return the scores of two blocks as those of one block, the upper lists first."""
    item = np.union1d(upper.item, lower.item)
    score = np.full((len(upper.score) + len(lower.score), len(item)), -np.inf, dtype=np.float32)
    score[: len(upper.score), np.searchsorted(item, upper.item)] = upper.score
    score[len(upper.score) :, np.searchsorted(item, lower.item)] = lower.score
    return OfItems(score, item)
