"""Co-clicks of the item with the user's last clicks, as of the request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import Decay, PositiveFloat, PositiveInt, checked
from recx.core.entities import UNKNOWN_TIME
from recx.core.memo import once_per_input
from recx.core.protocols import FittedFeature
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Floats, Interactions, Longs, RankedLists, Requests
from recx.parts.feature.clicks import AllEvents, ItemClicks, item_clicks
from recx.parts.feature.fitted import FittedWith
from recx.parts.feature.rows import of_rows
from recx.parts.shared.click_counts import PairCounter, pair_counter
from recx.parts.shared.sequences import Sequences, sequences


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

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, _pairs(history, self.distance, self.both_ways))

    def values(self, pairs: _Pairs, candidates: RankedLists, requests: Requests) -> Floats:
        total = np.zeros(len(candidates), dtype=np.float32)
        for back, counts in enumerate(_together(candidates, pairs, requests, self.last)):
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

    def fit(self, history: Interactions) -> FittedFeature:
        pairs = _pairs(history, self.distance, self.both_ways)
        return FittedWith(self, (pairs, item_clicks(history), AllEvents.of(history)))

    def values(
        self, known: tuple[_Pairs, ItemClicks, AllEvents], candidates: RankedLists, requests: Requests
    ) -> Floats:
        pairs, clicks, events = known
        window = milliseconds(self.window, "feature.window")
        (together,) = _together(candidates, pairs, requests, 1)
        total = of_rows(events.within(requests, window) + 1, candidates)
        prior = (clicks.within(candidates, requests, window) + 0.1) / total
        clicked = pairs.sequences.last(requests.user, 1)[:, 0]
        known_clicks = of_rows(clicks.before(clicked, requests.time) + self.strength, candidates)
        estimate: Floats = np.log((together + self.strength * prior) / known_clicks).astype(np.float32)
        return estimate


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Counts the co-clicks of items with users' last clicks.

    Attributes:
        counter: Counts the co-clicks of two items.
        sequences: The users' clicks.
    """

    counter: PairCounter
    sequences: Sequences


@once_per_input
def _pairs(history: Interactions, distance: int, both_ways: bool) -> _Pairs:
    return _Pairs(pair_counter(history, distance, both_ways), sequences(history))


@once_per_input
def _together(candidates: RankedLists, pairs: _Pairs, requests: Requests, last: int) -> Longs:
    """Return the co-clicks before the request of each row's item and the user's last clicks [last, n_rows]."""
    clicked = pairs.sequences.last(requests.user, last)
    now = np.full(len(requests), UNKNOWN_TIME) if requests.time is None else requests.time
    return pairs.counter.before(clicked, candidates.item, now, candidates.indptr)
