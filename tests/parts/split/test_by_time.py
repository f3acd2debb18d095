from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.movielens import MovieLens
from recx.parts.split.by_time import ByTime

# The last event lies at 99, so windows of 20 ms are [80, 100), [60, 80), [40, 60) ...
EVENTS = [[(1, 10), (2, 62), (3, 80), (4, 99)], [(5, 59), (6, 60)], [(7, 85)], [(8, 79), (9, 79), (1, 80)]]


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    return drawn(EVENTS)


def test_the_last_window_is_the_target(world: Interactions, shown: Callable) -> None:
    split = ByTime(window="20ms").split(world, "test")
    assert shown(split.fold) == ([[1, 2], [5, 6], [], [8, 9]], [[3, 4], [], [], [1]], [0, 3], [80, 80])
    assert split.notes["users_left_out_too_little_history"] == 1  # user 2 is cold
    assert (split.notes["later_events"], split.notes["later_events_per_target"]) == (0, 0)
    assert split.past is not None
    # One window earlier users 1 and 0 have history; user 3, who has none before 60, is cold.
    assert shown(split.past) == ([[1], [5], [], []], [[2], [6], [], []], [0, 1], [62, 60])


def test_cold_users_are_asked_for_where_no_history_is_needed(world: Interactions, shown: Callable) -> None:
    split = ByTime(window="20ms", min_history=0).split(world, "test")
    assert shown(split.fold)[2:] == ([0, 2, 3], [80, 85, 80])
    assert split.notes["users_left_out_too_little_history"] == 0


def test_a_cold_user_asks_after_everybodys_last_event(world: Interactions, shown: Callable) -> None:
    split = ByTime(window="20ms", min_history=0, request_time="last_event").split(world, "test")
    assert shown(split.fold)[2:] == ([0, 2, 3], [63, 80, 80])
    # No fit sees an event later than a target, whenever the users ask.
    assert split.notes["later_events"] == 0


def test_everybody_cold_asks_without_any_history(drawn: Callable[..., Interactions], shown: Callable) -> None:
    fold = ByTime(window="1h", min_history=0, request_time="last_event").split(drawn(EVENTS), "test").fold
    assert len(fold.history) == 0
    assert shown(fold)[2:] == ([0, 1, 2, 3], [1, 1, 1, 1])


def test_more_history_can_be_asked_for(world: Interactions, shown: Callable) -> None:
    split = ByTime(window="20ms", min_history=3).split(world.keep(world.user < 3), "predict")
    assert split.past is None  # nobody has three events before the last window
    assert len(split.fold.requests) == 3


def test_valid_is_the_window_before(world: Interactions, shown: Callable) -> None:
    split = ByTime(window="20ms").split(world, "valid")
    assert shown(split.fold) == ([[1], [5], [], []], [[2], [6], [], []], [0, 1], [62, 60])


def test_predict_trains_on_the_last_window(world: Interactions, shown: Callable) -> None:
    split = ByTime(window="20ms").split(world, "predict")
    assert split.fold.target is None
    assert split.past is not None
    assert shown(split.past)[1] == [[3, 4], [], [], [1]]


def test_users_to_predict_are_never_targets(drawn: Callable[..., Interactions], shown: Callable) -> None:
    split = ByTime(window="20ms").split(drawn(EVENTS, to_predict=[0]), "test")
    assert shown(split.fold)[1:3] == ([[], [], [], [1]], [3])
    assert split.notes["users_history_only"] == 1


def test_without_times_there_is_no_clock(drawn: Callable[..., Interactions]) -> None:
    with pytest.raises(InputError, match="split=by_time needs times"):
        ByTime().split(drawn(EVENTS, times=False), "test")


@pytest.mark.parametrize(("key", "value"), [("window", "1"), ("min_history", -1), ("past", "two")])
def test_bad_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(InputError, match=f"split.{key}="):
        ByTime(**{key: value})


def test_windows_roll_back(world: Interactions, shown: Callable) -> None:
    rolled, valid = ByTime(window="20ms", skip=1).split(world, "test"), ByTime(window="20ms").split(world, "valid")
    assert shown(rolled.fold) == shown(valid.fold)
    # Every event is a target once, and what comes after its window is unknown; the fourth window has no event.
    windows = [ByTime(window="20ms", min_history=0, skip=skip).split(world, "test").fold for skip in (0, 1, 2, 4)]
    targets = sorted(item for fold in windows for item in (fold.target.item if fold.target is not None else []))
    assert targets == sorted(item for events in EVENTS for item, _ in events)


def test_a_window_before_the_data_is_refused(world: Interactions) -> None:
    with pytest.raises(InputError, match="too small for this split"):
        ByTime(window="20ms", skip=5).split(world, "test")


def test_rolling_windows_are_those_of_rectools(shared_data: Callable[[str], Path]) -> None:
    # RecTools 0.19: TimeRangeSplitter("7D", n_splits=3, filter_cold_users=True, filter_cold_items=False,
    # filter_already_seen=False), with all times shifted so that a day of it ends with the last event.
    world = MovieLens(str(shared_data("ml-100k"))).load()
    folds = [ByTime(window="7d", skip=skip).split(world, "test").fold for skip in range(3)]
    sizes = [(len(fold.history), 0 if fold.target is None else len(fold.target), len(fold.requests)) for fold in folds]
    assert sizes == [(97_680, 1_164, 42), (96_185, 824, 45), (92_428, 727, 40)]


def test_a_fold_between_two_times_is_that_of_a_window(world: Interactions, shown: Callable, tmp_path: Path) -> None:
    split = ByTime(window="20ms")
    assert [split.start(world, fold) for fold in ("predict", "test", "valid")] == [100, 80, 60]
    assert shown(split.fold_between(world, 80, 100)) == shown(split.split(world, "test").fold)
    assert shown(split.fold_between(world, 60, 80)) == shown(split.split(world, "valid").fold)
    assert len(split.fold_between(world, 1000, 1020).requests) == 0
    listed = tmp_path / "users.txt"
    listed.write_text(f"{world.users.ids[0]}\n")
    some = ByTime(window="20ms", users=listed)
    assert some.fold_between(world, 80, 100).requests.user.tolist() == [0]
    assert len(some.fold_between(world, 1000, 1020).requests) == 0
