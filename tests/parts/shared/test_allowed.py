"""Allowed items from any retriever: the lists are those of all items with the others taken out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.retriever.ease import EASE
from recx.parts.retriever.faiss import Faiss
from recx.parts.retriever.given import Given
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.retriever.popularity import Popularity
from recx.parts.retriever.random import Random
from recx.parts.retriever.union import Union
from recx.parts.shared.allowed import retrieved, rows_only

N_ITEMS, N_USERS = 40, 25


def world(timed: bool) -> Interactions:
    random = np.random.default_rng(3)
    n = 400
    frame = pd.DataFrame({"user": random.integers(0, N_USERS, n), "item": random.integers(0, N_ITEMS, n)})
    if timed:
        frame["time"] = random.permutation(n) * 1000
    return Interactions.from_frame(frame, order="given", relative_times=True)


@dataclass(frozen=True)
class Deaf:
    """Returns the items by number and does not look at what is allowed; keeps how many it was asked for."""

    asked: list[int]

    def fit(self, history: Interactions) -> Deaf:
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        self.asked.append(k)
        n = min(k, history.n_items)
        item = np.tile(np.arange(n, dtype=np.int32), len(requests))
        score = np.tile(-np.arange(n, dtype=np.float32), len(requests))
        return RankedLists(requests.user, indptr_of(np.full(len(requests), n)), item, score)


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize(
    "retriever",
    [
        Popularity(),
        Popularity(half_life="30s", seen="keep"),
        Popularity(window="1m"),
        ItemKNN(),
        EASE(),
        Faiss(factors=8),
        Faiss(factors=8, index="HNSW8", recall_sample=0),
        Random(),
        Deaf([]),
    ],
    ids=lambda retriever: type(retriever).__name__,
)
def test_lists_are_those_of_all_items_without_the_others(retriever: Any, timed: bool) -> None:
    history = world(timed)
    fitted = retriever.fit(history)
    user = np.arange(N_USERS, dtype=np.int32)
    requests = Requests(user, None if history.time is None else np.full(N_USERS, 300_000))
    allowed = np.random.default_rng(5).random(N_ITEMS) < 0.3
    whole = fitted.retrieve(history, requests, N_ITEMS)
    expected = rows_only(whole, allowed[whole.item]).top(5)
    found = retrieved(fitted, history, replace(requests, allowed=allowed), 5, "it")
    assert found.indptr.tolist() == expected.indptr.tolist()
    assert found.item.tolist() == expected.item.tolist()
    assert found.score == pytest.approx(expected.score, abs=1e-6)


def test_a_retriever_that_does_not_look_is_asked_for_twice_as_many_each_time() -> None:
    history, deaf = world(False), Deaf([])
    allowed = np.zeros(N_ITEMS, dtype=bool)
    allowed[[3, 9, 30]] = True
    requests = Requests(np.array([0], dtype=np.int32), None, allowed)
    assert retrieved(deaf, history, requests, 2, "it").item.tolist() == [3, 9]
    assert deaf.asked == [2, 4, 8, 16]
    assert retrieved(Deaf([]), history, requests, 5, "it").item.tolist() == [3, 9, 30]


def test_if_nothing_is_allowed_all_lists_are_empty() -> None:
    history = world(True)
    requests = Requests(np.arange(3, dtype=np.int32), np.full(3, 10**6), np.zeros(N_ITEMS, dtype=bool))
    fits: list[Callable[[], Any]] = [lambda: ItemKNN().fit(history), Popularity, lambda: Deaf([])]
    for fit in fits:
        assert retrieved(fit(), history, requests, 5, "it").lengths.tolist() == [0, 0, 0]


def test_a_union_merges_the_allowed_items_of_every_source() -> None:
    history = world(False)
    allowed = np.zeros(N_ITEMS, dtype=bool)
    allowed[[3, 9, 30]] = True
    fitted = Union({"deaf": Deaf([]), "popular": Popularity(seen="keep")}).fit(history)  # type: ignore[dict-item]
    lists = fitted.retrieve(history, Requests(np.array([0], dtype=np.int32), None, allowed), 2)
    assert lists.columns["deaf_rank"][lists.item == 3].tolist() == [1]  # ranks count allowed items
    popular = sorted([3, 9, 30], key=lambda item: (-history.clicks[item], item))
    assert lists.columns["popular_rank"][lists.item == popular[0]].tolist() == [1]


def test_slates_are_cut_to_what_is_allowed() -> None:
    history = world(False)
    item, score = np.array([4, 5, 6], dtype=np.int32), np.array([3, 2, 1], dtype=np.float32)
    slates = RankedLists(np.array([0], dtype=np.int32), np.array([0, 3]), item, score)
    allowed = np.zeros(N_ITEMS, dtype=bool)
    allowed[[4, 6, 9]] = True
    requests = Requests(np.array([0, 1], dtype=np.int32), None, allowed)
    lists = Given().retrieve(replace(history, slates=slates), requests, 1)
    assert (lists.item.tolist(), lists.indptr.tolist()) == ([4, 6], [0, 2, 2])
