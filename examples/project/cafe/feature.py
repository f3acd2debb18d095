"""A number per candidate, from which the ranker learns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import (
    HOUR,
    Constant,
    EventCounter,
    FittedFeature,
    FittedWith,
    Floats,
    Interactions,
    Longs,
    NonNegativeInt,
    RankedLists,
    Requests,
    checked,
)


@dataclass(frozen=True)
@checked("feature")  # checks each setting against its annotation
class HourMatch:
    """The share of the item's events that happened at this time of the day; 0 if it has none, or there are no times.

    Attributes:
        hours: How many hours earlier or later still count as this time of the day.
    """

    hours: NonNegativeInt = 1

    def fit(self, history: Interactions) -> FittedFeature:
        if history.time is None:
            return Constant(0)
        of_item = EventCounter.of(history.item, history.time)
        of_hour = EventCounter.of(history.item * 24 + _hour(history.time), history.time)
        return FittedWith(self, (of_item, of_hour))  # computed once, and used for every request

    def values(
        self, counters: tuple[EventCounter, EventCounter], candidates: RankedLists, requests: Requests
    ) -> Floats:
        assert requests.time is not None  # as the history has times
        of_item, of_hour = counters
        item, now = candidates.item.astype(np.int64), requests.time[candidates.list_of_row]
        near = range(-min(self.hours, 11), min(self.hours, 12) + 1)  # each hour once
        matches = sum(of_hour.before(item * 24 + (_hour(now) + away) % 24, now) for away in near)
        share: Floats = (matches / np.maximum(1, of_item.before(item, now))).astype(np.float32)
        return share


def _hour(time: Longs) -> Longs:
    """Return the hour of the day of times in ms, from 0 to 23."""
    return time // HOUR % 24
