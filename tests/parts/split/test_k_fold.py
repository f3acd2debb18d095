from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.movielens import MovieLens
from recx.parts.split.k_fold import KFold
from recx.testing import tiny_world

EVENTS = [[(1, 10), (2, 20), (3, 30)], [(4, 11), (5, 21)], [(6, 12), (7, 22)], [(8, 13)]]


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    return drawn(EVENTS)


def test_k_runs_ask_each_user_once_for_the_last_event(world: Interactions) -> None:
    asked, targets = [], []
    for part in range(3):
        fold = KFold(k=3, part=part).split(world, "test").fold
        assert fold.target is not None
        asked += fold.requests.user.tolist()
        targets += fold.target.item.tolist()
        assert len(fold.history) + len(fold.target) == len(world)
    assert sorted(asked) == [0, 1, 2]  # user 3 has one event, and nothing before it
    assert sorted(targets) == [3, 5, 7]


def test_the_past_and_valid_hold_out_the_next_part(world: Interactions) -> None:
    test, valid = (KFold(k=3).split(world, fold) for fold in ("test", "valid"))
    other = KFold(k=3, part=1).split(world, "test")
    assert test.past is not None
    assert test.past.requests.user.tolist() == valid.fold.requests.user.tolist() == other.fold.requests.user.tolist()
    # One step earlier the targets of both parts are unknown.
    gone = len(test.fold.requests) + len(valid.fold.requests)
    assert len(test.past.history) == len(valid.fold.history) == len(world) - gone


def test_all_events_of_queries_are_targets_and_the_counts_are_even() -> None:
    world = tiny_world(seed=3)
    parts = [KFold(k=4, part=part, n=None, min_history=0).split(world, "test").fold for part in range(4)]
    assert sum(len(fold.target or ()) for fold in parts) == len(world)
    for fold in parts:
        assert not fold.history.lengths[fold.requests.user].any()
    dealt = np.bincount(np.random.default_rng(0).permutation(world.n_users) % 4)
    assert np.ptp(dealt) <= 1


def test_groups_stay_together(drawn: Callable[..., Interactions]) -> None:
    world = drawn([[(1, 1), (2, 2)]] * 6, columns={"trace": np.array([0, 0, 1, 1, 2, 2])})
    found = [KFold(k=3, part=part, group="trace").split(world, "test").fold.requests.user.tolist() for part in range(3)]
    assert sorted(found) == [[0, 1], [2, 3], [4, 5]]


def test_users_who_only_get_predictions_are_never_held_out(drawn: Callable[..., Interactions]) -> None:
    world = drawn([*EVENTS[:3], [(8, 13), (9, 14)]], to_predict=[0])
    asked = [user for part in range(3) for user in KFold(k=3, part=part).split(world, "test").fold.requests.user]
    assert sorted(asked) == [1, 2, 3]


def test_the_card_says_who_is_left_out(world: Interactions) -> None:
    left_out = [KFold(k=3, part=part).split(world, "test").notes["users_left_out_too_few_events"] for part in range(3)]
    assert left_out == [1, 1, 1]  # user 3 is in no part


def test_two_parts_have_no_past_for_valid(world: Interactions) -> None:
    assert KFold(k=2).split(world, "test").past is not None
    assert KFold(k=2).split(world, "valid").past is None


def test_settings_that_cannot_be_are_refused(world: Interactions) -> None:
    with pytest.raises(InputError, match=r"split.part=5: the 5 parts of split.k=5 are numbered from 0 to 4"):
        KFold(part=5)
    with pytest.raises(InputError, match=r"split.n=null holds out all events of a user: set split.min_history=0"):
        KFold(n=None)
    with pytest.raises(InputError, match=r"split.group='trace' is not a column"):
        KFold(group="trace").split(world, "test")


def test_parts_are_as_large_as_those_of_lenskit(shared_data: Callable[[str], Path]) -> None:
    # LensKit 2025.8: crossfold_users(data, 5, LastN(1)): 189, 189, 189, 188 and 188 users of the 943.
    world = MovieLens(str(shared_data("ml-100k"))).load()
    folds = [KFold(part=part).split(world, "test").fold for part in range(5)]
    assert [len(fold.requests) for fold in folds] == [189, 189, 189, 188, 188]
    assert np.unique(np.concatenate([fold.requests.user for fold in folds])).size == 943
    for fold in folds:
        assert fold.target is not None
        assert fold.target.time is not None
        assert world.time is not None
        asked = fold.requests.user
        assert (fold.target.time == world.time[world.indptr[asked + 1] - 1]).all()
