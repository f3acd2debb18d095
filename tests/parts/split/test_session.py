from __future__ import annotations

from collections.abc import Callable

import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.split.session import Session

# Windows of 20 ms: [80, 100), [60, 80). Sessions 2 and 3 end in the last one, 1 in the one before, 0 earlier.
EVENTS = [[(1, 10), (2, 12)], [(1, 58), (3, 62), (2, 79)], [(2, 75), (1, 81), (9, 90), (3, 91)], [(2, 99)]]


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    return drawn(EVENTS)


def test_the_last_event_of_sessions_that_ended_in_the_window(world: Interactions, shown: Callable) -> None:
    split = Session(window="20ms").split(world, "test")
    assert shown(split.fold) == ([[1, 2], [1, 3, 2], [2, 1, 9], []], [[], [], [3], []], [2], [91])
    assert split.fold.learnable.item.tolist() == [1, 2, 1, 3, 2]  # of the sessions that ended before
    assert split.notes["later_events"] == 0
    assert split.notes["users_left_out_too_few_events"] == 1
    assert split.past is not None
    assert shown(split.past) == ([[1, 2], [1, 3], [], []], [[], [2], [], []], [1], [79])
    assert split.past.learnable.item.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("position", "targets", "expected"),
    [(1, "next", [1]), (2, "next", [9]), (3, "next", [3]), (1, "left", [1, 9, 3]), ("last", "left", [3])],
)
def test_any_position_and_all_that_is_left(
    world: Interactions, position: int | str, targets: str, expected: list[int]
) -> None:
    fold = Session(window="20ms", position=position, targets=targets).split(world, "test").fold
    assert fold.target is not None
    assert fold.target.item.tolist() == expected
    known = 3 if position == "last" else position
    assert fold.history.item[fold.history.user == 2].tolist() == [2, 1, 9][:known]


def test_items_that_no_earlier_session_has_can_be_dropped(world: Interactions) -> None:
    split = Session(window="20ms", position=2, unseen="drop").split(world, "test")
    assert split.fold.target is not None
    assert split.fold.target.item.tolist() == [3]  # item 9 is new, so that the third event of those left is 3
    assert split.fold.history.item[split.fold.history.user == 2].tolist() == [2, 1]
    assert split.notes["events_of_unseen_items_dropped"] == 1


def test_a_position_after_all_ends_has_no_requests(world: Interactions) -> None:
    with pytest.raises(InputError, match="too small for this split"):
        Session(window="20ms", position=4).split(world, "test")


def test_sessions_need_times(drawn: Callable[..., Interactions]) -> None:
    with pytest.raises(InputError, match="split=session needs times"):
        Session().split(drawn(EVENTS, times=False), "test")


def test_everything_is_learned_from_when_predicting(world: Interactions) -> None:
    split = Session(window="20ms").split(world, "predict")
    assert len(split.fold.learnable) == len(world)
    assert split.past is not None
    assert split.past.requests.user.tolist() == [2]
