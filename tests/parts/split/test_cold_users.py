from __future__ import annotations

from collections.abc import Callable

import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.split.cold_users import ColdUsers

# Users arrive at 10, 20, 40 and 60; user 0 comes back at 45.
EVENTS = [[(1, 10), (2, 45)], [(3, 20), (4, 30)], [(5, 40), (6, 70)], [(7, 60), (8, 80)]]


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    return drawn(EVENTS)


def test_the_newest_are_asked_and_the_history_ends_before_them(world: Interactions, shown: Callable) -> None:
    split = ColdUsers(share=0.25).split(world, "test")
    assert shown(split.fold) == ([[1, 2], [3, 4], [5], []], [[], [], [], [7, 8]], [3], [60])
    assert split.notes["later_events"] == 0
    assert "targets_older_than_history" not in split.notes
    assert split.past is not None
    # User 2 arrived at 40; what happened at 70 is later than the arrival of user 3, and unknown one step earlier.
    assert shown(split.past) == ([[1], [3, 4], [], []], [[], [], [5], []], [2], [40])
    assert shown(ColdUsers(share=0.25).split(world, "valid").fold) == shown(split.past)


def test_the_first_events_alone_can_be_targets(world: Interactions, shown: Callable) -> None:
    split = ColdUsers(share=0.5, n=1, request_time="last_event").split(world, "test")
    assert shown(split.fold) == ([[1], [3, 4], [], []], [[], [], [5], [7]], [2, 3], [31, 31])


def test_without_times_nobody_is_new(drawn: Callable[..., Interactions]) -> None:
    with pytest.raises(InputError, match="split=cold_users needs times"):
        ColdUsers().split(drawn(EVENTS, times=False), "test")
