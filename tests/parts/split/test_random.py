from __future__ import annotations

from collections.abc import Callable

import pytest

from recx.core.types import Interactions
from recx.parts.split.random import Random


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    """Three users with ten, five and two events."""
    return drawn([[(item, 100 * item + n) for item in range(n)] for n in (10, 5, 2)])


def test_a_share_of_each_users_events_is_held_out(world: Interactions) -> None:
    split = Random(share=0.3, seed=5).split(world, "test")
    assert split.fold.target is not None
    assert split.fold.target.lengths.tolist() == [3, 2, 1]  # 3, 1.5 and 0.6 events, rounded half up
    assert split.fold.history.lengths.tolist() == [7, 3, 1]
    assert split.past is not None
    assert split.past.target is not None
    assert split.past.target.lengths.tolist() == [3, 2, 0]  # nothing would be left of user 2
    assert split.notes["users_left_out_too_few_events"] == 0


def test_a_share_of_few_events_is_none(world: Interactions) -> None:
    split = Random(share=0.2).split(world, "test")
    assert split.fold.requests.user.tolist() == [0, 1]
    assert split.notes["users_left_out_too_few_events"] == 1


def test_the_seed_draws_and_every_event_is_as_likely(world: Interactions) -> None:
    drawn = [Random(share=0.2, seed=seed).split(world, "test").fold.target for seed in range(300)]
    of_first = [target.item[target.user == 0].tolist() for target in drawn if target is not None]
    counts = [sum(item in items for items in of_first) for item in range(10)]
    assert len(of_first) == 300
    assert min(counts) > 60 - 4 * 7  # of 300 draws of 2 in 10: 60 each, with a standard deviation of 6.9
    assert max(counts) < 60 + 4 * 7


def test_time_plays_no_part_which_is_counted(world: Interactions) -> None:
    split = Random(share=0.3, seed=1).split(world, "test")
    assert split.fold.requests.time is not None
    assert split.fold.history.time is not None
    assert set(split.fold.requests.time) == {split.fold.history.time.max() + 1}
    assert split.notes["targets_older_than_history"] > 0
