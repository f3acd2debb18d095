"""A pair counts once, and a feature that hardly varied in the fit cannot outweigh all others.

Fault 05, and variants of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.fit_summary import summary_of
from recx.core.ragged import indptr_of
from recx.core.types import Array, Fold, Interactions, RankedLists, Requests
from recx.experiment.advice import advice
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.feature.coclick import CoClicks
from recx.parts.feature.past_tasks import NearestTasks, PastTasks, PastWords
from recx.parts.ranker.linear import Linear
from recx.parts.retriever.item_knn import ItemKNN


def co_clicks(clicks: str, **settings: Any) -> dict[str, float]:
    """Return the co-clicks of a with every item, where one user clicked these items and another asks after an a."""
    rows = [(1, item, 1000 + n) for n, item in enumerate(clicks)] + [(2, "a", 5000)]
    history = Interactions.from_frame(pd.DataFrame(rows, columns=["user", "item", "time"]))
    n = len(history.items)
    requests = Requests(np.array([1], np.int32), np.array([6000]))
    lists = RankedLists(requests.user, np.array([0, n]), np.arange(n, dtype=np.int32), np.zeros(n, np.float32))
    found = np.expm1(CoClicks(last=1, **settings).fit(history)(lists, requests)).round(3)
    return dict(zip(history.items.ids.tolist(), found.tolist(), strict=True))


@pytest.mark.parametrize(
    ("clicks", "expected"),
    [
        ("ab", {"a": 0, "b": 1}),
        ("aa", {"a": 1}),
        ("aaba", {"a": 3, "b": 3}),  # a at 0, 1 and 3, and b at 2: three pairs each
        ("aaa", {"a": 3}),
        ("baab", {"a": 1, "b": 4}),
    ],
)
def test_a_pair_of_one_item_with_itself_counts_once(clicks: str, expected: dict[str, float]) -> None:
    assert co_clicks(clicks) == expected
    assert co_clicks(clicks, both_ways=False)["a"] == expected["a"]


@given(st.text("abc", min_size=2, max_size=8), st.integers(1, 4))
def test_pairs_are_those_of_a_loop(clicks: str, distance: int) -> None:
    clicks = f"a{clicks}"
    pairs = [{one, two} for n, one in enumerate(clicks) for two in clicks[n + 1 : n + 1 + distance]]
    expected = Counter(next(iter(pair - {"a"}), "a") for pair in pairs if "a" in pair)
    found = co_clicks(clicks, distance=distance)
    assert found == {item: expected[item] for item in sorted(set(clicks))}


def test_item_knn_never_takes_an_item_for_its_own_neighbour() -> None:
    rows = [(1, item, n) for n, item in enumerate("aaba")]
    history = Interactions.from_frame(pd.DataFrame(rows, columns=["user", "item", "time"]))
    settings: dict[str, Any] = {"position_decay": 1.0, "backward": 0.5, "normalise": "none"}
    near = ItemKNN(**settings).fit(history).weights.toarray()
    # a at 0 and 1 before b at 2: twice 1 from a to b, half of it back; b before a at 3: once 1 back, and half of it.
    assert near.tolist() == [[0, 2.5], [2, 0]]


def tasks(repeat: int) -> tuple[RankedLists, Interactions, Requests]:
    """Return a request for "red" and two tools; the task "red" was answered by tool 0 ``repeat`` times."""
    texts = ["red", "red blue", "red blue green", "red"]
    item = np.array([0] * repeat + [1, 1], np.int32)
    history = Interactions(
        indptr_of(np.array([repeat, 1, 1, 0])),
        item,
        None,
        np.ones(len(item), np.float32),
        Entities(np.arange(4), {"text": np.array(texts, dtype=object)}),
        Entities(np.arange(2), {"text": np.array(["red", "blue green"], dtype=object)}),
    )
    requests = Requests(np.array([3], np.int32))
    return (
        RankedLists(requests.user, np.array([0, 2]), np.arange(2, dtype=np.int32), np.zeros(2, np.float32)),
        (history),
        requests,
    )


@pytest.mark.parametrize("feature", [PastTasks(Tfidf()), NearestTasks(Tfidf(), k=2), PastWords()])
def test_a_past_task_counts_once_however_often_a_tool_answered_it(feature: Any) -> None:
    thrice, once = (feature.fit(history)(lists, requests) for lists, history, requests in map(tasks, (3, 1)))
    assert thrice == pytest.approx(once)


@dataclass(frozen=True)
class Column:
    """A column of the candidates as a feature."""

    name: str

    def fit(self, history: Interactions) -> Column:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Array:
        return candidates.columns[self.name]


def judged(even: Array, odd: Array) -> tuple[RankedLists, Fold]:
    """Return 200 lists of two items, of which the first is the target, with two features."""
    n = 200
    rng = np.random.default_rng(0)
    plain = np.tile(np.array([1, 0], np.float32), n) + rng.normal(0, 0.5, 2 * n).astype(np.float32)
    columns = {"plain": plain, "still": np.stack([even, odd], axis=1).ravel().astype(np.float32)}
    user, item = np.arange(n, dtype=np.int32), np.tile(np.arange(2, dtype=np.int32), n)
    lists = RankedLists(user, 2 * np.arange(n + 1), item, np.zeros(2 * n, np.float32), columns)
    entities = Entities(np.arange(n)), Entities(np.arange(2))
    nothing = Interactions(np.zeros(n + 1, np.int64), item[:0], None, np.ones(0, np.float32), *entities)
    target = Interactions(np.arange(n + 1), np.zeros(n, np.int32), None, np.ones(n, np.float32), *entities)
    return lists, Fold(nothing, target, Requests(user))


@pytest.mark.parametrize("mean", [0.0, 1e-7])
def test_a_feature_that_hardly_varied_cannot_yield_scores_of_millions(mean: float) -> None:
    noise = np.random.default_rng(1).normal(mean, 2e-7, (2, 200))
    lists, fold = judged(*noise)
    ranker = Linear({"plain": Column("plain"), "still": Column("still")}).fit(lists, fold)
    assert ranker.notes["ranker_values_cut_in_fit"] == 0
    assert ranker.rank(lists, fold.history, fold.requests).notes["ranker_values_cut"] == 0
    later, _ = judged(np.ones(200), np.zeros(200))  # 200 values 5 million deviations away
    ranked = ranker.rank(later, fold.history, fold.requests)
    assert ranked.notes["ranker_values_cut"] == 200
    most = abs(ranker.summary.weights["still"]) * 100 + abs(ranker.summary.weights["plain"]) * 10
    assert np.abs(ranked.score).max() < most
    [said] = [text for text in advice({"num_queries": 200, "data/ranker_values_cut": 200.0}) if "far" not in text]
    assert said.startswith("200 values of features are more than 100 deviations away")
    assert ranker.contributions(later, fold.history, fold.requests).sum(axis=1) == pytest.approx(
        ranker.scores(later, fold.history, fold.requests), rel=1e-4, abs=1e-4
    )


def test_in_the_fit_too_one_value_counts_as_100_deviations() -> None:
    n = 200
    even = np.zeros(n)
    _, fold = judged(even, even)
    rows = np.zeros(2 * n * 60, np.float32)  # 24,000 rows of which one is not 0: 155 deviations away
    rows[0] = 1
    many = RankedLists(
        np.arange(n, dtype=np.int32),
        120 * np.arange(n + 1),
        np.tile(np.arange(120, dtype=np.int32), n),
        np.zeros(len(rows), np.float32),
        {"still": rows},
    )
    assert fold.target is not None
    history, target = (replace(of, items=Entities(np.arange(120))) for of in (fold.history, fold.target))
    fitted = Linear({"still": Column("still")}).fit(many, Fold(history, target, fold.requests))
    assert fitted.notes["ranker_values_cut_in_fit"] == 1
    assert summary_of(fitted).notes["ranker_constant_features"] == 0


def test_a_feature_that_is_constant_in_the_fit_moves_nothing_and_is_counted() -> None:
    still = np.full(200, 0.5)
    still[:100] += 1e-7  # the rounding of float32
    lists, fold = judged(still, still)
    ranker = Linear({"plain": Column("plain"), "still": Column("still")}).fit(lists, fold)
    assert ranker.notes["ranker_constant_features"] == 1
    later, _ = judged(np.full(200, 1e6), np.zeros(200))
    ranked = ranker.rank(later, fold.history, fold.requests)
    assert np.array_equal(ranked.score, ranker.rank(lists, fold.history, fold.requests).score)
    assert ranked.notes["ranker_values_cut"] == 0
