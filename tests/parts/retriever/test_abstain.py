from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.retriever.abstain import Abstain
from recx.parts.retriever.given import Given
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.retriever.popularity import Popularity
from recx.parts.retriever.union import Union
from recx.testing import check_retriever, tiny_world

NOTHING = 3


def flagged(history: Interactions, items: tuple[int, ...] = (NOTHING,)) -> Interactions:
    """Return a history in which these items stand for no answer."""
    column = np.isin(np.arange(history.n_items), items).astype(np.float32)
    return replace(history, items=replace(history.items, table={**history.items.table, "is_abstain": column}))


def world() -> Interactions:

    return flagged(tiny_world())


@pytest.mark.parametrize(
    "source", [Popularity(), Union({"knn": ItemKNN(), "recent": Popularity()})], ids=["popularity", "union"]
)
def test_it_keeps_the_promises_of_a_retriever(source: Popularity | Union) -> None:
    check_retriever(Abstain(source), world())


def test_it_adds_to_the_lists_that_the_data_offers() -> None:
    offered = flagged(tiny_world(slates=True))
    check_retriever(Abstain(Given()), offered, k=9)
    requests = Requests(np.arange(3, dtype=np.int32))
    before, after = (one.fit(offered).retrieve(offered, requests, 2) for one in (Given(), Abstain(Given(), -1)))
    kept = after.item != NOTHING
    assert after.item[kept].tolist() == before.item[before.item != NOTHING].tolist()
    assert np.count_nonzero(~kept) == 3


@dataclass(frozen=True)
class Fixed:
    """Returns the same list to everybody."""

    item: tuple[int, ...]
    score: tuple[float, ...]

    def fit(self, history: Interactions) -> Fixed:
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        n = len(requests)
        lists = RankedLists(
            requests.user,
            indptr_of(np.full(n, len(self.item))),
            np.tile(np.array(self.item, np.int32), n),
            np.tile(np.array(self.score, np.float32), n),
            {"height": np.tile(np.array(self.score, np.float32), n)},
        )
        return lists.top(k)


def lists_of(source: Fixed, threshold: float, k: int, requests: Requests | None = None) -> RankedLists:
    history = world()
    asked = requests or Requests(np.arange(2, dtype=np.int32))
    return Abstain(source, threshold).fit(history).retrieve(history, asked, k)


@pytest.mark.parametrize(
    ("threshold", "k", "expected"),
    [
        (0.5, 4, [0, 1, NOTHING, 2]),  # below the item with the same score
        (0.6, 4, [0, NOTHING, 1, 2]),
        (-1, 4, [0, 1, 2, NOTHING]),
        (9, 4, [NOTHING, 0, 1, 2]),
        (0.5, 3, [0, 1, NOTHING]),
        (0.5, 1, [NOTHING]),
    ],
)
def test_it_stands_below_what_scores_high_enough(threshold: float, k: int, expected: list[int]) -> None:
    lists = lists_of(Fixed((0, 1, 2), (0.9, 0.5, 0.1)), threshold, k)
    assert lists.item.tolist() == expected * 2
    assert lists.score[expected.index(NOTHING)] == np.float32(threshold)
    assert np.isnan(lists.columns["height"]).tolist() == [item == NOTHING for item in expected * 2]


def test_a_source_that_finds_it_does_not_show_it_twice() -> None:
    lists = lists_of(Fixed((0, NOTHING, 2), (0.9, 0.8, 0.1)), 0.5, 4)
    assert lists.item.tolist() == [0, NOTHING, 2] * 2


def test_an_empty_list_holds_it_alone() -> None:
    assert lists_of(Fixed((), ()), 0.5, 4).item.tolist() == [NOTHING, NOTHING]


def test_where_it_may_not_be_shown_it_is_not() -> None:
    allowed = np.ones(world().n_items, dtype=bool)
    allowed[NOTHING] = False
    requests = Requests(np.arange(1, dtype=np.int32), allowed=allowed)
    assert lists_of(Fixed((0, 1), (0.9, 0.5)), 0.7, 4, requests).item.tolist() == [0, 1]


@given(st.lists(st.integers(-3, 3), max_size=8), st.integers(-4, 4))
def test_the_other_items_keep_their_order(scores: list[int], threshold: int) -> None:
    falling = sorted(scores, reverse=True)
    items = [item if item < NOTHING else item + 1 for item in range(len(falling))]
    lists = lists_of(Fixed(tuple(items), tuple(map(float, falling))), threshold, 99)
    first = lists.item[: lists.lengths[0]]
    assert first[first != NOTHING].tolist() == items
    assert (np.diff(lists.score[: lists.lengths[0]]) <= 0).all()
    assert lists.item.tolist() == first.tolist() * 2


@pytest.mark.parametrize("items", [(), (1, 3)], ids=["none", "two"])
def test_data_without_one_such_item_is_refused(items: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=rf"needs one item that stands for no answer, and the data has {len(items)}"):
        Abstain(Popularity()).fit(flagged(tiny_world(), items))
