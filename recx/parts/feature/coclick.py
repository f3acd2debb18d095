"""Co-clicks of the item with the user's last clicks, as of the request.

Known: the events of all users before the request; without times, all of the history.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import Decay, PositiveFloat, PositiveInt, checked
from recx.core.entities import UNKNOWN_TIME
from recx.core.memo import once_per_input
from recx.core.protocols import FittedFeature
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Doubles, Floats, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.feature.fitted import FittedWith
from recx.parts.feature.rows import of_rows
from recx.parts.shared.click_counts import PairCounter, pair_counter
from recx.parts.shared.item_clicks import AllEvents, ItemClicks, all_events, item_clicks
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
        window: Largest age of a co-click that counts, such as ``1h``; None: all count. Ignored without times.
    """

    last: PositiveInt = 3
    recency: Decay = 0.7
    distance: PositiveInt = 3
    both_ways: bool = True
    window: Duration | None = None

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, _pairs(history, self.distance, self.both_ways))

    def values(self, pairs: _Pairs, candidates: RankedLists, requests: Requests) -> Floats:
        window = milliseconds(self.window, "feature.window") if self.window else None
        total = np.zeros(len(candidates), dtype=np.float32)
        for back in range(self.last):
            together = _together(candidates, pairs, requests, back)
            if window is not None and requests.time is not None:
                together = together - _together(candidates, pairs, requests, back, window)
            total += np.float32(self.recency**back) * together
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
        return FittedWith(self, (pairs, item_clicks(history), all_events(history)))

    def values(
        self, known: tuple[_Pairs, ItemClicks, AllEvents], candidates: RankedLists, requests: Requests
    ) -> Floats:
        pairs, clicks, events = known
        window = milliseconds(self.window, "feature.window")
        together = _together(candidates, pairs, requests, 0)
        prior = _share_of_clicks(candidates, clicks, events, requests, window)
        last = _clicks_on_last(requests, pairs.sequences, clicks)
        known_clicks = of_rows(last + self.strength, candidates)
        estimate: Floats = np.log((together + self.strength * prior) / known_clicks).astype(np.float32)
        return estimate


@once_per_input
def _share_of_clicks(
    candidates: RankedLists, clicks: ItemClicks, events: AllEvents, requests: Requests, window: int
) -> Doubles:
    """Return the share of each row's item in all clicks of the last ``window`` ms before the request [n_rows]."""
    total = of_rows(events.within(requests, window) + 1, candidates)
    share: Doubles = (clicks.within(candidates, requests, window) + 0.1) / total
    return share


@once_per_input
def _clicks_on_last(requests: Requests, clicked: Sequences, clicks: ItemClicks) -> Longs:
    """Return the clicks before each request on the item that its user clicked last [n_lists]."""
    return clicks.before(_clicked(requests, clicked, 0), requests.time)


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
def _together(candidates: RankedLists, pairs: _Pairs, requests: Requests, back: int, earlier: int = 0) -> Longs:
    """Return the co-clicks of each row's item and the user's ``back``-th click from the last on [n_rows].

    Those up to ``earlier`` ms before the request count.
    """
    now = np.full(len(requests), UNKNOWN_TIME) if requests.time is None else requests.time - earlier
    return pairs.counter.before(_clicked(requests, pairs.sequences, back), candidates.item, now, candidates.indptr)


@once_per_input
def _clicked(requests: Requests, clicked: Sequences, back: int) -> Ints:
    """Return the item of each user's ``back``-th click from the last on, which is 0 [n_lists]; -1: there is none."""
    return clicked.last(requests.user, back + 1)[:, back]
