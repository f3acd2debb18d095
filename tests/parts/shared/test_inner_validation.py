"""The inner validation holds back targets, and no fit sees one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.inner_validation import By, Inner, by_clock, by_users
from recx.testing import tiny_world

WORLD = Interactions(
    indptr=np.array([0, 4, 6, 9]),
    item=np.array([0, 1, 2, 3, 4, 0, 1, 2, 4], dtype=np.int32),
    time=np.array([1, 2, 8, 9, 3, 4, 5, 6, 7], dtype=np.int64),
    weight=np.ones(9, dtype=np.float32),
    users=Entities(np.arange(3)),
    items=Entities(np.arange(5)),
)


def test_the_last_event_of_users_who_have_two_more() -> None:
    inner = by_users(WORLD, 10, np.random.default_rng(0))
    assert inner.requests.user.tolist() == [0, 2]
    assert inner.target.tolist() == [3, 4]
    assert inner.requests.time is not None
    assert inner.requests.time.tolist() == [9, 7]
    assert inner.train.lengths.tolist() == [3, 2, 2]
    assert inner.known is inner.train


def test_the_first_event_after_a_moment_of_the_clock() -> None:
    inner = by_clock(WORLD, 10, 0.3, np.random.default_rng(0))  # the last three of nine: from 7 on
    assert inner.train.time is not None
    assert inner.train.time.max() == 6
    assert inner.requests.user.tolist() == [0, 2]
    assert inner.target.tolist() == [2, 4]
    assert inner.requests.time is not None
    assert inner.requests.time.tolist() == [8, 7]
    assert len(inner.known) == len(inner.train)  # all later events are those users' own


def test_others_later_events_are_known_at_the_request() -> None:
    inner = by_clock(WORLD, 1, 0.3, np.random.default_rng(0))
    [asked] = inner.requests.user
    other = 2 if asked == 0 else 0
    assert inner.known.lengths[other] == WORLD.lengths[other]
    assert inner.known.lengths[asked] == inner.train.lengths[asked]


@pytest.mark.parametrize("by", ["users", "clock"])
def test_no_target_is_in_what_is_fitted_on(by: str) -> None:
    world, rng = tiny_world(), np.random.default_rng(0)
    inner = by_users(world, 7, rng) if by == "users" else by_clock(world, 7, 0.2, rng)
    for user, target in zip(inner.requests.user, inner.target, strict=True):
        kept = inner.train.lengths[user]
        assert 0 < kept < world.lengths[user]
        assert world.item[world.indptr[user] + kept] == target


def test_ndcg_by_hand() -> None:
    class Fixed:
        def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
            item = np.array([3, 2, 2, 4], dtype=np.int32)
            return RankedLists(requests.user, np.array([0, 2, 4]), item, np.array([2, 1, 2, 1], dtype=np.float32))

    requests = Requests(np.array([0, 2], dtype=np.int32))
    inner = Inner(WORLD, WORLD, requests, np.array([3, 4], dtype=np.int32))
    assert inner.ndcg(Fixed()) == pytest.approx((1 + 1 / np.log2(3)) / 2)


@pytest.mark.parametrize(
    ("by", "times", "targets"), [("auto", True, [2, 4]), ("auto", False, [3, 4]), ("users", True, [3, 4])]
)
def test_the_clock_is_used_where_there_is_one(by: By, times: bool, targets: list[int]) -> None:
    world = WORLD if times else replace(WORLD, time=None)
    inner = Inner.of(world, by, 10, 0.3, 0)
    assert inner is not None
    assert inner.target.tolist() == targets


def test_the_sample_of_users_follows_the_seed() -> None:
    world = tiny_world(times=False)
    found = [Inner.of(world, "auto", 5, 0.1, seed) for seed in (0, 0, 1)]
    first, again, other = (inner.requests.user.tolist() for inner in found if inner is not None)
    assert first == again != other


def test_a_history_too_short_has_no_validation() -> None:
    assert Inner.of(WORLD, "auto", 0, 0.1, 0) is None
    short = Interactions(
        np.array([0, 1, 2]),
        np.array([0, 1], dtype=np.int32),
        None,
        np.ones(2, dtype=np.float32),
        WORLD.users,
        WORLD.items,
    )
    for events in (short, short.keep(np.zeros(2, dtype=bool))):
        assert Inner.of(events, "users", 10, 0.1, 0) is None
    assert Inner.of(WORLD.keep(np.zeros(9, dtype=bool)), "clock", 10, 0.1, 0) is None
