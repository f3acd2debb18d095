"""Spellings of metrics from papers and other tools, and ours for each."""

from __future__ import annotations

import math

import pytest

from recx.core.metric_names import by_stage, hint, lower_is_better, spelled, split_name
from recx.evaluation.definitions import METRICS


@pytest.mark.parametrize(
    ("elsewhere", "ours"),
    [
        ("HR@10", "hit_at_10"),
        ("Hit Rate @ 10", "hit_at_10"),
        ("Hit-Rate@1", "hit_at_1"),
        ("Hits@3", "hit_at_3"),
        ("success_5", "hit_at_5"),
        ("NDCG@10", "ndcg_at_10"),
        ("nDCG@5", "ndcg_at_5"),
        ("NDCG10", "ndcg_at_10"),
        ("NDCG_at_10", "ndcg_at_10"),
        ("ndcg_cut_10", "ndcg_at_10"),
        ("MRR", "mrr"),
        ("MRR@10", "mrr_at_10"),
        ("recip_rank", "mrr"),
        ("MAP@5", "map_at_5"),
        ("map_cut.5", "map_trec_at_5"),
        ("Recall@20", "recall_at_20"),
        ("R@100", "recall_at_100"),
        ("recall_100", "recall_at_100"),
        ("R_cap@100", "recall_capped_at_100"),
        ("P@5", "precision_at_5"),
        ("P_5", "precision_at_5"),
        ("F1@10", "f_at_10"),
        ("F1", "f"),
        ("F2@10", "f2_at_10"),
        ("AUC", "auc"),
        ("Coverage@10", "coverage_at_10"),
        ("end_to_end/NDCG@10", "end_to_end/ndcg_at_10"),
    ],
)
def test_spellings(elsewhere: str, ours: str) -> None:
    assert spelled(elsewhere) == ours
    assert ours.rpartition("/")[2].partition("_at_")[0] in METRICS


def test_our_names_stay() -> None:
    names = [*METRICS, *(f"{name}_at_7" for name in METRICS if name != "class_f1")]
    assert [spelled(name) for name in names] == names


def test_a_hint_names_what_is_there() -> None:
    known = ["retrieval/ndcg_at_5", "end_to_end/ndcg_at_5", "end_to_end/hit_at_5", "coverage"]
    assert hint("NDCG@5", known) == "it is called end_to_end/ndcg_at_5 here"
    assert hint("retrieval/nDCG@5", known) == "it is called retrieval/ndcg_at_5 here"
    assert hint("HR@10", known).startswith("choose one of: coverage")  # not at this cut
    assert hint("end_to_end/hit_at_6", known) == "did you mean 'end_to_end/hit_at_5'?"


def test_a_figure_has_a_stage_a_metric_and_perhaps_a_cut() -> None:
    assert split_name("end_to_end/ndcg_at_5") == ("end_to_end", "ndcg", 5)
    assert split_name("valid/end_to_end/mrr") == ("valid/end_to_end", "mrr", None)
    assert split_name("ndcg_at_5") == ("", "ndcg", 5)


def test_figures_are_laid_out_by_stage_metric_and_cut() -> None:
    means = {"end_to_end/hit_at_5": 0.5, "end_to_end/hit_at_10": 0.75, "end_to_end/mrr": 0.25, "auc": 1.0}
    rows = {"hit": {5: 0.5, 10: 0.75}, "mrr": {math.inf: 0.25}}
    assert by_stage(means) == {"end_to_end": rows, "": {"auc": {math.inf: 1.0}}}


def test_of_losses_times_and_counts_lower_is_better() -> None:
    lower = ("ranking/logloss", "funnel/lost_in_ranking_at_5", "funnel/lost_in_retrieval", "time/rank", "data/users")
    assert all(map(lower_is_better, lower))
    assert not any(map(lower_is_better, ("end_to_end/ndcg_at_10", "funnel/lift_ndcg_at_5", "ranking/auc", "mrr")))
