"""How often others went from the user's last clicks to the item, as of the request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import Decay, PositiveFloat, PositiveInt, checked
from recx.core.entities import UNKNOWN_TIME
from recx.core.memo import once_per_input
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Bools, Floats, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.feature.rows import clicks_within, of_rows
from recx.parts.shared.click_counts import item_counter, pair_counter


@dataclass(frozen=True)
@checked("feature")
class CoClicks:
    """log(1 + sum over the user's last clicks of recency ** place x co-clicks of that click and the item).

    A co-click is a pair of one user's events at most ``distance`` places apart, one of either item; with ``both_ways:
    false`` only where the item comes after the click. It counts from its later event on.
    """

    last: PositiveInt = 3
    recency: Decay = 0.7
    distance: PositiveInt = 3
    both_ways: bool = True

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        total = np.zeros(len(candidates), dtype=np.float32)
        for place in range(self.last):
            counts = _together(candidates, history, requests, place, self.distance, self.both_ways)
            total += np.float32(self.recency**place) * counts
        return np.log1p(total)


@dataclass(frozen=True)
@checked("feature")
class Transition:
    """log of the estimated chance that the item follows the user's last click.

    The share of the readers of that click who went on to the item, drawn towards the item's share of all clicks in the
    last ``window`` by ``strength`` readers' worth (a Dirichlet prior): rare clicks fall back on what is popular.
    """

    distance: PositiveInt = 1
    both_ways: bool = False
    strength: PositiveFloat = 5.0
    window: Duration = "6h"

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        window = milliseconds(self.window, "feature.window")
        together = _together(candidates, history, requests, 0, self.distance, self.both_ways)
        prior = (clicks_within(candidates, history, requests, window) + 0.1) / of_rows(
            _all_clicks(history, requests, window) + 1, candidates
        )
        clicked, there = _last_click(history, requests, 0)
        readers = np.where(there, _clicks_of(history, requests, clicked), 0)
        chance = (together + self.strength * prior) / of_rows(readers + self.strength, candidates)
        return np.log(chance).astype(np.float32)


@once_per_input
def _together(
    candidates: RankedLists, history: Interactions, requests: Requests, place: int, distance: int, both_ways: bool
) -> Longs:
    """Return the co-clicks before the request of every row's item and the user's last click but ``place`` [n_rows]."""
    clicked, there = _last_click(history, requests, place)
    now = np.full(len(requests), UNKNOWN_TIME) if requests.time is None else requests.time
    counts = pair_counter(history, distance, both_ways).before(
        of_rows(clicked, candidates), candidates.item, of_rows(now, candidates)
    )
    return np.where(of_rows(there, candidates), counts, 0)


def _last_click(history: Interactions, requests: Requests, place: int) -> tuple[Ints, Bools]:
    """Return (item, whether there is one) of each user's last click but ``place`` [n_lists]."""
    row = history.indptr[requests.user + 1] - 1 - place
    there = row >= history.indptr[requests.user]
    clicked = np.zeros(len(requests), dtype=np.int32)
    clicked[there] = history.item[row[there]]
    return clicked, there


def _clicks_of(history: Interactions, requests: Requests, item: Ints) -> Longs:
    """Return the clicks of each user's item before the request [n_lists]."""
    if history.time is None or requests.time is None:
        return history.clicks[item]
    return item_counter(history).before(item, requests.time)


def _all_clicks(history: Interactions, requests: Requests, window: int) -> Longs:
    """Return all clicks within the window before each request [n_lists]; of all time where data has no times."""
    if history.time is None or requests.time is None:
        return np.full(len(requests), len(history))
    times = _sorted_times(history)
    return np.searchsorted(times, requests.time) - np.searchsorted(times, requests.time - window)


@once_per_input
def _sorted_times(history: Interactions) -> Longs:
    assert history.time is not None
    return np.sort(history.time)
