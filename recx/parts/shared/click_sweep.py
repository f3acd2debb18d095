"""A sweep over clicks in the order of time, which keeps the total of each item, and marks where another may go on.

With a half-life, a click weighs 2^(half-lives since the start of its epoch) and totals are relative to the start of the
current epoch (see ``recx.parts.shared.popular_items``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recx.core.compiled import compiled
from recx.core.types import Doubles, Ints, Longs

SPAN = 500  # half-lives: 2^SPAN times the number of clicks, and its inverse, fit into a float64
NEXT_EPOCH = 2.0**-SPAN


class Clicks(NamedTuple):
    """Clicks in the order of time, and how long they count.

    Attributes:
        item: The item of each click [n].
        time: The time of each click [n], read if there is a reach.
        weight: The weight of each click [n] (see ``weights_of``), read if there is a half-life.
        reach: Largest age of a click that counts; -1: any. With a half-life there is one, far below ``SPAN`` of it.
        half_life: Time after which a weight has halved; 0: every click counts 1.
    """

    item: Ints
    time: Longs
    weight: Doubles
    reach: int
    half_life: int


class Totals(NamedTuple):
    """What the clicks of each item sum up to.

    Attributes:
        weight: Sum of the weights of the clicks that count [n_items].
        clicks: Their number [n_items].
        grid: Factor that rounds the sums (see ``rounded``); 0 for sums that are exact.
    """

    weight: Doubles
    clicks: Ints
    grid: float


class Marks(NamedTuple):
    """Where a sweep stands after some of the clicks, so that another one need not begin with the first.

    Attributes:
        added: How many clicks have been added at each mark, increasing [n].
        gone: How many of them have been taken off [n].
        start: The start of the epoch [n].
        weight: The totals' weights [n, n_items].
        clicks: The totals' clicks [n, n_items].
    """

    added: Longs
    gone: Longs
    start: Longs
    weight: Doubles
    clicks: Ints


def weights_of(time: Longs, half_life: int) -> Doubles:
    """Return the weight of a click at each time [n], relative to the start of its epoch."""
    whole, rest = np.divmod(time, half_life)
    return np.asarray(np.exp2(rest / half_life) * (2.0 ** np.arange(SPAN))[whole % SPAN])


def marks_of(clicks: Clicks, n: int, n_items: int) -> Marks:
    """Return ``n`` marks, which divide the clicks into equal parts."""
    added = np.arange(1, n + 1) * len(clicks.item) // (n + 1)
    rest = np.zeros(n, dtype=np.int64), np.zeros((n, n_items)), np.zeros((n, n_items), dtype=np.int32)
    marks = Marks(added, np.zeros(n, dtype=np.int64), *rest)
    _mark(clicks, *marks)
    return marks


@compiled("gone", "start", "weight", "n_clicks")
def _mark(clicks: Clicks, added: Longs, gone: Longs, start: Longs, weight: Doubles, n_clicks: Ints) -> None:
    """Write down the totals after so many clicks each (see ``Marks``)."""
    n_items = weight.shape[1]
    totals = Totals(np.zeros(n_items), np.zeros(n_items, dtype=np.int32), 0.0)
    epoch, off, on = first_epoch(clicks), 0, 0
    for at in range(len(added)):
        now = clicks.time[added[at] - 1] if clicks.reach >= 0 else 0
        epoch, off = advance(clicks, totals, added[at], now, epoch, off, on)
        on = added[at]
        gone[at], start[at] = off, epoch
        weight[at], n_clicks[at] = totals.weight, totals.clicks


@compiled()
def first_epoch(clicks: Clicks) -> int:
    """Return the start of the epoch of the first click; 0 without a half-life."""
    return clicks.time[0] - clicks.time[0] % (SPAN * clicks.half_life) if clicks.half_life > 0 else 0


@compiled("totals")
def advance(
    clicks: Clicks, totals: Totals, before: int, now: int, start: int, gone: int, added: int
) -> tuple[int, int]:
    """Bring totals to a request: add the clicks before it, and take off each click when it becomes too old.

    Args:
        clicks: The clicks.
        totals: The totals, to write into.
        before: The number of clicks before the request.
        now: The time of the request.
        start: The start of the epoch.
        gone: How many clicks have been taken off.
        added: How many have been added.

    Returns:
        The start of the epoch, and how many clicks have been taken off.
    """
    reach, span = clicks.reach, SPAN * clicks.half_life
    item, time, weight = clicks.item, clicks.time, clicks.weight
    while True:
        if reach >= 0:
            at = time[added] if added < before else now
            while gone < added and time[gone] < at - reach:
                one, worth = item[gone], 1.0
                if span > 0:
                    worth = weight[gone] if time[gone] >= start else weight[gone] * NEXT_EPOCH
                totals.clicks[one] -= 1
                # Where no click is left, none of the sums' rounding is either.
                totals.weight[one] = totals.weight[one] - worth if totals.clicks[one] > 0 else 0.0
                gone += 1
            if span > 0 and at >= start + span:
                if gone < added:  # what still counts is of the last epoch
                    for one in range(len(totals.weight)):
                        totals.weight[one] *= NEXT_EPOCH
                start = at - at % span
        if added == before:
            return start, gone
        totals.weight[item[added]] += weight[added] if span > 0 else 1.0
        totals.clicks[item[added]] += 1
        added += 1
