from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.retriever.given import Given
from recx.testing import tiny_world


def world_of(n_users: int) -> Interactions:
    """Every user but user 1 has a slate of the items 0 to 4 in that order, with a column that repeats the item."""
    users = np.delete(np.arange(n_users, dtype=np.int32), 1)
    item = np.tile(np.arange(5, dtype=np.int32), len(users))
    slates = RankedLists(
        users,
        indptr_of(np.full(len(users), 5)),
        item,
        np.zeros(len(item), np.float32),
        {"price": item.astype(np.float32)},
    )
    nothing = np.zeros(0, dtype=np.int32)
    return Interactions(
        np.zeros(n_users + 1, dtype=np.int64), nothing, None, nothing.astype(np.float32),
        Entities(np.arange(n_users)), Entities(np.arange(5)), slates,
    )  # fmt: skip


def test_slates_come_whole_with_their_columns_and_score_nothing() -> None:
    lists = Given().fit(world_of(4)).retrieve(world_of(4), Requests(np.array([1, 3], dtype=np.int32)), 2)
    assert lists.lengths.tolist() == [0, 5]
    assert sorted(lists.item.tolist()) == [0, 1, 2, 3, 4]
    assert lists.columns["price"].tolist() == lists.item.tolist()
    assert not lists.score.any()
    assert lists.notes == {"requests_without_slate": 1, "requests_with_shuffled_slate": 1}


def test_the_files_order_favours_no_place() -> None:
    world = world_of(2001)
    lists = Given().retrieve(world, Requests(np.arange(2, 2001, dtype=np.int32)), 5)
    rank_of_first = lists.rank[lists.item == 0]
    assert np.abs(np.bincount(rank_of_first, minlength=6)[1:] / 1999 - 0.2).max() < 0.045


def test_the_seed_shuffles() -> None:
    world, asked = world_of(12), Requests(np.arange(12, dtype=np.int32))
    one, other = (Given(seed=seed).retrieve(world, asked, 5).item for seed in (0, 1))
    assert one.tolist() != other.tolist()


def test_data_without_slates_is_refused() -> None:
    world = tiny_world()
    with pytest.raises(InputError, match="retriever=given needs candidate lists"):
        Given().retrieve(world, Requests(np.array([1], dtype=np.int32)), 5)


def test_slates_of_nobody_give_empty_lists() -> None:
    world = world_of(3)
    assert world.slates is not None
    none = replace(world, slates=world.slates.take(np.zeros(0, dtype=np.int64)))
    assert Given().retrieve(none, Requests(np.array([0, 2], dtype=np.int32)), 5).lengths.tolist() == [0, 0]
