"""The most clicked items, counted as of the request's time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from recx.duration import milliseconds
from recx.protocols import Seen
from recx.ragged import indptr_of
from recx.select import best
from recx.types import Doubles, Interactions, Ints, Longs, RankedLists, Requests

NEGLIGIBLE = 1e-6  # a click that ageing has brought below this does not count


@dataclass(frozen=True)
class Popularity:
    """Counts clicks before each request; an item without a counted click is not retrieved.

    window: only clicks that are at most this old count, such as ``3h``; None: all.
    half_life: a click counts half after this time; None: clicks do not age.
    Where the data has no times every click of the history counts 1.
    """

    window: str | None = None
    half_life: str | None = None
    seen: Seen = "drop"

    def __post_init__(self) -> None:
        for key, text in (("window", self.window), ("half_life", self.half_life)):
            if text is not None:
                milliseconds(text, f"retriever.{key}")

    def fit(self, history: Interactions) -> Popularity:
        """Return this very retriever: the counts belong to the request, not to the fit."""
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return each request's most clicked items."""
        if history.time is None or requests.time is None:
            counts = np.where(history.clicks > 0, history.clicks, -np.inf).astype(np.float32)
            return best(lambda block: np.tile(counts, (len(block), 1)), history, requests, k, self.seen)

        # Neighbours in time share nearly all counts, so the requests are served in the order of time.
        by_time = np.argsort(requests.time, kind="stable")
        clock = np.argsort(history.time, kind="stable")
        time, item = history.time[clock], history.item[clock]

        def score(block: Requests) -> Any:
            return self._counts(time, item, block, history.n_items)

        lists = best(score, history, requests[by_time], k, self.seen)
        back = np.empty_like(by_time)
        back[by_time] = np.arange(len(by_time))
        return lists.take(back)

    def _counts(self, time: Longs, item: Ints, block: Requests, n_items: int) -> Any:
        """Return the counts [n_lists, n_items] as of each of the block's requests, which rise in time.

        A CSR where only clicks of late count, since few items then have any; else a dense array.

        Every click is entered at the first request after it and taken out again at the first request for which it is
        too old; sums along the block then give the counts of all requests at once.
        """
        asked = block.time
        assert asked is not None
        window = self._reach()
        first = 0 if window is None else int(np.searchsorted(time, asked[0] - window))
        last = int(np.searchsorted(time, asked[-1]))
        time, item = time[first:last], item[first:last]
        weight = self._aged(time, asked[-1])
        active, column = np.unique(item, return_inverse=True)
        change = np.zeros((len(asked) + 1) * len(active))
        enter = np.searchsorted(asked, time, side="right")
        np.add.at(change, enter * len(active) + column, weight)
        if window is not None:
            leave = np.searchsorted(asked, time + window, side="right")
            np.subtract.at(change, leave * len(active) + column, weight)
        counts = np.cumsum(change.reshape(-1, max(1, len(active))), axis=0)[: len(asked)]
        counts *= self._aged(np.repeat(asked[-1], len(asked)), asked)[:, None]
        if window is None:
            scores = np.full((len(asked), n_items), -np.inf, dtype=np.float32)
            scores[:, active] = np.where(counts > 0, counts, -np.inf)
            return scores
        # Sums that should cancel leave residues of rounding, far below the weight of any click that counts.
        line, place = np.divmod(np.flatnonzero(counts > NEGLIGIBLE), max(1, len(active)))
        indptr = indptr_of(np.bincount(line, minlength=len(asked)))
        few = (counts[line, place].astype(np.float32), active[place], indptr)
        return sparse.csr_array(few, shape=(len(asked), n_items))

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
