"""Blocks of users change no figure: values per user to the bit, numbers of all users to rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recx
from recx.core.entities import Entities
from recx.core.errors import InputError, RecxError
from recx.core.evaluation import Evaluation
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import indptr_of
from recx.core.total import Total
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation import blocks
from recx.evaluation.evaluator import Evaluator
from recx.evaluation.ground_truth import GroundTruth
from recx.evaluation.metrics.curves import TABLES
from recx.evaluation.metrics.registry import FIGURES, UNCUT, metric
from recx.evaluation.metrics.stopping import OF_PROBABILITIES

N_USERS, N_ITEMS = 9, 7
NAMED = [
    *(metric(figure, None) for figure in FIGURES if figure not in ("top_accuracy", *OF_PROBABILITIES)),
    *(metric(figure, 2) for figure in FIGURES if figure not in (*UNCUT, *OF_PROBABILITIES)),
    *(
        metric(figure, None, label=f"{figure}_from_2", rel_threshold=2.0)
        for figure in ("mrr", "auc", "coverage", "ndcg")
    ),
]


@dataclass(frozen=True)
class Own:
    """A metric from elsewhere.

    Attributes:
        name: Its name.
        of: What it computes.
        needs_all: Whether it asks for all lists at once.
    """

    name: str
    of: Any
    needs_all: bool = False

    def __call__(self, judged: JudgedLists) -> Any:
        return self.of(judged)

    def notes(self, judged: JudgedLists) -> dict[str, float]:
        return {f"{self.name}_rows": len(judged.lists)}


OWN = [
    Own("own_length", lambda judged: judged.lists.lengths.astype(float)),
    Own("own_coverage", lambda judged: len(np.unique(judged.lists.item)) / len(judged.items)),
    Own("own_rows", lambda judged: Total(np.array([len(judged.lists)]), lambda sums: float(sums[0]))),
    Own("own_share", lambda judged: judged.lists.lengths / max(len(judged.lists), 1), needs_all=True),
]

SCORE = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
LIST = st.lists(st.tuples(st.integers(0, N_ITEMS - 1), SCORE), max_size=N_ITEMS, unique_by=lambda pair: pair[0])
TARGETS = st.dictionaries(st.integers(0, N_ITEMS - 1), st.sampled_from([-1.0, 0.5, 1.0, 2.0, 3.0]), max_size=4)
CHANCES = st.dictionaries(st.integers(0, N_ITEMS - 1), st.sampled_from([0.125, 0.25, 0.75, 1.0]), max_size=4)


def lists_of(shown: dict[int, list[tuple[int, float]]], kind: Any = np.float32) -> RankedLists:
    rows = [pair for user in sorted(shown) for pair in sorted(shown[user], key=lambda pair: -pair[1])]
    return RankedLists(
        user=np.array(sorted(shown), dtype=np.int32),
        indptr=indptr_of(np.array([len(shown[user]) for user in sorted(shown)], dtype=np.int64)),
        item=np.array([item for item, _ in rows], dtype=np.int32),
        score=np.array([score for _, score in rows], dtype=kind),
    )


def fold_of(targets: dict[int, dict[int, float]], seed: int) -> Fold:
    """Return a fold with a history, embeddings and categories, some unknown."""
    rng = np.random.default_rng(seed)
    embedding = rng.normal(size=(N_ITEMS, 3)).astype(np.float32)
    embedding[0] = np.nan
    category = np.array([-1, 0, 0, 1, 1, 2, 2], dtype=np.int32)
    entities = {
        "users": Entities(np.arange(N_USERS)),
        "items": Entities(np.arange(N_ITEMS), {"category": category}, embedding),
    }
    rows = [(user, item, grade) for user, of in targets.items() for item, grade in of.items()]
    frame = pd.DataFrame(rows, columns=["user", "item", "weight"]).astype({"user": int, "item": int, "weight": float})
    events = pd.DataFrame({"user": rng.integers(0, N_USERS, 20), "item": rng.integers(0, N_ITEMS - 1, 20)})
    history = Interactions.from_frame(events, **entities, order="given")
    positive = frame[frame["weight"] > 0]
    target = Interactions.from_frame(positive, **entities, order="given")
    return Fold(history, target, Requests(np.unique(target.user)))


def same(one: Evaluation, other: Evaluation) -> None:
    assert one.users.tolist() == other.users.tolist()
    assert list(one.values) == list(other.values)
    assert list(one.scalars) == list(other.scalars)
    for name, values in one.values.items():
        assert values.dtype == other.values[name].dtype, name
        assert np.array_equal(values, other.values[name], equal_nan=True), name
    for ours, theirs in ((one.scalars, other.scalars), (one.notes, other.notes)):
        assert ours == pytest.approx(dict(theirs), abs=1e-12, rel=1e-12, nan_ok=True)
    assert list(one.tables) == list(other.tables)
    for name, table in one.tables.items():
        for column, values in table.items():
            theirs = other.tables[name][column]
            assert values.dtype == theirs.dtype, (name, column)
            if values.dtype.kind == "f":
                assert values == pytest.approx(theirs, abs=1e-12, nan_ok=True), (name, column)
            else:
                assert values.tolist() == theirs.tolist(), (name, column)


def with_rows(rows: int, compute: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "ROWS", rows)
        patch.setattr(blocks, "WHOLE", rows)
        return compute()


def outcome(compute: Any) -> Evaluation | str:
    """Return an evaluation, or the start of what refuses it (its numbers may be those of a block)."""
    try:
        return compute()
    except (InputError, RecxError) as error:
        return str(error)[:20]


def same_outcome(rows: int, compute: Any) -> None:
    """Check that blocks of so many rows give what one block gives."""
    whole, parts = (outcome(lambda n=n: with_rows(n, compute)) for n in (10**6, rows))
    if isinstance(whole, Evaluation) and isinstance(parts, Evaluation):
        same(parts, whole)
    else:
        assert whole == parts


WORLDS = {
    "shown": st.dictionaries(st.integers(0, N_USERS - 1), LIST, min_size=1),
    "targets": st.dictionaries(st.integers(0, N_USERS - 1), TARGETS, min_size=1),
    "rows": st.integers(1, 9),
    "threshold": st.sampled_from([0.5, 1.0]),
    "seed": st.integers(0, 99),
}


@pytest.mark.slow
@given(**WORLDS, curve=st.booleans())
def test_every_figure_of_a_run_is_the_same_in_blocks(shown, targets, rows, threshold, seed, curve) -> None:
    """Ties, empty lists, users without a list or a target, grades on both sides of the threshold, any block."""
    fold = fold_of(targets, seed)
    candidates = lists_of(shown)
    recommendations = candidates.reorder(np.random.default_rng(seed).integers(0, 5, len(candidates)) / 4)
    metrics = [*NAMED, *OWN]
    tables = [name for name in TABLES if curve or not name.endswith("_curve")]
    settings = {"n_candidates": 9, "rel_threshold": threshold, "max_grade": 3, "tables": tables}
    evaluator = Evaluator(metrics, metrics, metrics, **settings)
    same_outcome(rows, lambda: evaluator.evaluate(candidates, recommendations, fold))


@pytest.mark.slow
@given(**{**WORLDS, "targets": st.dictionaries(st.integers(0, N_USERS - 1), CHANCES, min_size=1)})
def test_every_figure_of_probabilities_is_the_same_in_blocks(shown, targets, rows, threshold, seed) -> None:
    fold, candidates = fold_of(targets, seed), lists_of(shown)
    metrics = [metric(figure, k, rel_threshold=threshold / 4) for figure in OF_PROBABILITIES for k in (None, 2)]
    evaluator = Evaluator(metrics, metrics, metrics, n_candidates=9, rel_threshold=threshold / 4)
    same_outcome(rows, lambda: evaluator.evaluate(candidates, candidates, fold))


@pytest.mark.slow
@given(**WORLDS, order=st.permutations(range(N_USERS)))
def test_every_figure_of_tables_is_the_same_in_blocks(shown, targets, rows, threshold, seed, order) -> None:
    """Users of the lists in another order than those of the truth, items that are shown twice."""
    lists = pd.DataFrame([(u, i, s) for u in order for i, s in shown.get(u, [])], columns=["user", "item", "score"])
    twice = pd.concat([lists, lists[: len(lists) // 2]]).astype({"user": int, "item": int, "score": float})
    rows_of_truth = [(u, i, g) for u, of in targets.items() for i, g in of.items()]
    truth = pd.DataFrame(rows_of_truth, columns=["user", "item", "grade"])
    events = pd.DataFrame({"user": [0, 1], "item": [2, 3]})
    items = pd.DataFrame({"item": range(N_ITEMS), "category": list("aabbccc"), "embedding": [*np.eye(N_ITEMS)]})
    asked = {"on_duplicates": "first", "rel_threshold": threshold, "max_grade": 3, "history": events, "items": items}
    same_outcome(rows, lambda: recx.evaluate(twice, truth, [*NAMED, *OWN], **asked))


def test_blocks_have_about_so_many_rows_and_cover_all_users() -> None:
    """Rows of users without a target count with those of the next one who has a target."""
    shown = {user: [(item, 1.0 - item / 10) for item in range(n)] for user, n in enumerate([2, 2, 0, 5, 1, 1, 0])}
    truth = GroundTruth.of(fold_of({user: {6: 1.0} for user in (0, 1, 2, 4, 5, 6, 8)}, 0))
    of_rows = {
        n: with_rows(n, lambda: [b[0].lists.user.tolist() for b in blocks.Blocks(truth, [lists_of(shown)])])
        for n in (1, 3, 99)
    }
    assert of_rows[99] == [[0, 1, 2, 4, 5, 6, 8]]
    assert of_rows[3] == [[0, 1], [2, 4], [5, 6, 8]]
    assert [user for users in of_rows[1] for user in users] == [0, 1, 2, 4, 5, 6, 8]


def test_one_block_is_kept_and_several_are_not() -> None:
    fold = fold_of({0: {1: 1.0}, 1: {2: 1.0}}, 0)
    truth, lists = GroundTruth.of(fold), lists_of({0: [(1, 0.5)], 1: [(3, 0.5)]})
    assert next(iter(blocks.Blocks(truth, [lists])))[0] is truth.judge(lists)
    apart = with_rows(1, lambda: list(blocks.Blocks(truth, [lists])))
    assert [part[0].hit_row.tolist() for part in apart] == [[0], []]


def test_lists_of_other_users_alone_are_refused_in_blocks_too() -> None:
    truth = GroundTruth.of(fold_of({0: {1: 1.0}, 2: {1: 1.0}}, 0))
    with pytest.raises(InputError, match="none of the 2 users with a target has a list"):
        with_rows(1, lambda: list(blocks.Blocks(truth, [lists_of({1: [(1, 0.5), (2, 0.5)]})])))


def test_only_what_cannot_be_joined_is_computed_of_all_lists_at_once() -> None:
    calls: list[tuple[str, int]] = []

    def noted(name: str, value: Any) -> Own:
        return Own(name, lambda judged: (calls.append((name, judged.n_users)), value(judged))[1], name == "all")

    own = [
        noted("user", lambda judged: np.zeros(judged.n_users)),
        noted("one", lambda judged: 0.5),
        noted("all", lambda judged: np.ones(judged.n_users)),
    ]
    lists = lists_of({user: [(user, 0.5)] for user in range(3)})
    fold = fold_of({user: {user: 1.0} for user in range(3)}, 0)
    report = with_rows(1, lambda: Evaluator([], [], own).evaluate(lists, lists, fold))
    assert sorted(calls) == [("all", 3), ("one", 1), ("one", 3), *[("user", 1)] * 3]
    assert report.values["end_to_end/all"].tolist() == [1, 1, 1]
    assert report.scalars["end_to_end/one"] == 0.5


def test_a_total_that_is_not_finite_is_refused() -> None:
    own = Own("odd", lambda judged: Total(np.zeros(1), lambda sums: math.inf))
    lists = lists_of({0: [(0, 0.5)]})
    with pytest.raises(RecxError, match="the metric 'end_to_end/odd' must return finite numbers"):
        Evaluator([], [], [own]).evaluate(lists, lists, fold_of({0: {0: 1.0}}, 0))


def test_totals_add_up_and_sums_by_rank_may_differ_in_length() -> None:
    one, other = (Total(np.array(sums), lambda of: of.tolist()) for sums in ([1, 2, 3], [10, 20]))
    assert (one + other).value == (other + one).value == [11, 22, 3]
    assert one.value == [1, 2, 3]
    assert float(Total(np.array([1, 4]), lambda of: of[0] / of[1])) == 0.25


@pytest.mark.parametrize("sums", [3.5, np.float64(3.5), np.array(3.5), [1, 2]])
def test_sums_that_could_not_be_added_up_are_refused_before_there_are_blocks(sums: Any) -> None:
    with pytest.raises(RecxError, match="the sums of a Total must be an array of one dimension or more"):
        Total(sums, float)
