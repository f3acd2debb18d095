"""The evaluator: three stages, the users that each counts, what is left out and noted, and law 4."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from recx.core.ann_recall import FOUND, NEAREST
from recx.core.errors import InputError, RecxError
from recx.core.types import Interactions
from recx.evaluation.evaluator import Evaluator
from recx.evaluation.metrics.registry import metric

EVALUATOR = Evaluator(
    retrieval=["recall_at_3", "hit_at_3", "ndcg_at_3", "mrr", "recall"],
    ranking=["hit_at_1", "hit_at_3", "ndcg_at_3", "recall_at_3"],
    end_to_end=["hit_at_1", "hit_at_3", "ndcg_at_3", "mrr", "recall_at_3"],
)


@dataclass(frozen=True)
class ListLength:
    """A custom metric with one value per user."""

    name: str = "list_length"

    def __call__(self, judged):
        return judged.lists.lengths.astype(float)


@dataclass(frozen=True)
class Coverage:
    """A custom metric with one number for all users."""

    name: str = "coverage"

    def __call__(self, judged):
        return len(np.unique(judged.lists.item)) / len(judged.items)


def test_lines_of_a_world_worked_by_hand(lists_of, fold_of):
    """User 0: found, shown second. User 1: two targets, one found and put first. User 2: not found. User 3: no list."""
    fold = fold_of({0: {5: 1}, 1: {6: 1, 7: 1}, 2: {8: 1}, 3: {9: 1}})
    candidates = lists_of({0: [1, 2, 5], 1: [1, 6], 2: [1, 2, 3]})
    recommendations = lists_of({0: [1, 5, 2], 1: [6, 1], 2: [3, 2, 1]})

    report = EVALUATOR.evaluate(candidates, recommendations, fold)

    assert report.users.tolist() == [0, 1, 2, 3]
    values = {name: report.values[name].tolist() for name in report.values}
    assert values["retrieval/recall_at_3"] == [1, 0.5, 0, 0]
    assert values["retrieval/mrr"] == pytest.approx([1 / 3, 1 / 2, 0, 0])
    assert values["end_to_end/hit_at_1"] == [0, 1, 0, 0]
    assert values["end_to_end/mrr"] == [0.5, 1, 0, 0]
    assert values["ranking/hit_at_1"] == pytest.approx([0, 1, np.nan, np.nan], nan_ok=True)
    assert values["ranking/recall_at_3"] == pytest.approx([1, 1, np.nan, np.nan], nan_ok=True)
    assert values["funnel/candidate_recall"] == [1, 0.5, 0, 0]
    assert values["funnel/lost_in_retrieval"] == [0, 0, 1, 1]
    assert values["funnel/lost_in_ranking_at_1"] == [1, 0, 0, 0]
    assert values["funnel/lost_in_ranking_at_3"] == [0, 0, 0, 0]
    gain = np.array([1 / np.log2(3) - 1 / 2, (1 - 1 / np.log2(3)) / (1 + 1 / np.log2(3)), 0, 0])
    assert values["funnel/lift_ndcg_at_3"] == pytest.approx(gain)
    assert report.scalars == {"retrieval/users": 4, "ranking/users": 2, "end_to_end/users": 4}
    assert report.means["ranking/hit_at_1"] == 0.5
    assert report.notes["users_without_list"] == 1


def test_a_user_without_a_list_scores_0_and_stays_in_the_mean(lists_of, fold_of):
    """Ten held-out users, lists for five of them, four hits: 0.4, not 0.8."""
    fold = fold_of({user: {1: 1} for user in range(10)})
    lists = lists_of({user: [1 if user < 4 else 2] for user in range(5)})
    report = EVALUATOR.evaluate(lists, lists, fold)
    assert report.means["end_to_end/hit_at_1"] == pytest.approx(0.4)
    assert report.notes["users_without_list"] == 5


def test_a_line_without_users_is_nan(lists_of, fold_of):
    lists = lists_of({0: [1, 2]})
    report = EVALUATOR.evaluate(lists, lists, fold_of({0: {3: 1}}))
    assert report.means["ranking/users"] == 0
    assert np.isnan(report.means["ranking/hit_at_1"])
    assert report.means["funnel/lost_in_retrieval"] == 1


def test_a_ranker_that_adds_the_answer_is_found_out(lists_of, fold_of):
    with pytest.raises(RecxError, match="may only reorder"):
        EVALUATOR.evaluate(
            lists_of({0: [1, 2], 1: [3]}), lists_of({0: [3, 2], 1: [3]}), fold_of({0: {3: 1}, 1: {3: 1}})
        )


def test_ties_across_a_cut_are_counted(lists_of, fold_of):
    lists = lists_of({0: [1, 2, 3, 4], 1: [1, 2], 2: [1, 2, 3, 4]})
    tied = replace(lists, score=np.array([4, 4, 3, 2, 5, 5, 1, 1, 1, 1], dtype=np.float32))
    report = EVALUATOR.evaluate(lists, tied, fold_of({user: {1: 1} for user in range(3)}))
    assert report.notes["tied_at_1"] == pytest.approx(1)
    assert report.notes["tied_at_3"] == pytest.approx(1 / 3)  # user 1 shows two items only


def test_cuts_above_n_candidates_are_left_out_and_named(lists_of, fold_of):
    evaluator = Evaluator(["hit_at_5"], ["hit_at_2", "hit_at_3"], ["hit_at_2", "mrr"], n_candidates=2)
    lists = lists_of({0: [1, 2]})
    report = evaluator.evaluate(lists, lists, fold_of({0: {2: 1}}))
    assert evaluator.left_out == ("retrieval/hit_at_5", "ranking/hit_at_3")
    assert report.notes["cut_above_n_candidates"] == 2
    assert not [name for name in report.means if name.endswith(("_at_3", "_at_5"))]
    assert "funnel/lost_in_ranking_at_2" in report.values


def test_metrics_of_others_give_a_value_a_user_or_one_number(lists_of, fold_of):
    evaluator = Evaluator([ListLength()], [ListLength(), Coverage()], [Coverage(), "hit_at_1"])
    lists = lists_of({0: [1, 2], 1: [3]})
    report = evaluator.evaluate(lists, lists, fold_of({0: {2: 1}, 1: {9: 1}}))
    assert report.values["retrieval/list_length"].tolist() == [2, 1]
    assert report.values["ranking/list_length"] == pytest.approx([2, np.nan], nan_ok=True)
    assert report.scalars["end_to_end/coverage"] == pytest.approx(3 / 50)
    assert report.scalars["ranking/coverage"] == pytest.approx(2 / 50)  # of the one user of that stage


def test_a_metric_that_returns_the_wrong_shape_is_named(lists_of, fold_of):
    @dataclass(frozen=True)
    class Rows:
        name: str = "rows"

        def __call__(self, judged):
            return judged.gain

    with pytest.raises(RecxError, match="the metric 'rows' must return one number, or one for each of the 1 users"):
        Evaluator([Rows()], [], []).evaluate(lists_of({0: [1, 2]}), lists_of({0: [1, 2]}), fold_of({0: {2: 1}}))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ranking": ["ndgc_at_5"]}, "evaluator.ranking: there is no metric 'ndgc_at_5': did you mean 'ndcg_at_5'"),
        ({"retrieval": ["hit_at_0"]}, "evaluator.retrieval: the metric 'hit_at_0' is cut at '0'"),
        ({"end_to_end": "ndcg_at_5"}, r"evaluator.end_to_end=ndcg_at_5: it must be a list"),
        ({"end_to_end": ["mrr", "mrr"]}, "evaluator.end_to_end: the metric 'mrr' is listed twice"),
        ({"ranking": [5]}, "evaluator.ranking.0=5: it must be text"),
        ({"ranking": [ListLength("hit@5")]}, "evaluator.ranking: the name 'hit@5' of a metric"),
        ({"ranking": ["err_at_5"]}, "evaluator.ranking: the metric 'err_at_5' needs .*evaluator.max_grade in a run"),
        (
            {"ranking": [metric("hit", k=5, rel_threshold=0.5)]},
            "evaluator.ranking: the metric 'hit_at_5' counts targets from 0.5 on .* lower evaluator.rel_threshold",
        ),
        ({"tables": ["roc_curv"]}, "evaluator.tables: there is no table 'roc_curv': did you mean 'roc_curve'"),
        ({"tables": ["cascade"]}, "evaluator.tables: cascade needs .* set evaluator.max_grade"),
        ({"threshold": float("inf")}, "evaluator.threshold=inf"),
        ({"n_candidates": 0}, "evaluator.n_candidates=0"),
        ({"n_candidates": True}, "evaluator.n_candidates=true"),
        ({"rel_threshold": 0}, "evaluator.rel_threshold=0"),
        ({"rel_threshold": float("nan")}, "evaluator.rel_threshold=nan"),
        ({"max_grade": -1}, "evaluator.max_grade=-1"),
    ],
)
def test_wrong_settings_are_refused_before_any_data_is_read(settings, message):
    with pytest.raises(InputError, match=message):
        Evaluator(**{"retrieval": [], "ranking": [], "end_to_end": [], **settings})


def test_the_settings_are_the_whole_recipe():
    assert repr(Evaluator(["mrr"], [], [])) == repr(Evaluator(("mrr",), (), ()))
    assert Evaluator(["mrr"], [], []) == Evaluator(("mrr",), (), ())


def test_the_default_option_has_the_default_sets():
    path = Path(__file__).parents[2] / "conf" / "evaluator" / "default.yaml"
    options = OmegaConf.to_container(
        OmegaConf.merge({"n_candidates": 100}, {"evaluator": OmegaConf.load(path)}), resolve=True
    )
    settings = {key: value for key, value in options["evaluator"].items() if key != "_target_"}
    evaluator = Evaluator(**settings)
    cut = {"retrieval": ["recall", "hit", "ndcg"], "ranking": ["ndcg", "hit", "precision", "map", "mrr"]}
    cut["end_to_end"] = ["hit", "ndcg", "recall", "precision", "map", "mrr"]
    wanted = {stage: {f"{name}_at_{k}" for name in cut[stage] for k in (5, 10)} for stage in ("ranking", "end_to_end")}
    wanted["retrieval"] = {f"{name}_at_{k}" for name in cut["retrieval"] for k in (10, 20, 50)} | {"mrr_at_50"}
    wanted["end_to_end"] |= {"mrr"}
    assert {stage: set(getattr(evaluator, stage)) for stage in wanted} == wanted
    assert evaluator.left_out == ()


CANDIDATES = st.lists(st.integers(0, 7), unique=True, max_size=8)
GRADES = st.dictionaries(st.integers(0, 9), st.sampled_from([0.5, 1.0, 2.0]), max_size=4)


@given(
    world=st.dictionaries(st.integers(0, 9), st.tuples(CANDIDATES, GRADES), min_size=1, max_size=6),
    scores=st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=48, max_size=48),
)
def test_law_4(lists_of, fold_of, world, scores):
    """The stages fit together, for every user and in the mean, whatever the ranker does."""
    grades = {user: grades for user, (_, grades) in world.items()}
    assume(any(grade >= 1 for row in grades.values() for grade in row.values()))
    fold = fold_of(grades)
    candidates = lists_of({user: items for user, (items, _) in world.items()})
    recommendations = candidates.reorder(np.array(scores[: len(candidates)]))

    report = EVALUATOR.evaluate(candidates, recommendations, fold)
    values, means = report.values, report.means

    assert (values["end_to_end/recall_at_3"] <= values["funnel/candidate_recall"]).all()
    for k in (1, 3):
        found = 1 - means["funnel/lost_in_retrieval"]
        ranking = np.nan_to_num(means[f"ranking/hit_at_{k}"])  # no user in that stage: nothing was found
        assert means[f"end_to_end/hit_at_{k}"] == pytest.approx(found * ranking)
        losses = values["funnel/lost_in_retrieval"] + values[f"funnel/lost_in_ranking_at_{k}"]
        assert (losses + values[f"end_to_end/hit_at_{k}"] == 1).all()
    assert found * len(report.users) == pytest.approx(means["ranking/users"])

    kept = EVALUATOR.evaluate(candidates, candidates, fold)
    for name in ("recall_at_3", "hit_at_3", "ndcg_at_3", "mrr"):
        assert np.array_equal(kept.values[f"retrieval/{name}"], kept.values[f"end_to_end/{name}"])
    assert not kept.values["funnel/lift_ndcg_at_3"].any()


def test_curves_are_of_the_recommendations_against_all_targets(lists_of, fold_of):
    evaluator = Evaluator([], [], [], max_grade=1, threshold=-0.5, tables=["confusion_matrix", "cascade", "roc_curve"])
    lists = lists_of({0: [1, 2], 1: [3, 4], 2: []})
    tables = evaluator.evaluate(lists, lists, fold_of({0: {2: 1}, 1: {3: 1}, 2: {9: 1}})).tables
    assert list(tables) == ["confusion_matrix", "cascade", "roc_curve"]
    assert tables["confusion_matrix"]["rows"].tolist() == [1, 1, 1, 1]  # scores are 0 and -1
    assert tables["cascade"]["stops_here"] == pytest.approx([1 / 2 / 3, 1 / 2 / 3])


def test_users_can_be_grouped_by_their_history_and_their_targets(lists_of, fold_of):
    fold = fold_of({0: {2: 1}, 1: {3: 1, 4: 1}})
    history = Interactions.from_frame(
        pd.DataFrame({"user": [0, 0, 1, 5, 5], "item": [3, 4, 3, 2, 3]}),
        users=fold.target.users,
        items=fold.target.items,
    )
    lists = lists_of({0: [1, 2], 1: [3]})
    slices = Evaluator([], [], []).evaluate(lists, lists, replace(fold, history=history)).slices
    assert slices["history_length"].tolist() == [2, 1]
    assert slices["item_popularity"].tolist() == [1, 2]  # item 2 has one event, items 3 and 4 have three and one


def test_the_recall_of_an_approximate_search_is_a_figure_of_retrieval(lists_of, fold_of):
    lists, fold = lists_of({0: [1, 5]}), fold_of({0: {5: 1}})
    counts = {f"faiss_{NEAREST}": 80, f"faiss_{FOUND}": 60, NEAREST: 0, FOUND: 0}
    report = EVALUATOR.evaluate(replace(lists, notes=counts), lists, fold)
    assert report.means["retrieval/faiss_ann_recall"] == 0.75
    assert "retrieval/ann_recall" not in report.means
