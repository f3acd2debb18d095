"""The most clicked items, counted as of the request's time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import checked
from recx.core.protocols import Seen
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Doubles, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.shared.top_k import OfItems, top_k

NEGLIGIBLE = 1e-6  # a click that ageing has brought below this does not count
SPAN = 500  # half-lives between the requests that are counted together: 2 ** SPAN and its inverse fit a float64


@dataclass(frozen=True)
@checked("retriever")
class Popularity:
    """Counts clicks before each request; an item without a counted click is not retrieved.

    window: only clicks that are at most this old count, such as ``3h``; None: all.
    half_life: a click counts half after this time; None: clicks do not age.
    Where the data has no times every click of the history counts 1.
    """

    window: Duration | None = None
    half_life: Duration | None = None
    seen: Seen = "drop"

    def fit(self, history: Interactions) -> Popularity:
        """Return this very retriever: the counts belong to the request, not to the fit."""
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return each request's most clicked items."""
        if history.time is None or requests.time is None:
            counts = np.where(history.clicks > 0, history.clicks, -np.inf).astype(np.float32)
            return top_k(lambda block: np.tile(counts, (len(block), 1)), history, requests, k, self.seen)

        # Neighbours in time share nearly all counts, so the requests are served in the order of time.
        by_time = np.argsort(requests.time, kind="stable")
        clock = np.argsort(history.time, kind="stable")
        time, item = history.time[clock], history.item[clock]

        def score(block: Requests) -> OfItems:
            return self._counts(time, item, block, history.n_items)

        lists = top_k(score, history, requests[by_time], k, self.seen)
        back = np.empty_like(by_time)
        back[by_time] = np.arange(len(by_time))
        return lists.take(back)

    def _counts(self, time: Longs, item: Ints, block: Requests, n_items: int) -> OfItems:
        """Return the counts of what was clicked at all, as of each of the block's requests, which rise in time.

        What was clicked before the first request is counted at once. Every later click is entered at the first request
        after it, every click is taken out at the first request for which it is too old, and sums along the block then
        give the counts of all requests.
        """
        asked = block.time
        assert asked is not None
        middle = self._border(asked)
        if middle:
            return _below(*(self._counts(time, item, part, n_items) for part in (block[:middle], block[middle:])))
        window = self._reach()
        first = 0 if window is None else int(np.searchsorted(time, asked[0] - window))
        last = int(np.searchsorted(time, asked[-1]))
        time, item = time[first:last], item[first:last]
        weight = self._aged(time, asked[-1])
        active = np.flatnonzero(np.bincount(item, minlength=n_items))
        place = np.zeros(n_items, dtype=np.int64)
        place[active] = np.arange(len(active))
        column = place[item]
        change = np.zeros((len(asked), len(active)))
        flat = change.reshape(-1)  # NumPy's fast path for ``add.at`` takes one index only
        old = int(np.searchsorted(time, asked[0]))
        change[0] = np.bincount(column[:old], weight[:old], minlength=len(active))
        enter = np.searchsorted(asked, time[old:], side="right")
        np.add.at(flat, enter * len(active) + column[old:], weight[old:])
        if window is not None:
            gone = int(np.searchsorted(time, asked[-1] - window))
            leave = np.searchsorted(asked, time[:gone] + window, side="right")
            np.subtract.at(flat, leave * len(active) + column[:gone], weight[:gone])
        counts = np.cumsum(change, axis=0, out=change)
        counts *= self._aged(np.repeat(asked[-1], len(asked)), asked)[:, None]
        # Sums that should cancel leave residues of rounding, far below the weight of any click that counts.
        least = 0.0 if window is None else NEGLIGIBLE
        return OfItems(np.where(counts > least, counts, -np.inf).astype(np.float32), active)

    def _border(self, asked: Longs) -> int:
        """Return where to part requests that lie too many half-lives apart to be counted together; 0: nowhere."""
        if self.half_life is None:
            return 0
        span = int(asked[-1] - asked[0])
        if span <= SPAN * milliseconds(self.half_life, "retriever.half_life"):
            return 0
        return int(np.searchsorted(asked, asked[0] + span // 2, side="right"))

    def _reach(self) -> int | None:
        """Return how old a click may be to count, ms: the window, or when ageing has made it negligible."""
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
    """Return the scores of two blocks as those of one, the first block's lists first."""
    item = np.union1d(upper.item, lower.item)
    score = np.full((len(upper.score) + len(lower.score), len(item)), -np.inf, dtype=np.float32)
    score[: len(upper.score), np.searchsorted(item, upper.item)] = upper.score
    score[len(upper.score) :, np.searchsorted(item, lower.item)] = lower.score
    return OfItems(score, item)
