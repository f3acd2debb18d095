"""Co-clicks of the item with the user's last clicks, as of the request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import Decay, PositiveFloat, PositiveInt, checked
from recx.core.entities import UNKNOWN_TIME
from recx.core.memo import once_per_input
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Floats, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.feature.rows import clicks_within, events_within, of_rows
from recx.parts.shared.click_counts import item_counter, pair_counter


@dataclass(frozen=True)
@checked("feature")
class CoClicks:
    """log(1 + sum over the n-th newest clicks of the user of recency ** n * co-clicks of that click and the item).

    A co-click is a pair of events of one user; it counts from its later event on.

    Attributes:
        last: Number of last clicks of the user.
        recency: Weight of each click relative to the next newer one.
        distance: Largest distance between the two events in the user's sequence.
        both_ways: Whether the item may come before the click; otherwise only after it.
    """

    last: PositiveInt = 3
    recency: Decay = 0.7
    distance: PositiveInt = 3
    both_ways: bool = True

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        total = np.zeros(len(candidates), dtype=np.float32)
        together = _together(candidates, history, requests, self.last, self.distance, self.both_ways)
        for back, counts in enumerate(together):
            total += np.float32(self.recency**back) * counts
        return np.log1p(total)


@dataclass(frozen=True)
@checked("feature")
class Transition:
    """log of the estimated probability that the item follows the user's last click.

    The estimate is the share of the users with that click who went on to the item, with a Dirichlet prior: the item's
    share of all clicks in the last ``window``. After rare clicks, popular items are the most probable.

    Attributes:
        distance: Largest distance between the two events in the user's sequence.
        both_ways: Whether the item may come before the click; otherwise only after it.
        strength: Weight of the prior, in users.
        window: Age of the clicks that the prior counts.
    """

    distance: PositiveInt = 1
    both_ways: bool = False
    strength: PositiveFloat = 5.0
    window: Duration = "6h"

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        window = milliseconds(self.window, "feature.window")
        (together,) = _together(candidates, history, requests, 1, self.distance, self.both_ways)
        total = of_rows(events_within(history, requests, window) + 1, candidates)
        prior = (clicks_within(candidates, history, requests, window) + 0.1) / total
        clicked = _last_clicks(history, requests, 1)[:, 0]
        if history.time is None or requests.time is None:
            clicks = np.where(clicked < 0, 0, history.clicks[clicked])
        else:
            clicks = item_counter(history).before(clicked, requests.time)
        known = of_rows(clicks + self.strength, candidates)
        estimate: Floats = np.log((together + self.strength * prior) / known).astype(np.float32)
        return estimate


@once_per_input
def _together(
    candidates: RankedLists, history: Interactions, requests: Requests, last: int, distance: int, both_ways: bool
) -> Longs:
    """Return the co-clicks before the request of each row's item and the user's last clicks [last, n_rows]."""
    clicked = _last_clicks(history, requests, last)
    now = np.full(len(requests), UNKNOWN_TIME) if requests.time is None else requests.time
    return pair_counter(history, distance, both_ways).before(clicked, candidates.item, now, candidates.indptr)


def _last_clicks(history: Interactions, requests: Requests, last: int) -> Ints:
    """Return the items of each user's last clicks, newest first [n_lists, last]; -1 where the user has fewer."""
    row = history.indptr[requests.user + 1, None] - 1 - np.arange(last)
    exists = row >= history.indptr[requests.user, None]
    clicked = np.full(row.shape, -1, dtype=np.int32)
    clicked[exists] = history.item[row[exists]]
    return clicked
