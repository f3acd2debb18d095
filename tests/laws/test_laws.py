"""The laws of docs/concepts/laws.md, checked on whole runs of the default parts on a small generated news site.

Law 7 (metrics equal a textbook loop) is in test_metrics.py, law 1 of each feature in tests/parts/feature.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits
from waiting import PATIENCE

from recx.config.compose import compose, plain
from recx.core.contracts import check_lists
from recx.core.entities import Entities
from recx.core.evaluation import Evaluation
from recx.core.mapped import Mapped
from recx.core.protocols import FoldName
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, RankedLists, Split
from recx.experiment import blocks, build
from recx.experiment.experiment import Experiment, Result
from recx.parts.retriever import union
from recx.parts.shared import design_matrix, top_k

SMALL = ("dataset.readers=150", "dataset.articles=120", "dataset.days=2", "tracker=console", "n_candidates=30")


@dataclass(frozen=True)
class Loaded:
    """A dataset that is in memory already."""

    interactions: Interactions

    def load(self) -> Interactions:
        return self.interactions


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """On matrices this small more threads only wait for each other."""
    with threadpool_limits(1):
        yield


@cache
def composed(*overrides: str) -> Experiment:
    return build.experiment(plain(compose([*SMALL, *overrides])))


@cache
def run(*overrides: str) -> Result:
    return composed(*overrides).run()


def assert_same_lists(one: RankedLists, other: RankedLists) -> None:
    """Hold every field of the lists against each other, bit for bit."""
    for name in ("user", "indptr", "item", "score"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.columns.keys() == other.columns.keys()
    for name, column in one.columns.items():
        assert np.array_equal(column, other.columns[name], equal_nan=True), name


def means(result: Result) -> dict[str, float]:
    assert result.report is not None
    return result.report.means


# ---- 1: nothing depends on the answer ----

SPLITS = (
    ("split=leave_last",),
    ("split=leave_last_at_last_event",),
    ("split=by_user", "split.given=2"),
    ("split=k_fold", "split.part=2", "split.n=2"),
    ("split=k_fold_events", "split.part=4"),
    ("split=random",),
    ("split=cold_users",),
    ("split=session", "split.window=12h"),
    ("split=session", "split.window=12h", "split.position=1", "split.targets=left"),
    ("split=by_time", "split.window=12h"),
    ("split=by_time", "split.window=8h", "split.skip=1"),
)
COLD_ITEMS = (
    ("split=cold_items", "split.share=0.4", "feature=basic"),
    ("split=cold_items", "split.which=random", "split.compete=all", "feature=basic", "ranker.missed=add"),
)
WITHOUT_LATER_EVENTS = (
    *(split for split in SPLITS if split[0] in ("split=by_time", "split=cold_users")),
    ("split=session", "split.window=12h"),  # an earlier position may lie before the window, which is counted
    COLD_ITEMS[0],
)


def with_other_answers(result: Result, seed: int) -> Interactions:
    """The run's data with the items of all events that its fold's history does not hold drawn anew."""
    now, events = result.split.fold, result.interactions
    assert now.target is not None
    numbered = replace(events, weight=np.arange(1, len(events) + 1, dtype=np.float32))
    history = result.experiment.splitter.split(numbered, result.experiment.fold).fold.history
    known = np.zeros(len(events), dtype=bool)
    known[history.weight.astype(np.int64) - 1] = True
    item = np.where(known, events.item, np.random.default_rng(seed).integers(0, events.n_items, len(events)))
    assert np.array_equal(item[known], now.history.item)
    return replace(events, item=item.astype(np.int32))


@pytest.mark.parametrize("split", SPLITS, ids=["_".join(split) for split in SPLITS])
@pytest.mark.parametrize("fold", ["test", "valid"])
def test_law_1_other_answers_change_neither_candidates_nor_recommendations(split: Sequence[str], fold: str) -> None:
    first = run(*split, f"fold={fold}")
    changed = replace(composed(*split, f"fold={fold}"), dataset=Loaded(with_other_answers(first, 1))).run()
    assert first.split.fold.target is not None
    assert changed.split.fold.target is not None
    assert (first.split.fold.target.item != changed.split.fold.target.item).mean() > 0.9
    assert first.weights == changed.weights
    assert_same_lists(first.candidates, changed.candidates)
    assert_same_lists(first.recommendations, changed.recommendations)


@dataclass(frozen=True)
class Answering:
    """A split whose targets are other items of those that the split holds out."""

    splitter: Any

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        split: Split = self.splitter.split(interactions, fold)
        target = split.fold.target
        assert target is not None
        cold = np.unique(target.item)
        other = np.roll(cold, 1)[np.searchsorted(cold, target.item)]
        return replace(split, fold=replace(split.fold, target=replace(target, item=other)))


@pytest.mark.parametrize("split", COLD_ITEMS, ids=["_".join(split) for split in COLD_ITEMS])
def test_law_1_which_of_the_cold_items_is_the_answer_changes_no_list(split: Sequence[str]) -> None:
    first = run(*split)
    changed = replace(first.experiment, splitter=Answering(first.experiment.splitter)).run()
    assert first.split.fold.target is not None
    assert changed.split.fold.target is not None
    assert (first.split.fold.target.item != changed.split.fold.target.item).all()
    assert_same_lists(first.candidates, changed.candidates)
    assert_same_lists(first.recommendations, changed.recommendations)


@pytest.mark.parametrize("split", WITHOUT_LATER_EVENTS, ids=["_".join(split) for split in WITHOUT_LATER_EVENTS])
def test_law_1_with_these_splits_no_fit_sees_an_event_after_a_target(split: Sequence[str]) -> None:
    found = run(*split).split
    for fold in (found.fold, found.past):
        assert fold is not None
        assert fold.learnable.time is not None
        assert fold.target is not None
        assert fold.target.time is not None
        assert fold.learnable.time.max() < fold.target.time.min()
    assert found.notes["later_events"] == 0


# ---- 2: no label, no skill ----


def slates(labels: str, n_users: int = 3000, n_items: int = 60, length: int = 10) -> Interactions:
    """Users with one slate and one click each, which comes first in the file's slate.

    labels: ``random``: the click is any item of the slate; ``popular``: the one of the smallest number; by the skew of
    the draws that is what others click as well.
    """
    rng = np.random.default_rng(0)
    weight = 1 / (1 + np.arange(n_items))
    noise = rng.gumbel(size=(n_users, n_items)) + np.log(weight)
    shown = np.argsort(-noise, axis=1)[:, :length].astype(np.int32)
    if labels == "popular":
        shown.sort(axis=1)
    else:
        shown = rng.permuted(shown, axis=1)
    frame = pd.DataFrame({"user": np.arange(n_users), "item": shown[:, 0]})
    events = Interactions.from_frame(frame, items=Entities(np.arange(n_items)))
    lists = RankedLists(
        user=np.arange(n_users, dtype=np.int32),
        indptr=indptr_of(np.full(n_users, length)),
        item=shown.ravel(),
        score=np.zeros(shown.size, np.float32),
    )
    return replace(events, slates=lists)


def judged_slates(labels: str, ranker: str) -> dict[str, float]:
    metrics = "evaluator.end_to_end=[hit_at_1,hit_at_5,mrr]"
    chosen = ("retriever=given", f"ranker={ranker}", "feature=basic", "split=by_user", "split.share=0.4", metrics)
    return means(replace(composed(*chosen), dataset=Loaded(slates(labels))).run())


@pytest.mark.parametrize("ranker", ["identity", "linear"])
def test_law_2_without_a_signal_every_ranker_scores_at_chance(ranker: str) -> None:
    # 1,200 users, 10 items, 1 target: 4 standard deviations of hit_at_1 are 0.035, of hit_at_5 0.058.
    found = judged_slates("random", ranker)
    assert found["end_to_end/users"] == 1200
    assert found["end_to_end/hit_at_1"] == pytest.approx(0.1, abs=0.035)
    assert found["end_to_end/hit_at_5"] == pytest.approx(0.5, abs=0.058)
    assert found["end_to_end/mrr"] == pytest.approx((1 / np.arange(1, 11)).mean(), abs=0.035)


def test_law_2_with_a_signal_the_file_order_does_not_help_but_learning_does() -> None:
    assert judged_slates("popular", "identity")["end_to_end/hit_at_1"] == pytest.approx(0.1, abs=0.035)
    assert judged_slates("popular", "linear")["end_to_end/hit_at_1"] > 0.5


# ---- 3: exactly the candidates ----


@pytest.mark.parametrize("ranker", ["identity", "linear"])
@pytest.mark.parametrize("retriever", ["union_news", "popularity"])
def test_law_3_the_ranker_returns_the_pairs_that_it_was_given(ranker: str, retriever: str) -> None:
    result = run(f"ranker={ranker}", f"retriever={retriever}")
    given_lists, returned = result.candidates, result.recommendations
    assert np.array_equal(given_lists.user, returned.user)
    assert np.array_equal(given_lists.indptr, returned.indptr)
    assert len(given_lists) > 1000
    columns = [*given_lists.columns]

    def by_pair(lists: RankedLists) -> Array:
        order = np.lexsort((lists.item, lists.list_of_row))
        return np.stack([lists.item[order], *(lists.columns[name][order] for name in columns)])

    assert np.array_equal(by_pair(given_lists), by_pair(returned), equal_nan=True)


# ---- 4: the stages add up ----


def assert_lines_add_up(report: Evaluation, n_candidates: int) -> None:
    values, mean, scalars = report.values, report.means, report.scalars
    for k in (k for k in (5, 10) if k <= n_candidates):
        assert (values[f"end_to_end/recall_at_{k}"] <= values["funnel/candidate_recall"] + 1e-12).all()
        lost = values["funnel/lost_in_retrieval"] + values[f"funnel/lost_in_ranking_at_{k}"]
        assert lost + values[f"end_to_end/hit_at_{k}"] == pytest.approx(np.ones(len(report.users)))
        ranked = mean[f"ranking/hit_at_{k}"] if scalars["ranking/users"] else 0.0
        expected = (1 - mean["funnel/lost_in_retrieval"]) * ranked
        assert mean[f"end_to_end/hit_at_{k}"] == pytest.approx(expected)


@pytest.mark.parametrize("retriever", ["union_news", "popularity", "random", "item_knn"])
@pytest.mark.parametrize("ranker", ["identity", "linear"])
def test_law_4_the_stages_add_up(ranker: str, retriever: str) -> None:
    report = run(f"ranker={ranker}", f"retriever={retriever}").report
    assert report is not None
    assert_lines_add_up(report, 30)


def test_law_4_identity_ranks_what_was_retrieved() -> None:
    same = "[recall_at_10,hit_at_10,ndcg_at_10,mrr_at_10]"
    result = run("ranker=identity", f"evaluator.retrieval={same}", f"evaluator.end_to_end={same}")
    assert result.report is not None
    for name in ("recall_at_10", "hit_at_10", "ndcg_at_10", "mrr_at_10"):
        assert np.array_equal(result.report.values[f"retrieval/{name}"], result.report.values[f"end_to_end/{name}"])
    assert not result.report.values["funnel/lift_ndcg_at_10"].any()


# ---- 1, 3 and 4 on any tiny world ----


@st.composite
def tiny_worlds(draw: st.DrawFn) -> Interactions:
    """Two to eight users with up to six events on six items, times that tie; at least one user has three events."""
    sequences = draw(
        st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), max_size=6), min_size=1, max_size=7)
    )
    sequences.append(draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), min_size=3, max_size=5)))
    rows = [(user, item, time * 600_000) for user, events in enumerate(sequences) for item, time in events]
    frame = pd.DataFrame(rows, columns=["user", "item", "time"])
    if draw(st.booleans()):
        frame = frame.drop(columns="time")
    return Interactions.from_frame(frame, users=Entities(np.arange(len(sequences))), items=Entities(np.arange(6)))


@given(tiny_worlds(), st.integers(0, 2**16), st.sampled_from(["drop", "keep"]), st.sampled_from([1, 3, 30]))
@settings(max_examples=settings.default.max_examples // 2)
def test_laws_1_3_and_4_on_any_tiny_world(world: Interactions, seed: int, seen: str, n_candidates: int) -> None:
    chosen = ("retriever=union", "feature=news", "ranker.missed=add", f"seen={seen}")
    experiment = replace(composed(*chosen), n_candidates=n_candidates)
    result = replace(experiment, dataset=Loaded(world)).run()
    changed = replace(experiment, dataset=Loaded(with_other_answers(result, seed))).run()
    assert_same_lists(result.candidates, changed.candidates)
    assert_same_lists(result.recommendations, changed.recommendations)
    check_lists(result.candidates, result.split.fold.requests, world.n_items, "the retriever")
    assert (result.candidates.lengths <= n_candidates).all()
    assert result.report is not None
    assert_lines_add_up(result.report, 30)


# ---- 5: the same numbers again ----

AGAIN = """
import hashlib, sys
from recx.experiment import build
from recx.config.compose import compose, plain
result = build.experiment(plain(compose(sys.argv[1:]))).run()
digest = hashlib.sha256()
for lists in (result.candidates, result.recommendations):
    for name in ("user", "indptr", "item", "score"):
        digest.update(getattr(lists, name).tobytes())
means = {name: value.hex() for name, value in sorted(result.report.means.items())}
print(digest.hexdigest(), result.weights, means)
"""


def test_law_5_a_second_run_in_one_process_gives_the_same() -> None:
    first, second = run(), composed().run()
    assert_same_lists(first.candidates, second.candidates)
    assert_same_lists(first.recommendations, second.recommendations)
    assert first.weights == second.weights
    assert means(first) == pytest.approx(means(second), rel=0, abs=0, nan_ok=True)


@pytest.mark.slow
def test_law_5_another_process_with_as_many_threads_gives_the_same() -> None:
    def start(hash_seed: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "2"}
        command = [sys.executable, "-c", AGAIN, *SMALL]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    processes = [start("1"), start("2")]
    one, other = (process.communicate(timeout=PATIENCE)[0] for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    assert "news_phi_hist" in one
    assert one == other


# ---- 6: requests and batches ----


def served(result: Result, lists: Array) -> tuple[RankedLists, RankedLists]:
    """Candidates and recommendations of some of the run's requests, by models fitted as the run fitted them."""
    now = result.split.fold
    fitted = result.experiment.retriever.fit(now.history)
    candidates = fitted.retrieve(now.history, now.requests[lists], result.experiment.n_candidates)
    return candidates, result.ranker.rank(candidates, now.history, now.requests[lists])


def assert_same_but_for_near_ties(one: RankedLists, other: RankedLists) -> None:
    assert np.array_equal(one.user, other.user)
    assert np.array_equal(one.indptr, other.indptr)
    assert one.score == pytest.approx(other.score, abs=1e-5)
    for start, stop in pairwise(one.indptr):
        moved = np.flatnonzero(one.item[start:stop] != other.item[start:stop]) + start
        near = np.abs(one.score[start:stop][None, :] - one.score[moved][:, None]) <= 1e-5
        assert (near.sum(axis=1) > 1).all()


@pytest.mark.parametrize("retriever", ["union_news", "item_knn", "faiss", "popularity", "random"])
def test_law_6_fewer_requests_change_no_list(retriever: str) -> None:
    result = run(f"retriever={retriever}")
    some = np.flatnonzero(np.random.default_rng(0).random(result.candidates.n_lists) < 0.4)
    candidates, recommendations = served(result, some)
    assert_same_but_for_near_ties(result.candidates.take(some), candidates)
    assert_same_but_for_near_ties(result.recommendations.take(some), recommendations)


def test_law_6_the_batch_size_changes_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run()
    monkeypatch.setattr(top_k, "CELLS", 120 * 7)
    monkeypatch.setattr(union, "BLOCK", 31)
    monkeypatch.setattr(design_matrix, "LISTS", 13)
    candidates, recommendations = served(result, np.arange(result.candidates.n_lists))
    assert_same_but_for_near_ties(result.candidates, candidates)
    assert_same_but_for_near_ties(result.recommendations, recommendations)


@pytest.mark.parametrize("retriever", ["union_news", "item_knn", "random"])
def test_law_6_neither_does_the_number_of_requests_in_a_block(monkeypatch: pytest.MonkeyPatch, retriever: str) -> None:
    whole = run(f"retriever={retriever}")
    monkeypatch.setattr(blocks, "REQUESTS", 17)
    parts = composed(f"retriever={retriever}").run()
    assert_same_but_for_near_ties(whole.candidates, parts.candidates)
    assert_same_but_for_near_ties(whole.recommendations, parts.recommendations)
    assert type(parts.recommendations.item) is Mapped
    assert whole.notes == parts.notes
    assert parts.report is not None
    assert means(whole) == pytest.approx(means(parts), abs=1e-5, nan_ok=True)


# ---- the order of models on the generator ----


@pytest.mark.slow
def test_models_rank_in_the_expected_order() -> None:
    def ndcg(retriever: str, ranker: str = "identity") -> float:
        chosen = [f"retriever={retriever}", f"ranker={ranker}", "tracker=console"]
        return means(build.experiment(plain(compose(chosen))).run())["end_to_end/ndcg_at_5"]

    random, popularity, item_knn, faiss = (ndcg(name) for name in ("random", "popularity", "item_knn", "faiss"))
    assert random < 0.5 * popularity
    assert popularity < 0.5 * faiss
    assert popularity < 0.5 * item_knn
    assert max(item_knn, faiss) * 1.15 < ndcg("union_news", "linear")
