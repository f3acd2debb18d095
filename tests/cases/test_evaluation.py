"""Small inputs behind real faults of other libraries, and more of the same kinds, through ``recx.evaluate``."""

from __future__ import annotations

import json
import math
import os
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.errors import InputError

DATA = Path(os.environ.get("RECX_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
FILE = DATA.parent / "cases" / "metric_cases.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.is_file() else []
needs_cases = pytest.mark.skipif(not CASES, reason=f"{FILE} is not there: set RECX_DATA to the folder beside it")
HANDLED = {
    *("denominator", "gain", "order", "duplicates", "id_type", "score_strings", "duplicate_relevance_rows", "k_list"),
    *("no_relevant", "drop_ids", "seen", "weight", "beta", "max_grade", "eps", "rel_threshold"),
    *("generate", "batched", "max_rss_mb", "max_seconds"),
}
SAID = {
    "nan_scores_rejected": "score of user 'u' in row 1 is nan",
    "k_must_be_positive": "mrr.k=-1: it must be 1 or more",
    "all_users_missing": "no user in common",
    "int_vs_str_ids": "item ids differ in type .int in recommendations, str in relevance.",
}
"""What the sentence of each refused input says."""

Shown = Mapping[Any, Sequence[Any]]
Grades = Mapping[Any, Mapping[Any, float]]


def tables_of(case: Mapping[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the recommendations and the truth of a case as frames, in the order of the file."""
    params = case["params"]
    cast = _whole_if_it_is if params.get("id_type") == "int" else _as_it_is
    gone = {*params.get("drop_ids", ()), *(item for items in params.get("seen", {}).values() for item in items)}
    shown = [
        (cast(user), cast(item), float(score))
        for user, pairs in case["recommendations"].items()
        for item, score in pairs
        if item not in gone
    ]
    truth = [(cast(u), cast(item), grade) for u, grades in case["relevance"].items() for item, grade in grades.items()]
    again = params.get("duplicate_relevance_rows", {})
    truth += [(cast(u), cast(item), case["relevance"][u][item]) for u, items in again.items() for item in items[1:]]
    return pd.DataFrame(shown, columns=["user", "item", "score"]), pd.DataFrame(
        truth, columns=["user", "item", "grade"]
    )


def metric_of(case: Mapping[str, Any], k: int | None) -> Any:
    params = case["params"]
    variants = {
        ("map", "denominator", "num_rel"): "map_trec",
        ("ndcg", "gain", "exp"): "ndcg_exp",
        ("auc", "weight", "n_impressions"): "auc_weighted",
    }
    names = {(case["metric"], key, value): value for key, value in params.items() if isinstance(value, str)}
    figure = next((variants[name] for name in names if name in variants), case["metric"])
    own = {name: params[name] for name in ("beta", "max_grade", "rel_threshold") if name in params}
    return recx.metric(figure, k, **own)


def evaluated(case: Mapping[str, Any]) -> recx.Evaluation:
    params = case["params"]
    recommendations, truth = tables_of(case)
    return recx.evaluate(
        recommendations,
        truth,
        [metric_of(case, k) for k in params.get("k_list", [case["k"]])],
        order="given" if params.get("order") == "list" else "score",
        on_duplicates="first" if params.get("duplicates") == "count_first" else "error",
    )


def _as_it_is(raw: Any) -> Any:
    return raw


def _whole_if_it_is(raw: Any) -> Any:
    return int(raw) if isinstance(raw, int) or raw.lstrip("-").isdigit() else raw


@needs_cases
def test_the_cases_are_there() -> None:
    assert len(CASES) == 64
    assert {name for case in CASES for name in case["params"]} <= HANDLED
    assert {case["id"] for case in CASES if case["kind"] == "error"} == set(SAID)


@needs_cases
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_case_of_the_file(case: Mapping[str, Any]) -> None:
    if case["kind"] == "error":
        with pytest.raises(InputError, match=SAID[case["id"]]):
            evaluated(case)
        return
    evaluation = evaluated(case)
    value = evaluation.means[metric_of(case, case["k"]).name]
    assert value == pytest.approx(case["expected"], abs=1e-9)
    if isinstance(case["wrong"], float) and not math.isclose(case["wrong"], case["expected"], abs_tol=1e-3):
        assert value != pytest.approx(case["wrong"], abs=1e-6)
    if "duplicates" in case["params"]:
        assert evaluation.notes["duplicates_in_lists"] > 0
    if "duplicate_relevance_rows" in case["params"]:
        assert evaluation.notes["targets_duplicated"] == 1
    if "eps" in case["params"]:
        assert (case["params"]["eps"], evaluation.notes["logloss_clipped"]) == (1e-15, 2)
    if case["params"].get("no_relevant") == "skip":
        assert evaluation.notes["users_without_target"] == 1


def test_cuts_come_in_any_order() -> None:
    shown, truth = frames({"u": ["x", "a", "b"]}, {"u": {"a": 1}})
    for cuts in ([3, 1], [1, 3]):
        means = recx.evaluate(shown, truth, [f"hit_at_{k}" for k in cuts]).means
        assert means == {"hit_at_1": 0.0, "hit_at_3": 1.0}
        assert list(means) == [f"hit_at_{k}" for k in cuts]


def test_memory_does_not_grow_with_the_largest_id() -> None:
    """An array as long as the largest id would hold 2 * 10^9 or 10^18 numbers."""
    shown, truth = frames({2_000_000_000: [10**18], 7: [-5]}, {2_000_000_000: {10**18: 1}, 7: {3: 1}})
    tracemalloc.start()
    try:
        assert recx.evaluate(shown, truth, ["hit_at_1"]).means["hit_at_1"] == 0.5
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_a_prediction_frame_of_13_000_users_is_judged_within_memory() -> None:
    """The size of the case ``scale_hash_memory``: 1,300,000 rows. Every second user has its target at rank 1."""
    rng = np.random.default_rng(0)
    n_users, n_items, n = 13_000, 25_000, 100
    first = rng.integers(0, n_items, n_users)
    items = (first[:, None] + np.arange(n)) % n_items  # no item twice in a list
    shown = pd.DataFrame(
        {"user": np.repeat(np.arange(n_users), n), "item": items.ravel(), "score": np.tile(-np.arange(n), n_users)}
    )
    target = np.where(np.arange(n_users) % 2, first, (first + n) % n_items)  # for the other half just below the list
    truth = pd.DataFrame({"user": np.arange(n_users), "item": target})
    tracemalloc.start()
    try:
        evaluation = recx.evaluate(shown, truth, ["map_at_10", "hit_at_1", "recall_at_100"])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert set(evaluation.means.values()) == {0.5}
    assert evaluation.notes["users_judged"] == n_users
    assert peak < 200e6


@pytest.mark.slow
def test_scores_of_a_full_catalogue_are_made_and_judged_in_batches() -> None:
    """As in the case ``scale_full_rank_matrix``, smaller: 20,000 x 20,000 scores (1.6 GB) never exist at once."""
    rng = np.random.default_rng(0)
    n, dims, batch, k = 20_000, 32, 500, 10
    users, items = (rng.standard_normal((n, dims), dtype=np.float32) for _ in range(2))
    users[::2] = items[::2]  # every second user looks for the item that is like him
    tops, scores = np.empty((n, k), np.int64), np.empty((n, k), np.float32)
    tracemalloc.start()
    try:
        for start in range(0, n, batch):
            block = users[start : start + batch] @ items.T
            top = np.argpartition(block, n - k, axis=1)[:, n - k :]
            tops[start : start + batch], scores[start : start + batch] = top, np.take_along_axis(block, top, axis=1)
        shown = pd.DataFrame(
            {"user": np.repeat(np.arange(n), k), "item": tops.ravel(), "score": scores.ravel()}, copy=False
        )
        truth = pd.DataFrame({"user": np.arange(n), "item": np.arange(n)})
        evaluation = recx.evaluate(shown, truth, ["recall_at_10", "hit_at_1"])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    found = (tops == np.arange(n)[:, None]).any(axis=1)
    assert evaluation.means["recall_at_10"] == pytest.approx(found.mean())
    assert found[::2].mean() > 0.9
    assert peak < 600e6


# What follows are further inputs of the same kinds, worked by hand.


def frames(shown: Shown, grades: Grades) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return lists whose scores fall by one per rank, and the truth; an item may be a pair (item, score)."""
    rows = [
        (user, *(item if isinstance(item, tuple) else (item, float(-rank))))
        for user, items in shown.items()
        for rank, item in enumerate(items)
    ]
    truth = [(user, item, grade) for user, of in grades.items() for item, grade in of.items()]
    return pd.DataFrame(rows, columns=["user", "item", "score"]), pd.DataFrame(truth, columns=["user", "item", "grade"])


LOG3 = math.log2(3)
NUMBERS = list(range(1, 1001))

OTHERS: dict[str, tuple[Shown, Grades, dict[str, float], dict[str, Any]]] = {
    # Duplicates: the first copy counts, the later ones keep their slots.
    "a duplicate before the cut pushes a target behind it": (
        {"u": ["x", "x", "a"]},
        {"u": {"a": 1}},
        {"hit_at_2": 0, "hit_at_3": 1, "ndcg_at_3": 0.5, "mrr": 1 / 3},
        {"on_duplicates": "first"},
    ),
    "the later copy of a target is at the cut": (
        {"u": ["a", "x", "a", "b"]},
        {"u": {"a": 1, "b": 1}},
        {"precision_at_3": 1 / 3, "recall_at_3": 0.5, "map_at_3": 0.5, "map_at_4": 0.75, "recall": 1.0},
        {"on_duplicates": "first"},
    ),
    "a target thrice among graded ones": (
        {"u": ["a", "a", "b", "a"]},
        {"u": {"a": 2, "b": 3}},
        {"cg": 5, "dcg": 2 + 3 / 2, "ndcg_at_4": (2 + 3 / 2) / (3 + 2 / LOG3)},
        {"on_duplicates": "first"},
    ),
    # Ties: the order given decides, and ties across the cut are counted (below).
    "a tie across the cut, the target given first": (
        {"u": [("a", 1.0), ("x", 1.0), ("y", 0.5)]},
        {"u": {"a": 1}},
        {"hit_at_1": 1, "mrr": 1, "auc": 0.75},
        {},
    ),
    "a tie across the cut, the target given last": (
        {"u": [("x", 1.0), ("a", 1.0), ("y", 0.5)]},
        {"u": {"a": 1}},
        {"hit_at_1": 0, "hit_at_2": 1, "mrr": 0.5, "auc": 0.75},
        {},
    ),
    "all scores equal and minus zero is zero": (
        {"u": [("x", 0.0), ("y", -0.0), ("a", 0.0)]},
        {"u": {"a": 1}},
        {"mrr": 1 / 3, "auc": 0.5},
        {},
    ),
    "scores that differ by 1e-12 are not a tie": (
        {"u": [("x", 1.0), ("a", 1.0 + 1e-12)]},
        {"u": {"a": 1}},
        {"hit_at_1": 1, "auc": 1},
        {},
    ),
    # Cuts.
    "k = 1 of one item and one target": (
        {"u": ["a"]},
        {"u": {"a": 1}},
        {f"{figure}_at_1": 1 for figure in ("hit", "recall", "precision", "f", "ndcg", "map", "map_trec", "mrr")},
        {},
    ),
    "k = 1 and many targets": (
        {"u": ["a", "b"]},
        {"u": {"a": 1, "b": 1, "c": 1, "d": 1}},
        {"recall_at_1": 0.25, "map_at_1": 1, "map_trec_at_1": 0.25, "ndcg_at_1": 1, "precision_at_1": 1, "f_at_1": 0.4},
        {},
    ),
    "a list shorter than k is as if followed by items that are not targets": (
        {"u": ["x", "a"]},
        {"u": {"a": 1, "b": 1, "c": 1}},
        {
            "precision_at_5": 0.2,
            "precision": 0.5,
            "recall_at_5": 1 / 3,
            "map_at_5": 0.5 / 3,
            "ndcg_at_5": 1 / LOG3 / (1.5 + 1 / LOG3),
        },
        {},
    ),
    "k = 1000 of a list of 3": (
        {"u": ["x", "a", "b"]},
        {"u": {"a": 1, "b": 1}},
        {"precision_at_1000": 0.002, "recall_at_1000": 1, "map_at_1000": 7 / 12, "mrr_at_1000": 0.5},
        {},
    ),
    "k = 1000 of a list of 1000, the last one the target": (
        {"u": NUMBERS},
        {"u": {1000: 1}},
        {"hit_at_999": 0, "hit_at_1000": 1, "mrr_at_1000": 1e-3, "ndcg_at_1000": 1 / math.log2(1001), "auc": 0},
        {},
    ),
    # Grades.
    "a grade exactly at the threshold counts, one a little below does not": (
        {"u": ["a", "b"]},
        {"u": {"a": 3.2, "b": 3.3}},
        {"hit_at_1": 0, "mrr": 0.5, "recall": 1, "cg_at_1": 3.2},
        {"rel_threshold": 3.3},
    ),
    "a grade of float32 at the threshold": (
        {"u": ["a"]},
        {"u": {"a": np.float32(0.7)}},
        {"hit_at_1": 1},
        {"rel_threshold": 0.7},
    ),
    "a negative grade is worth nothing and does not push NDCG below 0": (
        {"u": ["n", "m"], "v": ["n", "a"]},
        {"u": {"n": -3, "m": -1, "a": 1}, "v": {"n": -2, "a": 2}},
        {"ndcg": (0 + 1 / LOG3) / 2, "cg": 1, "hit_at_1": 0, "map": 0.25},
        {},
    ),
    "a float grade below 1 counts in graded figures alone": (
        {"u": ["a", "b"]},
        {"u": {"a": 0.5, "b": 1.5}},
        {"ndcg": (0.5 + 1.5 / LOG3) / (1.5 + 0.5 / LOG3), "mrr": 0.5, "map": 0.5, "recall_at_1": 0},
        {},
    ),
    "a grade of 0 is not a target": (
        {"u": ["z", "a"]},
        {"u": {"z": 0, "a": 1}},
        {"precision_at_2": 0.5, "recall_at_1": 0, "mrr": 0.5, "num_queries": 1},
        {},
    ),
    "grades at their highest end a cascade half way": (
        {"u": ["a", "b"]},
        {"u": {"a": 1, "b": 1}},
        {"err": 0.5 + 0.5 * 0.5 / 2, "cascade": 0.75, "err_at_1": 0.5},
        {"max_grade": 1},
    ),
    # Users.
    "users in other order than the truth": (
        {"w": ["a"], "u": ["x", "a"], "v": ["x"]},
        {"u": {"a": 1}, "v": {"a": 1}, "w": {"a": 1}},
        {"mrr": (0.5 + 0 + 1) / 3, "hit_at_1": 1 / 3},
        {},
    ),
    "one user only": ({7: [1, 2, 3]}, {7: {3: 1}}, {"mrr": 1 / 3, "num_queries": 1, "hit_num_at_3": 1}, {}),
    "no list of theirs is a hit": (
        {"u": ["x"], "v": ["y"]},
        {"u": {"a": 1}, "v": {"a": 1}},
        {"hit": 0, "ndcg": 0, "map": 0, "mrr": 0, "f": 0, "recall": 0, "precision": 0},
        {},
    ),
    "a user of the truth without a list counts 0, one of the lists without truth does not count": (
        {"u": ["a"], "z": ["a"]},
        {"u": {"a": 1}, "v": {"a": 1}},
        {"hit": 0.5, "ndcg": 0.5, "num_queries": 2},
        {},
    ),
    "the same number is a user and an item": (
        {1: [1, 2], 2: [2, 1]},
        {1: {2: 1}, 2: {2: 1}},
        {"mrr": 0.75, "hit_at_1": 0.5},
        {},
    ),
    # Ids.
    "ids at both ends of 64 bits": (
        {-(2**63): [-(2**63), 2**63 - 1], 2**63 - 1: [5]},
        {-(2**63): {2**63 - 1: 1}, 2**63 - 1: {5: 1}},
        {"mrr": 0.75},
        {},
    ),
    "ids that a float cannot distinguish": (
        {2**53: [2**53, 2**53 + 1], 2**53 + 1: [2**60 + 1, 2**60]},
        {2**53: {2**53 + 1: 1}, 2**53 + 1: {2**60: 1}},
        {"mrr": 0.5, "hit_at_1": 0},
        {},
    ),
    "negative and sparse ids": (
        {-3: [-1, 10**15, 0], 0: [-1, -2]},
        {-3: {0: 1}, 0: {-1: 1}},
        {"mrr": (1 / 3 + 1) / 2},
        {},
    ),
    "text ids with blanks, accents and leading zeros": (
        {"é": ["007", "7", " 7"], "": ["a b"]},
        {"é": {"7": 1}, "": {"a b": 1}},
        {"mrr": 0.75},
        {},
    ),
    # Many targets: from 49 on they are searched, up to 48 compared one by one.
    "48 targets and 49": (
        {"u": list(range(100)), "v": list(range(100)), "w": [99]},
        {"u": dict.fromkeys(range(48), 1), "v": dict.fromkeys(range(49), 1), "w": {99: 1}},
        {"recall_at_24": (0.5 + 24 / 49 + 1) / 3, "precision_at_100": (48 + 49 + 1) / 300, "map": 1, "ndcg": 1},
        {},
    ),
    "1,000 targets, half of them shown, every second row": (
        {"u": [item for i in range(500) for item in (i, -1 - i)], "v": [0, 1, 2]},
        {"u": dict.fromkeys(range(1000), 1), "v": {2: 1}},
        {
            "recall": (0.5 + 1) / 2,
            "precision_at_1000": (0.5 + 1e-3) / 2,
            "hit_at_1": 0.5,
            "recall_at_3": (2e-3 + 1) / 2,
        },
        {},
    ),
    "lists of uneven length, one target each": (
        {u: [*range(100, 100 + u), 7] for u in range(1, 6)},
        {u: {7: 1} for u in range(1, 6)},
        {
            "mrr": sum(1 / (u + 1) for u in range(1, 6)) / 5,
            "hit_at_3": 2 / 5,
            "precision": sum(1 / (u + 1) for u in range(1, 6)) / 5,
        },
        {},
    ),
    # Scores.
    "negative scores": ({"u": [("a", -5.5), ("x", -7.0)]}, {"u": {"a": 1}}, {"hit_at_1": 1, "auc": 1}, {}),
    "whole numbers as scores": ({"u": [("x", 1), ("a", 2)]}, {"u": {"a": 1}}, {"hit_at_1": 1}, {}),
    "very large and very small scores": (
        {"u": [("x", 1e-300), ("a", 1.7e308), ("y", -1.7e308)]},
        {"u": {"a": 1}},
        {"hit_at_1": 1, "auc": 1},
        {},
    ),
    "scores in rising order are sorted": (
        {"u": [("x", 0.1), ("y", 0.2), ("a", 0.3)]},
        {"u": {"a": 1}},
        {"hit_at_1": 1, "mrr": 1},
        {},
    ),
    "in the order given the scores play no part": (
        {"u": [("x", 0.1), ("y", 0.2), ("a", 0.3)]},
        {"u": {"a": 1}},
        {"hit_at_1": 0, "mrr": 1 / 3, "auc": 0},
        {"order": "given"},
    ),
    # Two classes.
    "users of one class have no AUC": (
        {"u": [("a", 0.9), ("x", 0.1)], "v": [("b", 0.4)], "w": [("x", 0.4), ("y", 0.3)]},
        {"u": {"a": 1}, "v": {"b": 1}, "w": {"c": 1}},
        {"auc": 1, "auc_weighted": 1, "auc_pooled": 5.5 / 6},
        {},
    ),
    "a click that was given 1 costs nothing, one that was given one half a log of 2": (
        {"u": [("a", 1.0), ("b", 0.5)]},
        {"u": {"a": 1, "b": 1}},
        {"logloss": math.log(2) / 2, "accuracy": 1, "class_recall": 1},
        {},
    ),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("shuffled", [False, True], ids=["as given", "rows shuffled"])
def test_another_case_worked_by_hand(name: str, shuffled: bool) -> None:
    shown, grades, expected, settings = OTHERS[name]
    recommendations, truth = frames(shown, grades)
    if shuffled:
        truth = truth.sample(frac=1, random_state=1)
        # The rows of a user are scattered over the table, but keep their order, which decides ties.
        recommendations = recommendations.sort_values("score", ascending=False, kind="stable")
        if settings.get("order") == "given":
            recommendations = recommendations.sort_index()
    evaluation = recx.evaluate(recommendations, truth, list(expected), **settings)
    assert evaluation.means == pytest.approx(expected, abs=1e-12)


DTYPES: dict[str, dict[str, str]] = {
    "int8": {"user": "int8", "item": "int8", "score": "float32"},
    "uint64": {"user": "uint64", "item": "uint64", "score": "int64"},
    "object": {"user": "object", "item": "object"},
    "category of numbers": {"user": "category", "item": "category"},
    "nullable": {"user": "Int64", "item": "UInt8", "score": "Float32"},
    "arrow": {"user": "int64[pyarrow]", "item": "int32[pyarrow]", "score": "float[pyarrow]"},
}
TEXTS = ("object", "str", "string", "category", "string[pyarrow]")


@pytest.mark.parametrize("name", DTYPES)
def test_ids_and_scores_of_any_dtype(name: str) -> None:
    shown, truth = frames({1: [(7, 1), (5, 2), (9, 0)], 2: [(5, 3)]}, {1: {7: 1}, 2: {9: 1}})
    ids = {column: DTYPES[name][column] for column in ("user", "item")}
    means = [
        recx.evaluate(a, b, ["mrr"]).means["mrr"]
        for a in (shown, shown.astype(DTYPES[name]))
        for b in (truth, truth.astype(ids))
    ]
    assert means == [0.25] * 4


@pytest.mark.parametrize("mine", TEXTS)
@pytest.mark.parametrize("theirs", TEXTS)
def test_texts_of_any_dtype(mine: str, theirs: str) -> None:
    shown, truth = frames({"u": [("b", 1), ("a", 2)], "v": ["c"]}, {"v": {"c": 1}, "u": {"b": 1}})
    means = recx.evaluate(
        shown.astype({"user": mine, "item": mine}), truth.astype({"user": theirs, "item": theirs}), ["mrr"]
    ).means
    assert means["mrr"] == 0.75


def test_whole_numbers_above_2_to_the_63_stay_apart() -> None:
    big = 2**63
    shown, truth = frames({big: [big, big + 1], big + 1: [big + 7]}, {big: {big + 1: 1}, big + 1: {big + 7: 1}})
    for dtype in ("uint64", "object"):
        types = {"user": dtype, "item": dtype}
        assert recx.evaluate(shown.astype(types), truth.astype(types), ["mrr"]).means["mrr"] == 0.75
    few = frames({5: [6, 5]}, {5: {5: 1}})[0]  # int64 here, uint64 there
    assert recx.evaluate(few, frames({}, {5: {5: 1, big + 1: 1}})[1].astype({"item": "uint64"}), ["recall"]).means == {
        "recall": 0.5
    }


def test_a_user_in_two_blocks_of_rows_is_one_user() -> None:
    shown, truth = frames({}, {"u": {"a": 1}, "v": {"a": 1}})
    rows = [("u", "x", 0.9), ("v", "a", 0.8), ("u", "a", 0.7), ("v", "x", 0.9)]
    shown = pd.DataFrame(rows, columns=["user", "item", "score"])
    evaluation = recx.evaluate(shown, truth, ["mrr"])
    assert evaluation.users.tolist() == ["u", "v"]
    assert evaluation.means["mrr"] == 0.5
    assert recx.evaluate(shown, truth, ["mrr"], order="given").values["mrr"].tolist() == [0.5, 1.0]


def test_ranks_do_in_place_of_scores() -> None:
    truth = frames({}, {"u": {"a": 1}})[1]
    for ranks in ([1, 3, 2], [0, 2, 1], [1.0, 9.0, 2.5]):
        shown = pd.DataFrame({"user": "u", "item": ["x", "y", "a"], "rank": ranks})
        assert recx.evaluate(shown, truth, ["mrr"]).means["mrr"] == 0.5
    both = pd.DataFrame({"user": "u", "item": ["x", "a"], "rank": [1, 2], "score": [0.1, 0.2]})
    assert recx.evaluate(both, truth, ["mrr"], order="score").means["mrr"] == 1
    assert recx.evaluate(both, truth, ["mrr"], order="rank").means["mrr"] == 0.5


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
def test_the_order_of_the_truth_does_not_matter(order: list[int]) -> None:
    shown, truth = frames({"u": ["a", "b", "c"]}, {"u": {"a": 1, "b": 3, "c": 2}})
    value = recx.evaluate(shown, truth.iloc[order], ["ndcg"]).means["ndcg"]
    assert value == pytest.approx((1 + 3 / LOG3 + 1) / (3 + 2 / LOG3 + 0.5))


def test_ties_across_a_cut_are_counted_as_the_share_of_users_who_have_one() -> None:
    shown, truth = frames(
        {"u": [("a", 1.0), ("b", 1.0), ("c", 0.5)], "v": [("a", 1.0), ("b", 0.5), ("c", 0.5)], "w": [("a", 1.0)]},
        {user: {"a": 1} for user in "uvw"},
    )
    notes = recx.evaluate(shown, truth, ["hit_at_1", "hit_at_2", "hit_at_3"]).notes
    assert [notes[f"tied_at_{k}"] for k in (1, 2, 3)] == pytest.approx([1 / 3, 1 / 3, 0])
    assert "tied_at_1" not in recx.evaluate(shown, truth, ["hit_at_1"], order="given").notes


SHOWN, TRUTH = frames({"ann": ["a", "b"], "bob": ["a"]}, {"ann": {"a": 1}, "bob": {"b": 2}})
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "score nan": (lambda: (SHOWN.assign(score=[1, np.nan, 2]), TRUTH), "score of user 'ann' in row 2 is nan"),
    "score inf": (lambda: (SHOWN.assign(score=[1, 0, np.inf]), TRUTH), "score of user 'bob' in row 3 is inf"),
    "score -inf": (lambda: (SHOWN.assign(score=[-np.inf, 0, 1]), TRUTH), "score of user 'ann' in row 1 is -inf"),
    "score missing": (
        lambda: (SHOWN.assign(score=pd.array([1, None, 2], "Float64")), TRUTH),
        "score of user 'ann' in row 2 is nan",
    ),
    "rank nan": (lambda: (_ranked([1, np.nan, 1]), TRUTH), "the rank of user 'ann' in row 2 is nan"),
    "grade nan": (lambda: (SHOWN, TRUTH.assign(grade=[np.nan, 1])), "the grade of user 'ann' in row 1 is nan"),
    "grade inf": (lambda: (SHOWN, TRUTH.assign(grade=[1, np.inf])), "the grade of user 'bob' in row 2 is inf"),
    "score text": (lambda: (SHOWN.assign(score=["1", "2", "3"]), TRUTH), "column 'score' holds str values"),
    "score complex": (lambda: (SHOWN.assign(score=1j), TRUTH), "column 'score' holds complex128 values"),
    "grade text": (lambda: (SHOWN, TRUTH.assign(grade="high")), "relevance: column 'grade' holds str values"),
    "duplicate": (lambda: (SHOWN.assign(item="a"), TRUTH), "the list of user 'ann' shows the item 'a' twice"),
    "user types": (lambda: (SHOWN.assign(user=1), TRUTH), "user ids differ in type .int in .*, str in"),
    "user missing": (
        lambda: (SHOWN.assign(user=["ann", None, "bob"]), TRUTH),
        "recommendations: column 'user', row 2: the id is missing",
    ),
    "item nan": (lambda: (SHOWN, TRUTH.assign(item=[np.nan, 2])), "relevance: column 'item', row 1: the id is missing"),
    "item float": (
        lambda: (SHOWN, TRUTH.assign(item=[1.0, 2.5])),
        "'item' holds floating values, but ids must be whole",
    ),
    "item mixed": (lambda: (SHOWN, TRUTH.assign(item=[1, "b"])), "'item' holds mixed-integer values"),
    "item bool": (lambda: (SHOWN.assign(item=True), TRUTH), "'item' holds boolean values"),
    "item beyond 64 bits": (lambda: (SHOWN.assign(item=2**70), TRUTH), "do not fit into 64 bits: convert them to text"),
    "no common user": (lambda: (SHOWN.assign(user="zoe"), TRUTH), r"no user in common \(zoe against ann, bob\)"),
    "no rows": (lambda: (SHOWN[:0], TRUTH), "recommendations has no rows"),
    "no truth": (lambda: (SHOWN, TRUTH[:0]), "relevance has no rows"),
    "no score": (lambda: (SHOWN[["user", "item"]], TRUTH), 'no column score or rank .* or set order="given"'),
    "no item": (lambda: (SHOWN.rename(columns={"item": "itme"}), TRUTH), "'item' is missing; did you mean 'itme'"),
    "item twice": (lambda: (SHOWN, pd.concat([TRUTH, TRUTH["item"]], axis=1)), "'item' occurs more than once"),
    "nothing relevant": (lambda: (SHOWN, TRUTH.assign(grade=0)), "none of the 2 targets has a weight above 0"),
    "nothing high enough": (lambda: (SHOWN, TRUTH.assign(grade=0.5)), "rel_threshold=1.0: none of the 2 targets"),
    "no frame": (lambda: ([("ann", "a", 1.0)], TRUTH), "recommendations must be a data frame .* not list"),
}


def _ranked(ranks: Sequence[float]) -> pd.DataFrame:
    return SHOWN.drop(columns="score").assign(rank=ranks)


@pytest.mark.parametrize("name", WRONG)
def test_an_input_that_cannot_be_judged_is_refused_in_one_sentence(name: str) -> None:
    tables, message = WRONG[name]
    with pytest.raises(InputError, match=message) as caught:
        recx.evaluate(*tables(), ["mrr"])
    assert "\n" not in str(caught.value)


SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "k 0": ({"metrics": ["hit_at_0"]}, "k must be a whole number from 1 up"),
    "k 2.5": ({"metrics": ["hit_at_2.5"]}, "k must be a whole number from 1 up"),
    "k True": ({"metrics": ["hit_at_True"]}, "k must be a whole number from 1 up"),
    "metric twice": ({"metrics": ["hit_at_1", "mrr", "hit_at_1"]}, "'hit_at_1' is listed twice"),
    "metric typo": ({"metrics": ["ndgc_at_5"]}, "did you mean 'ndcg_at_5'"),
    "metric text": ({"metrics": "mrr"}, r"metrics='mrr': give a list, such as \['mrr'\]"),
    "metric number": ({"metrics": [5]}, "5 is not a metric"),
    "metric cut": ({"metrics": ["auc_at_5"]}, "'auc' takes no cut: write it without _at_5"),
    "order": ({"order": "scores"}, "order=scores: did you mean 'score'"),
    "duplicates": ({"on_duplicates": "last"}, "on_duplicates=last: choose one of: error, first"),
    "threshold 0": ({"rel_threshold": 0}, "rel_threshold=0: it must be above 0"),
    "threshold nan": ({"rel_threshold": math.nan}, "rel_threshold=nan: it must be a number"),
    "threshold text": ({"rel_threshold": "1"}, "rel_threshold=1: it must be a number"),
    "grade": ({"metrics": ["err"]}, "'err' needs the highest possible grade: set max_grade"),
    "grade too low": ({"metrics": ["err"], "max_grade": 1}, "max_grade=1: a target has the grade 2"),
    "scores": ({"metrics": ["logloss"], "order": "given"}, 'uses the scores, not the ranks: set order="score"'),
    "probabilities": ({"metrics": ["logloss"]}, "logloss needs probabilities, and the scores range from -1 to 0"),
    "history": ({"metrics": ["novelty_at_5"]}, "the history has no events: give it .history="),
    "embeddings": ({"metrics": ["diversity_at_5"]}, "diversity needs embeddings, but no item has one"),
    "categories": ({"metrics": ["category_diversity"]}, "needs categories, but no item has one"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_cannot_be_used_is_refused_in_one_sentence(name: str) -> None:
    settings, message = SETTINGS[name]
    with pytest.raises(InputError, match=message) as caught:
        recx.evaluate(SHOWN, TRUTH, **{"metrics": ["mrr"], **settings})
    assert "\n" not in str(caught.value)
