"""The contract tests catch a part that breaks its promise, and pass those that keep it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from recx.core.judged_lists import JudgedLists
from recx.core.protocols import Feature, FittedFeature
from recx.core.total import Total
from recx.core.types import Interactions, RankedLists, Requests
from recx.evaluation.metrics.registry import parse
from recx.parts.feature.coclick import CoClicks, Transition
from recx.parts.feature.content import Age, CategoryShare, ContentSimilarity, StretchedSimilarity, Words
from recx.parts.feature.fitted import FittedWith
from recx.parts.feature.popularity import Clicks, PeerClicks, Trend
from recx.parts.feature.retrieval import Rank, Score
from recx.parts.feature.rows import of_rows
from recx.parts.retriever.popularity import Popularity
from recx.testing import (
    check_feature,
    check_metric,
    check_ranker,
    check_retriever,
    tiny_world,
)
from recx.testing.tiny_dataset import everyone_asks, other_future

Change = Callable[[RankedLists, Interactions, Requests, int], RankedLists]


@dataclass(frozen=True)
class Changed:
    """Popularity whose lists are changed before they are returned."""

    change: Change | None = None
    seen: str = "drop"

    def fit(self, history: Interactions) -> Changed:
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        lists = Popularity(seen=self.seen).retrieve(history, requests, k)
        return lists if self.change is None else self.change(lists, history, requests, k)


def by_all_clicks(lists: RankedLists, history: Interactions, requests: Requests, k: int) -> RankedLists:
    return lists.reorder(history.clicks[lists.item])


def by_the_batch(lists: RankedLists, history: Interactions, requests: Requests, k: int) -> RankedLists:
    return replace(lists, score=lists.score + np.float32(len(requests)))


def what_comes_later(lists: RankedLists, history: Interactions, requests: Requests, k: int) -> RankedLists:
    return replace(lists, item=np.where(lists.rank == 1, 19, lists.item).astype(np.int32))


def without_an_item(lists: RankedLists, history: Interactions, requests: Requests, k: int) -> RankedLists:
    return lists.top(3)


def with_an_item_twice(lists: RankedLists, history: Interactions, requests: Requests, k: int) -> RankedLists:
    return replace(lists, item=np.zeros_like(lists.item))


def one_more(lists: RankedLists, history: Interactions, requests: Requests, k: int) -> RankedLists:
    return Popularity().retrieve(history, requests, k + 1)


def keeps_seen(lists: RankedLists, history: Interactions, requests: Requests, k: int) -> RankedLists:
    return Popularity(seen="keep").retrieve(history, requests, k)


def spoils_history(lists: RankedLists, history: Interactions, requests: Requests, k: int) -> RankedLists:
    history.weight[:] = 5
    return lists


calls = count()


def another_each_time(lists: RankedLists, history: Interactions, requests: Requests, k: int) -> RankedLists:
    return replace(lists, score=lists.score + np.float32(next(calls)))


def test_the_unchanged_lists_pass() -> None:
    check_retriever(Changed())


def test_a_part_that_cannot_be_kept_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"Changed must be kept when fitted.*it contains a function"):
        check_retriever(Changed(lambda lists, *_: lists))


learned: list[int] = []


@dataclass(frozen=True)
class Forgetful:
    """A retriever that keeps what it learns in the process, or learns while it serves."""

    again: bool = False

    def fit(self, history: Interactions) -> Forgetful:
        learned.append(1)
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        part = self.fit(history) if self.again else self
        return Popularity(seen="drop").retrieve(history, requests, k if learned and part else k - 1)


@pytest.mark.parametrize(
    ("again", "promise"),
    [(False, "the same when it was kept and read in another process"), (True, "Forgetful is fitted again")],
)
def test_a_part_that_is_more_than_what_is_kept_of_it_is_caught(again: bool, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_retriever(Forgetful(again))


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        (by_all_clicks, "events at or after a request must not change its list"),
        (by_the_batch, "the list of a request must not depend on the other requests"),
        (what_comes_later, "neither created nor clicked before the request"),
        (with_an_item_twice, "an item twice"),
        (one_more, "at most k=7 items per request"),
        (keeps_seen, "must not show what the user has seen"),
        (spoils_history, "must not change the history"),
        (another_each_time, "must return the same twice"),
    ],
)
def test_a_retriever_that_breaks_its_contract_is_caught(change: Change, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_retriever(Changed(change))


@dataclass(frozen=True)
class ChangedRanker:
    """Needs no training; returns the candidates changed."""

    change: Change

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        return self.change(candidates, history, requests, 0)


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        (by_all_clicks, "events at or after a request must not change its list"),
        (by_the_batch, "the order of a list must not depend on the other lists"),
        (without_an_item, "must return exactly the candidates"),
        (with_an_item_twice, "an item twice"),
        (lambda lists, *_: replace(lists, columns={}), "exactly the candidates, with their columns"),
        (another_each_time, "must return the same twice"),
    ],
)
def test_a_ranker_that_breaks_its_contract_is_caught(change: Change, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_ranker(ChangedRanker(change))


FEATURES: dict[str, Feature] = {
    "clicks": Clicks(),
    "clicks of an hour": Clicks(window="1h"),
    "trend": Trend(),
    "peers": PeerClicks(column="group", window="1h"),
    "co-clicks": CoClicks(),
    "transition": Transition(),
    "cosine": ContentSimilarity(),
    "structure": StretchedSimilarity(),
    "category": CategoryShare(),
    "age": Age(),
    "words": Words(),
    "score": Score(source="first"),
    "rank": Rank(),
}


@pytest.mark.parametrize("feature", FEATURES.values(), ids=FEATURES.keys())
@pytest.mark.parametrize("times", [True, False], ids=["times", "no times"])
def test_a_built_in_feature_keeps_its_contract(feature: Feature, times: bool) -> None:
    check_feature(feature, tiny_world(times=times))


Formula = Callable[[Any, RankedLists, Requests], Any]


@dataclass(frozen=True)
class OddFeature:
    """A feature by a formula; ``known`` is what it takes from the history."""

    formula: Formula
    known: Callable[[Interactions], Any] = len

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, self.known(history))

    def values(self, known: Any, candidates: RankedLists, requests: Requests) -> Any:
        return self.formula(known, candidates, requests)


def all_clicks(history: Interactions) -> Any:
    return history.clicks


def itself(history: Interactions) -> Interactions:
    return history


def by_all_clicks_ever(clicks: Any, lists: RankedLists, requests: Requests) -> Any:
    return clicks[lists.item]


def too_few(known: Any, lists: RankedLists, requests: Requests) -> Any:
    return np.zeros(3)


def with_gaps(known: Any, lists: RankedLists, requests: Requests) -> Any:
    return lists.columns["first_rank"]


def by_place(known: Any, lists: RankedLists, requests: Requests) -> Any:
    return of_rows(np.arange(len(requests)), lists)


def nothing(known: Any, lists: RankedLists, requests: Requests) -> Any:
    return np.zeros(len(lists))


@pytest.mark.parametrize(
    ("feature", "promise"),
    [
        (OddFeature(by_all_clicks_ever, all_clicks), "events at or after the request"),
        (OddFeature(too_few), "one number per candidate"),
        (OddFeature(with_gaps), "must be finite"),
        (OddFeature(by_place), "others' rows"),
        (
            OddFeature(lambda known, lists, requests: np.zeros(len(lists))),
            "must consist of arrays and settings when fitted",
        ),
        (OddFeature(nothing, itself), "not the history itself"),
    ],
)
def test_a_feature_that_breaks_its_contract_is_caught(feature: Feature, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_feature(feature)


@pytest.mark.parametrize("name", ["ndcg_at_5", "hit_at_1", "recall", "precision_at_10", "map_at_5", "mrr", "coverage"])
def test_a_built_in_metric_keeps_its_contract(name: str) -> None:
    check_metric(parse(name))


@dataclass(frozen=True)
class Odd:
    figure: Callable[[JudgedLists], Any]
    name: str = "odd"

    def __call__(self, judged: JudgedLists) -> Any:
        return self.figure(judged)


def test_a_metric_may_be_one_number() -> None:
    check_metric(Odd(lambda judged: len(np.unique(judged.lists.item)) / 20, "coverage"))


@pytest.mark.parametrize(
    ("metric", "promise"),
    [
        (Odd(lambda judged: judged.gain), "one value per user"),
        (Odd(lambda judged: np.ones(judged.n_users)), "must be 0 for a user without a list"),
        (Odd(lambda judged: judged.lists.lengths * len(judged.lists)), "must not depend on other users' lists"),
        (Odd(lambda judged: Total(np.ones(1), lambda sums: float(sums[0]))), "must add up to that of all"),
        (Odd(lambda judged: 1.0, "ndcg@5"), "may only contain letters, digits and _"),
    ],
)
def test_a_metric_that_breaks_its_contract_is_caught(metric: Odd, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_metric(metric)


def test_the_tiny_world_has_the_corner_cases() -> None:
    world = tiny_world(slates=True)
    assert world.time is not None
    assert world.slates is not None
    assert len(np.unique(world.time)) < len(world) / 2  # ties
    assert world.lengths[0] == 1
    assert world.lengths[-1] == 0
    assert np.array_equal(np.unique(world.item[world.user == 1]), np.flatnonzero(world.clicks))
    assert np.flatnonzero(world.clicks == 0).tolist() == [18, 19]
    assert np.flatnonzero(~world.items.has_embedding).tolist() == [16, 17, 19]
    pairs = world.user * 100 + world.item
    assert len(np.unique(pairs)) < len(pairs)  # clicked again
    last = world.item[world.indptr[world.slates.user + 1] - 1]
    offered = np.repeat(last, world.slates.lengths) == world.slates.item
    assert np.bincount(world.slates.list_of_row[offered], minlength=29)[:28].all()
    history, requests = everyone_asks(world)
    changed, asked = other_future(history, requests)
    assert (changed.item != history.item).sum() > 10
    assert len(asked) > 10


def test_the_same_seed_gives_the_same_world() -> None:
    assert tiny_world(3).item.tolist() == tiny_world(3).item.tolist()
    assert tiny_world(3).item.tolist() != tiny_world(4).item.tolist()


def test_plugin_authors_need_no_pytest() -> None:
    script = "import sys; import recx.testing; print('pytest' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"
