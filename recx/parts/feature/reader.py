"""Properties of the user at the request, as a factor on another feature.

A linear model over the candidates of one user cannot use a value that is the same for all of them, but it can use its
product with a feature that differs between them.

Known: the user's events before the request, its time, and what the other feature knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recx.core.bounds import checked
from recx.core.memo import once_per_input
from recx.core.precision import Reals
from recx.core.protocols import Feature, FittedFeature
from recx.core.system.durations import HOUR, Duration, milliseconds
from recx.core.types import Floats, Interactions, Longs, RankedLists, Requests
from recx.parts.feature.fitted import FittedWith
from recx.parts.feature.rows import of_rows
from recx.parts.shared.design_matrix import fitted_on


@dataclass(frozen=True)
@checked("feature")
class Times:
    """Another feature times a property of the user.

    All properties but ``activity`` are 0 if the data has no times; ``freshness`` and ``absence`` are 0 for a user
    without events.

    Attributes:
        feature: The other feature.
        by: ``activity``, log(1 + events of the user);
            ``freshness``, 2 ** (-time since the user's last event / half_life), near 1 within a session;
            ``absence``, log(1 + hours since the user's last event);
            ``night``, the cosine of the hour of the day in UTC, 1 at midnight and -1 at noon.
        half_life: Half-life of ``freshness``.
    """

    feature: Feature
    by: Literal["activity", "freshness", "absence", "night"]
    half_life: Duration = "1h"

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, (fitted_on(history, self.feature), _activity(history)))

    def values(self, known: tuple[FittedFeature, _Activity], candidates: RankedLists, requests: Requests) -> Reals:
        feature, activity = known
        factor = _factor(requests, activity, self.by, milliseconds(self.half_life, "feature.half_life"))
        return feature(candidates, requests) * of_rows(factor, candidates)


@once_per_input
def _factor(requests: Requests, activity: _Activity, by: str, half_life: int) -> Floats:
    """Return the property of each request's user [n_lists], once for all features that it is a factor of."""
    events = activity.events[requests.user]
    if by == "activity":
        return np.log1p(events).astype(np.float32)
    factor, known = np.zeros(len(requests)), events > 0
    if activity.last is not None and requests.time is not None:
        away = np.maximum(0, requests.time[known] - activity.last[requests.user[known]])
        if by == "night":
            factor = np.cos(2 * np.pi * (requests.time % (24 * HOUR)) / (24 * HOUR))
        elif by == "freshness":
            factor[known] = np.exp2(-away / half_life)
        else:
            factor[known] = np.log1p(away / HOUR)
    return factor.astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Activity:
    """When the users were active.

    Attributes:
        events: Number of events of each user [n_users].
        last: Time of each user's last event [n_users], 0 without events; None if the data has no times.
    """

    events: Longs
    last: Longs | None

    def for_users(self, history: Interactions) -> _Activity:
        return _activity(history)


@once_per_input
def _activity(history: Interactions) -> _Activity:
    if history.time is None:
        return _Activity(history.lengths, None)
    last, known = np.zeros(history.n_users, dtype=np.int64), history.lengths > 0
    last[known] = history.time[history.indptr[1:][known] - 1]
    return _Activity(history.lengths, last)
