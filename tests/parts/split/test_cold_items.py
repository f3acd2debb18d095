from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.retriever.random import Random
from recx.parts.shared.top_k import Eligibility
from recx.parts.split.cold_items import ColdItems

# Items 0 to 3 are first clicked at 10, 20, 40 and 60; items 4 to 9 never.
EVENTS = [[(0, 10), (1, 20), (2, 40)], [(1, 30), (3, 60), (0, 90)], [(0, 15), (2, 50), (3, 80)], [(3, 70)]]


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    return drawn(EVENTS)


def test_the_newest_items_are_targets_and_the_history_ends_before_them(world: Interactions, shown: Callable) -> None:
    split = ColdItems(share=0.25).split(world, "test")
    assert shown(split.fold) == ([[0, 1, 2], [1], [0, 2], []], [[], [3], [3], []], [1, 2], [51, 51])
    assert split.notes["later_events"] == 0
    assert split.notes["items_held_out"] == 1
    assert split.notes["users_left_out_too_little_history"] == 1  # user 3
    assert split.past is not None
    assert shown(split.past) == ([[0, 1], [1], [0], []], [[2], [], [2], []], [0, 2], [31, 31])
    assert shown(ColdItems(share=0.25).split(world, "valid").fold) == shown(split.past)


def test_any_items_are_drawn_by_the_seed(world: Interactions) -> None:
    for seed in range(8):
        split = ColdItems(share=0.5, which="random", seed=seed).split(world, "test")
        assert split.fold.target is not None
        cold = set(split.fold.target.item)
        assert len(cold) == split.notes["items_held_out"] == 2
        assert not cold & set(split.fold.history.item)
        assert len(split.fold.history) == sum(item not in cold for of_user in EVENTS for item, _ in of_user)


@pytest.mark.parametrize(("compete", "expected"), [("cold", [3]), ("all", [0, 1, 2, 3])])
def test_cold_items_may_be_shown_with_or_without_the_others(
    world: Interactions, compete: str, expected: list[int]
) -> None:
    fold = ColdItems(share=0.25, compete=compete, min_history=0).split(world, "test").fold
    shown = ~Eligibility(fold.history, "keep").hidden(fold.requests)
    assert [np.flatnonzero(row).tolist() for row in shown] == [expected] * len(fold.requests)
    lists = Random(seed=1, seen="keep").retrieve(fold.history, fold.requests, 10)
    assert sorted(set(lists.item)) == expected


def test_no_item_is_younger_than_another_because_it_is_the_answer(world: Interactions) -> None:
    fold = ColdItems(share=0.5).split(world, "test").fold
    assert fold.history.items.table["created_at"].tolist() == [10, 20, 30, 30, *[UNKNOWN_TIME] * 6]


def test_a_known_creation_before_the_request_is_kept(world: Interactions) -> None:
    created = np.full(10, UNKNOWN_TIME)
    created[[2, 3]] = 25, 55
    world = replace(world, items=Entities(world.items.ids, {"created_at": created}))
    fold = ColdItems(share=0.5).split(world, "test").fold
    assert fold.history.items.table["created_at"][:4].tolist() == [10, 20, 25, 30]  # 55 lies after the request


def test_without_times_items_are_drawn_or_refused(drawn: Callable[..., Interactions]) -> None:
    world = drawn(EVENTS, times=False)
    with pytest.raises(InputError, match=r"no times: set split.which=random"):
        ColdItems().split(world, "test")
    split = ColdItems(which="random").split(world, "test")
    assert "created_at" not in split.fold.history.items.table
    assert split.fold.requests.allowed is not None
