from __future__ import annotations

from collections.abc import Callable

import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.split.leave_last import LeaveLast

# Three events, two events at one moment, one event, and none.
EVENTS = [[(1, 10), (2, 20), (3, 30)], [(4, 15), (5, 15)], [(6, 40)], []]


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    return drawn(EVENTS)


def test_each_users_last_event_is_the_target(world: Interactions, shown: Callable) -> None:
    split = LeaveLast().split(world, "test")
    assert shown(split.fold) == ([[1, 2], [4], [6], []], [[3], [5], [], []], [0, 1], [30, 15])
    assert split.past is not None
    # User 1 has one event left once the last is gone: it stays history, and is no target of the past fold.
    assert shown(split.past) == ([[1], [4], [6], []], [[2], [], [], []], [0], [20])
    assert split.notes["users_left_out_too_few_events"] == 1
    assert (split.notes["requests"], split.notes["past_requests"]) == (2, 1)


def test_valid_drops_the_last_step(world: Interactions, shown: Callable) -> None:
    split = LeaveLast().split(world, "valid")
    assert shown(split.fold) == ([[1], [4], [6], []], [[2], [], [], []], [0], [20])
    assert split.past is None


def test_predict_holds_nothing_out_and_trains_on_the_last_step(world: Interactions, shown: Callable) -> None:
    split = LeaveLast().split(world, "predict")
    assert split.fold.target is None
    assert len(split.fold.history) == 6
    assert split.fold.requests.user.tolist() == [0, 1, 2]
    assert split.fold.requests.time is not None
    assert split.fold.requests.time.tolist() == [31, 16, 41]
    assert split.past is not None
    assert shown(split.past) == ([[1, 2], [4], [6], []], [[3], [5], [], []], [0, 1], [30, 15])
    assert split.notes["users_too_short_to_train_on"] == 1


def test_a_step_of_two_events_asks_at_the_first_of_them(world: Interactions, shown: Callable) -> None:
    split = LeaveLast(n=2).split(world, "test")
    assert shown(split.fold) == ([[1], [4, 5], [6], []], [[2, 3], [], [], []], [0], [20])


def test_request_after_the_last_event(world: Interactions, shown: Callable) -> None:
    fold = LeaveLast(request_time="last_event").split(world, "test").fold
    assert shown(fold)[3] == [21, 16]


def test_later_events_are_those_at_or_after_the_target(world: Interactions) -> None:
    # History: 10, 20, 15, 40. User 0's target lies at 30: one event (40). User 1's at 15: three events (15, 20, 40).
    for request_time in ("target", "last_event"):
        notes = LeaveLast(request_time=request_time).split(world, "test").notes
        assert (notes["later_events"], notes["later_events_per_target"]) == (3, 2.0)


def test_users_to_predict_are_history_only_until_they_are_asked_for(
    drawn: Callable[..., Interactions], shown: Callable
) -> None:
    world = drawn(EVENTS, to_predict=[3, 0, 3])
    split = LeaveLast().split(world, "test")
    assert shown(split.fold) == ([[1, 2, 3], [4], [6], []], [[], [5], [], []], [1], [15])
    assert split.past is None
    predict = LeaveLast().split(world, "predict")
    # A user without an event asks after everybody's last one.
    assert predict.fold.requests.user.tolist() == [0, 3]
    assert predict.fold.requests.time is not None
    assert predict.fold.requests.time.tolist() == [31, 41]


def test_without_times_the_order_decides(drawn: Callable[..., Interactions], shown: Callable) -> None:
    split = LeaveLast().split(drawn(EVENTS, times=False), "test")
    assert shown(split.fold) == ([[1, 2], [4], [6], []], [[3], [5], [], []], [0, 1], None)
    assert "later_events" not in split.notes


def test_past_none_switches_training_off(world: Interactions) -> None:
    assert LeaveLast(past="none").split(world, "test").past is None


def test_a_world_without_a_second_event_is_too_small(drawn: Callable[..., Interactions]) -> None:
    with pytest.raises(InputError, match="fold=test: no user has both a target"):
        LeaveLast().split(drawn([[(1, 10)], [(2, 20)]]), "test")


@pytest.mark.parametrize("settings", [{"n": 0}, {"request_time": "now"}, {"past": "two"}])
def test_bad_settings_are_refused(settings: dict) -> None:
    with pytest.raises(InputError, match=f"split.{next(iter(settings))}="):
        LeaveLast(**settings)
