"""The most clicked items as of the time of the request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recx.core.bounds import checked
from recx.core.memo import once_per_input
from recx.core.protocols import Seen
from recx.core.ragged import blocks
from recx.core.system.durations import Duration, milliseconds
from recx.core.system.threads import available, side_by_side
from recx.core.types import Doubles, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.shared.popular_items import Clicks, most_clicked, weights_of
from recx.parts.shared.top_k import Eligibility, lists_of

NEGLIGIBLE = 1e-6  # a click whose weight has decayed below this does not count
EXACT = 2**24  # up to here, float32 holds every count
PIECE = 20_000  # requests that are at least worth another sweep over the clicks


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
        if history.time is None or requests.time is None:  # as if every request came after all clicks
            time, now = np.zeros(len(history), dtype=np.int64), np.ones(len(requests), dtype=np.int64)
            return Popularity(seen=self.seen)._lists(time, history.item, history, requests, now, k)
        return self._lists(*_oldest_first(history), history, requests, requests.time, k)

    def _lists(
        self, time: Longs, item: Ints, history: Interactions, requests: Requests, now: Longs, k: int
    ) -> RankedLists:
        """Return the lists as of ``now``, of clicks on ``item`` at ``time``, which are sorted by time."""
        half_life = milliseconds(self.half_life, "retriever.half_life") if self.half_life else 0
        weight = _weights(history, half_life) if half_life else np.zeros(0)
        clicks = Clicks(item, time, weight, self._reach(half_life), half_life)
        clicked, by_time = np.flatnonzero(history.clicks).astype(np.int32), np.argsort(now)
        before = np.searchsorted(time, now[by_time])
        counted = before if clicks.reach < 0 else before - np.searchsorted(time, now[by_time] - clicks.reach)
        k = min(k, len(clicked), int(counted.max(initial=0)))  # no list can be longer
        rules = Eligibility(history, self.seen).rules(requests[by_time])
        hidden = np.diff(rules.indptr)[rules.user]
        spare = int(np.quantile(hidden, 0.9)) if len(hidden) else 0
        exact = not half_life and int(history.clicks.max(initial=0)) > EXACT
        score = np.empty((len(now), k), dtype=np.float64 if exact else np.float32)
        found, length = np.empty((len(now), k), dtype=np.int32), np.zeros(len(now), dtype=np.int64)

        def find(piece: tuple[int, int]) -> None:
            rows = slice(*piece)
            own = rules._replace(now=rules.now[rows], user=rules.user[rows])
            some = before[rows], by_time[rows], own
            most_clicked(clicks, *some, clicked, history.n_items, spare, found, score, length)

        pieces = blocks(len(now) if k else 0, max(PIECE, -(-len(now) // (4 * available()))))
        side_by_side(find, pieces)
        return lists_of(requests.user, length, found, score)

    def _reach(self, half_life: int) -> int:
        """Return the largest age in ms of a click that counts: the window, or that of a negligible weight; -1: any."""
        window = milliseconds(self.window, "retriever.window") if self.window else -1
        if not half_life:
            return window
        faded = int(-np.log2(NEGLIGIBLE) * half_life)
        return min(window, faded) if self.window else faded


@once_per_input
def _oldest_first(history: Interactions) -> tuple[Longs, Ints]:
    """Return the times of all clicks, oldest first, and their items; clicks at the same time are interchangeable."""
    assert history.time is not None
    order = np.argsort(history.time)
    return history.time[order], history.item[order]


@once_per_input
def _weights(history: Interactions, half_life: int) -> Doubles:
    """Return the weights of all clicks, oldest first."""
    return weights_of(_oldest_first(history)[0], half_life)
