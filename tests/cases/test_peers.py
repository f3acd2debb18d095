"""Other libraries on random worlds: equal where the definitions are, and what differs and why where they are not.

EVALUATION, "Where libraries differ", is what the second half holds on to.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import metrics as sklearn

import recx

EXACT = 1e-9
ITEMS = [f"d{n:02}" for n in range(12)]
# Eighths, so that a float32 holds them exactly, and few, so that many are tied.
SCORES = st.integers(-8, 8).map(lambda n: n / 8)
LISTS = st.dictionaries(st.sampled_from(ITEMS), SCORES, max_size=12)
GRADES = st.dictionaries(st.sampled_from(ITEMS), st.integers(-1, 4), max_size=8)
WORLDS = st.dictionaries(st.sampled_from("uvwxyz"), st.tuples(st.none() | LISTS, GRADES), min_size=1, max_size=6)

Run = Mapping[str, Mapping[str, float]]
Qrels = Mapping[str, Mapping[str, int]]

OF_TREC = {
    "map": "map_trec",
    "map_cut_3": "map_trec_at_3",
    "recip_rank": "mrr",
    "P_1": "precision_at_1",
    "P_5": "precision_at_5",
    "recall_3": "recall_at_3",
    "recall_1000": "recall_at_1000",
    "success_3": "hit_at_3",
    "ndcg": "ndcg",
    "ndcg_cut_3": "ndcg_at_3",
    "ndcg_cut_10": "ndcg_at_10",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f",
}
MEASURES = {
    *("map", "recip_rank", "ndcg", "set_P", "set_recall", "set_F"),
    *("map_cut.3,5", "P.1,5", "recall.3,1000", "success.3", "ndcg_cut.3,10"),
}


def table(of: Mapping[str, Mapping[str, Any]], name: str) -> pd.DataFrame:
    rows = [(user, item, value) for user, values in of.items() for item, value in values.items()]
    return pd.DataFrame(rows, columns=["user", "item", name])


def by_trec(qrels: Qrels, run: Run, level: int = 1) -> dict[str, dict[str, float]]:
    judge = pytrec_eval.RelevanceEvaluator(qrels, MEASURES, relevance_level=level)
    found: dict[str, dict[str, float]] = judge.evaluate(run)
    return found


def in_trec_order(run: Run) -> pd.DataFrame:
    """pytrec_eval sorts ties by falling item id."""
    return table(run, "score").sort_values(["score", "item"], ascending=False, kind="stable")


@given(world=WORLDS, level=st.sampled_from([1, 2]))
def test_pytrec_eval_on_random_worlds(world: dict[str, Any], level: int) -> None:
    """Ties, grades, negative grades, empty lists, users without a list; items in the order that it takes ties in."""
    run = {user: shown for user, (shown, _) in world.items() if shown is not None}
    qrels = {user: grades for user, (_, grades) in world.items()}
    relevant = {user for user in qrels if any(grade >= level for grade in qrels[user].values())}
    assume(any(run.get(user) for user in relevant))

    mine = recx.evaluate(
        in_trec_order(run), table(qrels, "grade"), list(OF_TREC.values()), order="given", rel_threshold=level
    ).per_user.set_index("user")

    assert set(mine.index) == relevant
    # Of the judged users alone: a query of negative grades alone can send pytrec_eval into an endless loop.
    theirs = by_trec({user: qrels[user] for user in relevant}, run, level)
    for user in relevant:
        for measure, metric in OF_TREC.items():
            expected = theirs[user][measure] if user in run else 0.0
            assert mine.loc[user, metric] == pytest.approx(expected, abs=EXACT), (user, measure)


def test_pytrec_eval_leaves_out_users_without_a_list() -> None:
    """It averages over the users that have both, so that a run which fails for half of the users looks perfect."""
    qrels, run = {"u": {"a": 1}, "v": {"a": 1}}, {"u": {"a": 1.0}}
    assert list(by_trec(qrels, run)) == ["u"]
    evaluation = recx.evaluate(table(run, "score"), table(qrels, "grade"), ["map_trec"])
    assert evaluation.means["map_trec"] == 0.5
    assert evaluation.notes["users_without_list"] == 1


def test_pytrec_eval_counts_users_without_a_target_as_0() -> None:
    """Recx leaves them out of the mean: no ranking could do better for them."""
    qrels, run = {"u": {"a": 1}, "v": {"a": 0}}, {"u": {"a": 1.0}, "v": {"a": 1.0}}
    assert by_trec(qrels, run)["v"]["map"] == 0
    evaluation = recx.evaluate(table(run, "score"), table(qrels, "grade"), ["map_trec"])
    assert (evaluation.means["map_trec"], evaluation.notes["users_without_target"]) == (1.0, 1)


def test_pytrec_eval_breaks_ties_by_item_id_and_rounds_scores_to_float32() -> None:
    """Recx keeps the order given, and the scores as exact as they are given."""
    qrels = {"u": {"a": 1}}
    for run in ({"u": {"a": 1.0, "x": 1.0}}, {"u": {"a": 1.0 + 1e-9, "x": 1.0}}):
        assert by_trec(qrels, run)["u"]["recip_rank"] == 0.5
        assert recx.evaluate(table(run, "score"), table(qrels, "grade"), ["mrr"]).means["mrr"] == 1.0


def test_pytrec_eval_takes_whole_grades_alone() -> None:
    with pytest.raises(TypeError, match="integer"):
        by_trec({"u": {"a": 0.5}}, {"u": {"a": 1.0}})  # type: ignore[dict-item]


def test_its_map_divides_by_all_targets_and_recxs_by_min_k_targets() -> None:
    qrels, run = {"u": dict.fromkeys("abcd", 1)}, {"u": {"a": 2.0, "b": 1.0}}
    means = recx.evaluate(table(run, "score"), table(qrels, "grade"), ["map_trec_at_5", "map_at_5", "map_at_2"]).means
    assert by_trec(qrels, run)["u"]["map_cut_5"] == means["map_trec_at_5"] == 0.5
    assert (means["map_at_5"], means["map_at_2"]) == (0.5, 1.0)  # min(2, 4) targets fit into two places


def test_its_reciprocal_rank_is_never_cut() -> None:
    qrels, run = {"u": {"a": 1}}, {"u": {"x": 3.0, "y": 2.0, "a": 1.0}}
    means = recx.evaluate(table(run, "score"), table(qrels, "grade"), ["mrr", "mrr_at_2"]).means
    assert by_trec(qrels, run)["u"]["recip_rank"] == means["mrr"] == pytest.approx(1 / 3)
    assert means["mrr_at_2"] == 0


@st.composite
def rated(draw: st.DrawFn, distinct: bool) -> tuple[list[float], list[float]]:
    """Draw scores of 2 to 12 items and their grades, not all of one class."""
    n = draw(st.integers(2, 12))
    scores = draw(st.permutations(range(n)) if distinct else st.lists(st.integers(0, 3), min_size=n, max_size=n))
    grades = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5]), min_size=n, max_size=n))
    assume(any(grade >= 1 for grade in grades) and any(grade < 1 for grade in grades))
    return [score / 16 for score in scores], grades


def of_one(scores: list[float], grades: list[float], names: list[str]) -> dict[str, float]:
    items = range(len(scores))
    shown = pd.DataFrame({"user": 1, "item": items, "score": scores})
    return recx.evaluate(shown, pd.DataFrame({"user": 1, "item": items, "grade": grades}), names).means


@given(world=rated(distinct=True), k=st.integers(1, 14))
def test_scikit_learn_without_ties(world: tuple[list[float], list[float]], k: int) -> None:
    """ndcg_score (linear gain), dcg_score and, over whole lists that show every target, average precision."""
    scores, grades = world
    means = of_one(scores, grades, ["ndcg", f"ndcg_at_{k}", "dcg", f"dcg_at_{k}", "map", "map_trec", "ndcg_exp"])
    exponential = [2**grade - 1 for grade in grades]
    expected = {
        "ndcg": sklearn.ndcg_score([grades], [scores]),
        f"ndcg_at_{k}": sklearn.ndcg_score([grades], [scores], k=k),
        "dcg": sklearn.dcg_score([grades], [scores]),
        f"dcg_at_{k}": sklearn.dcg_score([grades], [scores], k=k),
        "ndcg_exp": sklearn.ndcg_score([exponential], [scores]),
        "map": sklearn.average_precision_score(np.array(grades) >= 1, scores),
    }
    assert means == pytest.approx({**expected, "map_trec": expected["map"]}, abs=EXACT)


@given(world=rated(distinct=False))
def test_scikit_learn_with_ties_where_the_order_of_ties_plays_no_part(world: tuple[list[float], list[float]]) -> None:
    """AUC, where a tie counts one half, log loss (clipped at the same place) and accuracy at a threshold."""
    scores, grades = world
    relevant = np.array(grades) >= 1
    auc = sklearn.roc_auc_score(relevant, scores)
    eps = 1e-15
    assert of_one(scores, grades, ["auc", "auc_pooled", "auc_weighted", "logloss", "accuracy"]) == pytest.approx(
        {
            "auc": auc,
            "auc_pooled": auc,
            "auc_weighted": auc,
            "logloss": sklearn.log_loss(relevant, np.clip(scores, eps, 1 - eps), labels=[False, True]),
            "accuracy": sklearn.accuracy_score(relevant, np.array(scores) >= 0.5),
        },
        abs=EXACT,
    )


def test_scikit_learns_ndcg_averages_over_the_orders_of_ties() -> None:
    """Recx judges the one order that the user gets; both orders are equally likely in scikit-learn."""
    orders = [of_one([1.0, 1.0], grades, ["ndcg"])["ndcg"] for grades in ([1.0, 0.0], [0.0, 1.0])]
    assert orders == pytest.approx([1.0, 1 / math.log2(3)])
    assert sklearn.ndcg_score([[1.0, 0.0]], [[1.0, 1.0]]) == pytest.approx(sum(orders) / 2)
    assert sklearn.ndcg_score([[1.0, 0.0]], [[1.0, 1.0]], ignore_ties=True) == pytest.approx(orders[1])


def test_scikit_learns_average_precision_takes_a_tie_as_one_step() -> None:
    """All tied items are retrieved together: 1/2 in whichever order, where recx has 1 and 1/2."""
    assert sklearn.average_precision_score([1, 0], [0.5, 0.5]) == 0.5
    assert of_one([0.5, 0.5], [1.0, 0.0], ["map"])["map"] == 1.0
    assert of_one([0.5, 0.5], [0.0, 1.0], ["map"])["map"] == 0.5


def test_scikit_learn_sees_only_the_targets_in_the_list() -> None:
    """Average precision and NDCG know nothing of a target that was not shown; recx divides by all targets."""
    shown = pd.DataFrame({"user": 1, "item": [1, 2], "score": [0.9, 0.1]})
    truth = pd.DataFrame({"user": 1, "item": [1, 3]})
    means = recx.evaluate(shown, truth, ["map", "ndcg", "recall"]).means
    assert sklearn.average_precision_score([1, 0], [0.9, 0.1]) == sklearn.ndcg_score([[1, 0]], [[0.9, 0.1]]) == 1.0
    assert means == pytest.approx({"map": 0.5, "ndcg": 1 / (1 + 1 / math.log2(3)), "recall": 0.5})


def test_scikit_learn_counts_a_user_without_a_target_as_0_in_ndcg() -> None:
    """Recx leaves the user out and counts it (scikit-learn issue 29521)."""
    assert sklearn.ndcg_score([[1, 0], [0, 0]], [[0.9, 0.1], [0.9, 0.1]]) == 0.5
    shown = pd.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "score": [0.9, 0.1] * 2})
    evaluation = recx.evaluate(shown, pd.DataFrame({"user": [1, 2], "item": [1, 1], "grade": [1, 0]}), ["ndcg"])
    assert (evaluation.means["ndcg"], evaluation.notes["users_without_target"]) == (1.0, 1)


OF_RANX = {
    "ndcg@5": "ndcg_at_5",
    "ndcg": "ndcg",
    "ndcg_burges@5": "ndcg_exp_at_5",
    "dcg@5": "dcg_at_5",
    "map": "map_trec",
    "map@3": "map_trec_at_3",
    "mrr@4": "mrr_at_4",
    "precision@3": "precision_at_3",
    "recall@3": "recall_at_3",
    "hit_rate@3": "hit_at_3",
    "f1@3": "f_at_3",
}


@contextmanager
def by_ranx() -> Iterator[Any]:
    """Give ranx, uncompiled: compiling its metrics takes a minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        yield importlib.import_module("ranx")


@pytest.mark.filterwarnings("ignore")
def test_ranx() -> None:
    rng = np.random.default_rng(0)
    run, qrels = {}, {}
    for n in range(200):
        shown = rng.permutation(30)[: rng.integers(1, 30)].tolist()
        run[f"u{n}"] = {f"d{item}": float(-rank) for rank, item in enumerate(shown)}  # no ties
        qrels[f"u{n}"] = {f"d{item}": int(rng.integers(1, 4)) for item in rng.permutation(30)[: rng.integers(1, 12)]}
    with by_ranx() as ranx:
        theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(OF_RANX), return_mean=False)
    mine = recx.evaluate(table(run, "score"), table(qrels, "grade"), list(OF_RANX.values()))
    order = sorted(run)  # as ranx has them
    for measure, metric in OF_RANX.items():
        ours = mine.per_user.set_index("user").loc[order, metric]
        assert np.asarray(theirs[measure]) == pytest.approx(ours.to_numpy(), abs=EXACT), measure

    # Compiled, ranx sorts ties unstably, and the first of forty lands in the middle; recx keeps the order given.
    tied = {"u": {f"d{item:02}": 1.0 for item in range(40)}}
    assert recx.evaluate(table(tied, "score"), table({"u": {"d00": 1}}, "grade"), ["mrr"]).means["mrr"] == 1.0

    # Float grades become whole ones: 0.9 and 0.5 are no longer targets.
    floats, shown = {"u": {"a": 0.9, "b": 0.5}}, {"u": {"b": 1.0, "a": 0.5}}
    with by_ranx() as ranx:
        assert ranx.evaluate(ranx.Qrels(floats), ranx.Run(shown), "ndcg@2") == 0
    means = recx.evaluate(table(shown, "score"), table(floats, "grade"), ["ndcg_at_2"], rel_threshold=0.1).means
    assert means["ndcg_at_2"] == pytest.approx(0.8785418638)

    # A user without a list is refused, unless make_comparable is set, which counts 0 as recx does.
    with by_ranx() as ranx:
        two, one = ranx.Qrels({"u": {"a": 1}, "v": {"a": 1}}), {"u": {"a": 1.0}}
        with pytest.raises(AssertionError):
            ranx.evaluate(two, ranx.Run(one), "mrr")
        assert ranx.evaluate(two, ranx.Run(one), "mrr", make_comparable=True) == 0.5
