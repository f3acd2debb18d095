from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recx.core.protocols import FittedRanker, Ranker
from recx.core.types import Array, Floats, Fold, Interactions, RankedLists, Requests
from recx.evaluation.evaluator import Evaluator
from recx.experiment import blocks
from recx.experiment.experiment import Experiment, Result
from recx.jobs.benchmark.calls import Timing
from recx.jobs.benchmark.figures import batches_of, budgets_of, figures_of, latencies_of
from recx.jobs.benchmark.measured import TimedFit, TimedRanker, TimedRetriever
from recx.jobs.benchmark.peak_memory import CLEAR
from recx.parts.dataset.synthetic_judged import SyntheticJudged
from recx.parts.feature.columns import Columns
from recx.parts.feature.tool import Relevance, Structure
from recx.parts.ranker.bm25 import Bm25
from recx.parts.ranker.cosine import Cosine
from recx.parts.ranker.identity import Identity
from recx.parts.ranker.linear import Linear
from recx.parts.retriever.given import Given
from recx.parts.retriever.popularity import Popularity
from recx.parts.split.by_query import ByQuery
from recx.storage.cache.store import Cache, current

RANKERS = {"identity": Identity(), "bm25": Bm25(), "linear": Linear({"slate": Columns()}, resamples=0)}
CHAIN = Experiment(
    SyntheticJudged(queries=40, features=8),
    ByQuery(),
    Given(),
    Identity(),
    Evaluator(retrieval=["ndcg_at_10"], ranking=["ndcg_at_10"], end_to_end=["ndcg_at_10"]),
)


@dataclass(frozen=True)
class Counting:
    """Keeps how many lists each call was given."""

    calls: list[int] = field(default_factory=list)

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        self.calls.append(candidates.n_lists)
        return candidates


def timing(cache: Cache | None = None, **settings: object) -> Timing:
    how = {"warmup": 3, "budgets": [], "batch_sizes": [4], "clocked": True, **settings}
    return Timing(**how, cache=cache)  # type: ignore[arg-type]


def run(ranker: object, timing: Timing, chain: Experiment = CHAIN) -> Result:
    standing = TimedFit(timing, ranker) if isinstance(ranker, Ranker) else TimedRanker(timing, ranker, lambda _: ranker)  # type: ignore[arg-type, return-value]
    return replace(chain, ranker=standing).run()


def test_served_at_once_all_calls_are_measured_however_many_requests_a_block_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "REQUESTS", 3)
    split = CHAIN.splitter.split(CHAIN.dataset.load().unnamed(), "test")
    splitter: Any = SimpleNamespace(split=lambda *_: split)
    retrieving = TimedRetriever(timing(), Given(), split.fold.requests)
    result = run(Identity(), timing(), replace(CHAIN, splitter=splitter, retriever=retrieving, at_once=sys.maxsize))
    n = len(split.fold.requests)
    assert n > 3
    assert len(retrieving.measured["ns"]) == len(result.ranker.measured["ns"]) == n  # type: ignore[attr-defined]


def same(one: RankedLists, other: RankedLists) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("user", "indptr", "item"))


@pytest.mark.parametrize("name", RANKERS)
def test_single_calls_batches_and_one_call_for_all_give_the_same_lists(name: str) -> None:
    plain = replace(CHAIN, ranker=RANKERS[name]).run()
    single, whole = run(RANKERS[name], timing()), run(RANKERS[name], timing(clocked=False))
    assert same(single.recommendations, plain.recommendations)
    assert same(whole.recommendations, plain.recommendations)
    assert np.allclose(single.recommendations.score, plain.recommendations.score, atol=1e-5)
    assert single.ranker.measured["differ"] == 0  # type: ignore[attr-defined]
    assert single.recommendations.columns.keys() == plain.recommendations.columns.keys()
    assert single.report is not None
    assert plain.report is not None
    assert single.report.means == plain.report.means


def test_identity_keeps_the_retrievers_own_order() -> None:
    result = run(Identity(), timing())
    assert same(result.recommendations, result.candidates)


def test_calls_are_warmed_up_one_at_a_time_then_in_batches() -> None:
    counting = Counting()
    measured = run(counting, timing(warmup=3, batch_sizes=[1, 2, 5])).ranker.measured  # type: ignore[attr-defined]
    assert counting.calls == [*[1] * 3, *[1] * 8, 2, 2, 2, 2, 5, 3]
    assert len(measured["ns"]) == 8
    assert {size: len(ns) for size, ns in measured["batches"].items()} == {"2": 4, "5": 2}
    counting.calls.clear()
    assert run(counting, timing(warmup=10, batch_sizes=[])).ranker.measured["batches"] == {}  # type: ignore[attr-defined]
    assert counting.calls == [1] * 18
    counting.calls.clear()
    run(counting, timing(warmup=0, batch_sizes=[8, 32, 64]))  # of 8 queries
    assert counting.calls == [*[1] * 8, 8]


def test_with_fewer_documents_only_the_first_are_ranked_and_the_others_follow() -> None:
    @dataclass(frozen=True)
    class Backwards:
        """Turns every list around, and keeps how long the lists of each call were."""

        lengths: list[int] = field(default_factory=list)

        def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
            self.lengths.extend(candidates.lengths.tolist())
            return candidates.reorder(candidates.rank.astype(np.float32))

    backwards = Backwards()
    result = run(backwards, timing(warmup=0, batch_sizes=[], budgets=[3, 5, 10_000]))
    measured = result.ranker.measured  # type: ignore[attr-defined]
    assert list(measured["budgets"]) == ["3", "5"]  # no list is longer than 10,000
    whole, n = result.candidates.lengths, result.candidates.n_lists
    assert backwards.lengths == [*whole, *np.minimum(whole, 3), *np.minimum(whole, 5)]
    for k in (3, 5):
        made = measured["budgets"][str(k)]
        assert len(made["ns"]) == n
        assert made["documents"] == np.minimum(whole, k).sum()
        for place in range(n):
            before = result.candidates[place : place + 1].item.tolist()
            after = made["lists"][place : place + 1].item.tolist()
            assert after == [*before[:k][::-1], *before[k:]]


def test_a_pass_for_which_there_is_no_time_is_left_out_and_named() -> None:
    measured = run(Identity(), timing(batch_sizes=[4], budgets=[3, 5], until=0.0)).ranker.measured  # type: ignore[attr-defined]
    assert measured["left_out"] == ["4 queries in a call", "3 documents per query", "5 documents per query"]
    assert (measured["batches"], measured["budgets"]) == ({}, {})
    assert len(measured["ns"]) == 8


def test_in_parallel_the_order_with_fewer_documents_is_the_same_and_no_call_is_timed() -> None:
    chosen = {"budgets": [3], "batch_sizes": [4]}
    timed, untimed = (run(RANKERS["linear"], timing(clocked=on, **chosen)).ranker.measured for on in (True, False))  # type: ignore[attr-defined]
    assert same(timed["budgets"]["3"]["lists"], untimed["budgets"]["3"]["lists"])
    assert not same(timed["budgets"]["3"]["lists"], timed["lists"])
    assert budgets_of(untimed, {}) == {3: {"documents": 24}}
    assert batches_of(untimed["lists"], untimed, {}) == []


def test_figures_of_batches_by_hand() -> None:
    lists = RankedLists(
        np.arange(45, dtype=np.int32), np.arange(0, 91, 2), np.tile(np.int32([0, 1]), 45), np.zeros(90, np.float32)
    )
    ms = 1_000_000
    ranker = {
        "ns": np.full(45, 3 * ms),
        "batches": {"2": np.array([4 * ms] * 22 + [900 * ms]), "32": np.full(2, 9 * ms)},
    }
    one, two, many = batches_of(lists, ranker, {})
    assert [of["queries_per_call"] for of in (one, two, many)] == [1, 2, 32]
    assert one["ms_per_query"] == pytest.approx(3)
    assert (one["queries_per_s"], one["documents_per_s"]) == pytest.approx((1000 / 3, 2000 / 3))
    # the last call, of one query, counts in the throughput and not in the latency of calls of two
    assert (two["call_p50_ms"], two["call_p95_ms"]) == pytest.approx((4, 4))
    assert two["ms_per_query"] == pytest.approx((22 * 4 + 900) / 45)
    assert many["call_p50_ms"] == pytest.approx(9)
    assert np.isnan(many["call_p95_ms"])  # of one call
    assert many["documents_per_s"] == pytest.approx(90 / 0.018)
    retriever = {"ns": np.full(45, ms), "batches": {"2": np.full(23, 2 * ms)}}
    assert [of["call_p50_ms"] for of in batches_of(lists, ranker, retriever)] == pytest.approx([4, 6])


@dataclass(frozen=True, eq=False)
class Letters:
    """Counts letters, and keeps how many texts each call was given."""

    calls: list[int] = field(default_factory=list)

    def fit(self, texts: Array) -> Letters:
        return self

    def encode(self, texts: Array) -> Floats:
        self.calls.append(len(texts))
        return np.array([[text.count(letter) for letter in "aeiou"] for text in texts], dtype=np.float32)


@pytest.mark.parametrize("as_feature", [False, True])
def test_every_call_that_counts_encodes_its_query_and_none_the_items(as_feature: bool) -> None:
    letters = Letters()
    ranker = (
        Linear({"near": Relevance(letters), "again": Structure(letters)}, resamples=0)
        if as_feature
        else Cosine(letters)
    )
    measured = run(ranker, timing(warmup=3, batch_sizes=[5])).ranker.measured  # type: ignore[attr-defined]
    assert len(measured["ns"]) == 8
    n_items = CHAIN.dataset.load().n_items
    assert letters.calls[-14:] == [n_items, *[1] * 3, *[1] * 8, 5, 3]  # once a call, however many features share it


@dataclass(frozen=True)
class Looking:
    """Keeps what a ranker finds around it."""

    found: list[object] = field(default_factory=list)

    def fit(self, candidates: RankedLists, fold: Fold) -> FittedRanker:
        self.found.append(current())
        return Identity()


def test_a_ranker_is_fitted_without_what_others_left_in_the_cache(tmp_path: Path) -> None:
    looking, cache = Looking(), Cache(tmp_path)
    with cache.used():
        run(looking, timing())
    assert looking.found == [None]


@pytest.mark.skipif(not CLEAR.exists(), reason="only Linux forgets a peak")
def test_what_was_needed_before_the_candidates_were_there_is_not_the_rankers() -> None:
    @dataclass(frozen=True)
    class Large:
        def fit(self, history: Interactions) -> object:
            np.ones(8_000_000)  # 64 MB, gone again
            return Given().fit(history)

    @dataclass(frozen=True)
    class Needing:
        def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
            np.ones(4_000_000)
            return candidates

    chain = replace(CHAIN, retriever=Large())  # type: ignore[arg-type]
    small, needing = (run(ranker, timing(), chain).ranker.measured["memory"] for ranker in (Identity(), Needing()))  # type: ignore[attr-defined]
    assert small < 10e6
    assert 30e6 < needing < 45e6


def test_what_learns_nothing_needs_no_past() -> None:
    chain = replace(CHAIN, splitter=ByQuery(past="none"))
    assert len(run(Bm25(), timing(), chain).recommendations)


def test_side_by_side_nothing_is_timed() -> None:
    result = run(RANKERS["linear"], timing(clocked=False))
    measured = result.ranker.measured  # type: ignore[attr-defined]
    assert latencies_of(measured, {}) is None
    assert set(figures_of(result.recommendations, measured, {})) == {"memory/model_mb", "time/fit_s"}


def test_figures_of_a_model_that_is_saved() -> None:
    result = run(RANKERS["linear"], timing())
    figures = figures_of(result.recommendations, result.ranker.measured, {})  # type: ignore[attr-defined]
    assert 0 < (figures["memory/model_mb"] or 0) < 1
    assert (figures["throughput/queries_per_s"] or 0) == pytest.approx(1000 / (figures["latency/mean_ms"] or 1))
    assert result.weights.keys() == {str(number) for number in range(1, 9)}
    assert 0 < run(Identity(), timing()).ranker.measured["size"] < 1_000  # type: ignore[attr-defined]


def test_what_was_measured_is_kept_by_model_data_and_settings(tmp_path: Path) -> None:
    first = run(RANKERS["linear"], timing(Cache(tmp_path), load=7.5))
    again = run(RANKERS["linear"], timing(Cache(tmp_path)))
    one, other = (result.ranker.measured for result in (first, again))  # type: ignore[attr-defined]
    assert (one["cached"], other["cached"]) == (False, True)
    assert other["measured_at"] == one["measured_at"]
    assert other["ns"].tolist() == one["ns"].tolist()
    assert same(first.recommendations, again.recommendations)
    assert again.weights == first.weights
    assert (one["load"], other["load"]) == (7.5, 7.5)  # of the machine when it was measured
    changed = {
        "model": run(replace(RANKERS["linear"], l2=0.5), timing(Cache(tmp_path))),  # type: ignore[type-var]
        "settings": run(RANKERS["linear"], timing(Cache(tmp_path), warmup=4)),
        "data": run(RANKERS["linear"], timing(Cache(tmp_path)), replace(CHAIN, dataset=SyntheticJudged(41, 8))),
    }
    assert {name: result.ranker.measured["cached"] for name, result in changed.items()} == dict.fromkeys(changed, False)  # type: ignore[attr-defined]


def test_retrieving_is_measured_for_the_requests_alone_that_are_judged() -> None:
    split = CHAIN.splitter.split(CHAIN.dataset.load().unnamed(), "test")

    @dataclass(frozen=True)
    class Done:
        def split(self, *_: object) -> object:
            return split

    retrieving = TimedRetriever(timing(), Popularity(), split.fold.requests)
    chain = replace(CHAIN, splitter=Done(), retriever=retrieving, n_candidates=15)  # type: ignore[arg-type]
    result = run(Identity(), timing(), chain)
    plain = replace(CHAIN, retriever=Popularity(), n_candidates=15).run()
    assert same(result.candidates, plain.candidates)
    both = latencies_of(result.ranker.measured, retrieving.measured)  # type: ignore[attr-defined]
    assert both is not None
    memory = [of.measured["memory"] / 1e6 for of in (result.ranker, retrieving)]  # type: ignore[attr-defined]
    figures = figures_of(result.recommendations, result.ranker.measured, retrieving.measured)  # type: ignore[attr-defined]
    assert figures["memory/peak_mb"] == pytest.approx(sum(memory))
    assert both.tolist() == (result.ranker.measured["ns"] + retrieving.measured["ns"]).tolist()  # type: ignore[attr-defined]
    assert len(both) == len(split.fold.requests)
