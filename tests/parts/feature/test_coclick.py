from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from recx.core.errors import InputError
from recx.parts.feature.coclick import CoClicks, Transition

HOUR = 3_600_000


def rows(world: Any) -> range:
    return range(len(world.candidates))


def slow_together(world: Any, row: int, clicked: int, distance: int, both_ways: bool, window: float = math.inf) -> int:
    """Pairs (clicked, candidate) of any one user at most ``distance`` places apart, complete before the request.

    Only those count that were completed in the last ``window`` ms before it.
    """
    asked, count = world.candidates.item[row], 0
    for user in range(world.history.n_users):
        events = [event for event in world.events if event[0] == user]
        for early in range(len(events)):
            for late in range(early + 1, min(early + distance + 1, len(events))):
                if 0 < world.now(row) - events[late][2] <= window:
                    count += (events[early][1], events[late][1]) == (clicked, asked)
                    count += both_ways and clicked != asked and (events[late][1], events[early][1]) == (clicked, asked)
    return count


@pytest.mark.parametrize(("timed", "both_ways"), [(True, True), (True, False), (False, True)])
def test_phi_coop_is_what_a_loop_counts(world: Callable, timed: bool, both_ways: bool) -> None:
    made = world(1, timed=timed, events=90)
    found = CoClicks(3, 0.7, 2, both_ways).fit(made.history)(made.candidates, made.requests)
    for row in rows(made):
        total = sum(
            0.7**place * slow_together(made, row, item, 2, both_ways)
            for place, (_, item, _) in enumerate(reversed(made.own(row)[-3:]))
        )
        assert found[row] == pytest.approx(math.log1p(total), abs=1e-5)
    assert found.any()


@pytest.mark.parametrize(("timed", "window"), [(True, 2 * HOUR), (True, 9 * HOUR), (False, math.inf)])
def test_co_clicks_of_a_window_are_what_a_loop_counts(world: Callable, timed: bool, window: float) -> None:
    made = world(3, timed=timed, events=90)
    hours = f"{round(window / HOUR)}h" if timed else "2h"  # without times there is no window
    found = CoClicks(2, 0.5, 2, True, hours).fit(made.history)(made.candidates, made.requests)
    every = CoClicks(2, 0.5, 2, True).fit(made.history)(made.candidates, made.requests)
    for row in rows(made):
        total = sum(
            0.5**place * slow_together(made, row, item, 2, True, window)
            for place, (_, item, _) in enumerate(reversed(made.own(row)[-2:]))
        )
        assert found[row] == pytest.approx(math.log1p(total), abs=1e-5)
    assert found.any()
    assert (found < every).any() == timed


@pytest.mark.parametrize(("timed", "distance", "both_ways"), [(True, 1, False), (True, 3, True), (False, 1, False)])
def test_transition_is_what_a_loop_counts(world: Callable, timed: bool, distance: int, both_ways: bool) -> None:
    made = world(2, timed=timed, events=90)
    found = Transition(distance, both_ways, 5.0, "6h").fit(made.history)(made.candidates, made.requests)
    for row in rows(made):
        before, own = made.before(row), made.own(row)
        since = made.now(row) - 6 * HOUR if timed else -math.inf
        lately = [item for _, item, time in before if time >= since]
        prior = (lately.count(made.candidates.item[row]) + 0.1) / (len(lately) + 1)
        together = slow_together(made, row, own[-1][1], distance, both_ways) if own else 0
        readers = sum(item == own[-1][1] for _, item, _ in before) if own else 0
        assert found[row] == pytest.approx(math.log((together + 5 * prior) / (readers + 5)), abs=1e-5)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: CoClicks(last=0), "last=0"),
        (lambda: CoClicks(distance=0), "distance=0"),
        (lambda: CoClicks(recency=-1), "recency=-1"),
        (lambda: CoClicks(window="never"), "it must be a positive number and a unit"),
        (lambda: Transition(distance=0), "distance=0"),
        (lambda: Transition(strength=0), "strength=0"),
        (lambda: Transition(window="never"), "it must be a positive number and a unit"),
    ],
)
def test_settings_out_of_range_are_named(make: Callable, named: str) -> None:
    with pytest.raises(InputError, match=named):
        make()
