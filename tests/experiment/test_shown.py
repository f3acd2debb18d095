"""What a result says of itself at a prompt and after a cell."""

from __future__ import annotations

import numpy as np

from recx.core.ragged import indptr_of
from recx.core.types import RankedLists
from recx.experiment.shown import Overview

MEANS = {
    "retrieval/recall_at_10": 0.5,
    "retrieval/recall_at_50": 0.625,
    "retrieval/hit_at_100": 0.75,
    "ranking/ndcg_at_5": 0.8,
    "end_to_end/hit_at_5": 0.5,
    "end_to_end/ndcg_at_5": 0.25,
    "end_to_end/ndcg_at_10": 0.3,
    "end_to_end/mrr": 0.2,
    "funnel/lost_in_retrieval": 0.375,
    "funnel/lost_in_ranking_at_5": 0.125,
    "funnel/lost_in_ranking_at_10": 0.1,
}
SECONDS = {"load": 0.5, "retrieve": 3.0, "rank": 1.0, "evaluate": 2.0, "total": 7.25}


def lists() -> RankedLists:
    return RankedLists(
        np.array([0, 1], np.int32), indptr_of(np.array([2, 1])), np.array([0, 1, 1], np.int32), np.ones(3, np.float32)
    )


def test_figures_are_five_lines() -> None:
    overview = Overview("fold test, 8 users, Union + Linear", MEANS, {}, SECONDS)
    assert overview.text().splitlines() == [
        "Result: fold test, 8 users, Union + Linear",
        "  end to end      ndcg_at_5 0.2500, hit_at_5 0.5000",
        "  retrieval       recall_at_50 0.6250",
        "  funnel          lost_in_retrieval 0.3750, lost_in_ranking_at_5 0.1250",
        "  seconds         7.25 in total, of which retrieve 3.00, evaluate 2.00, rank 1.00",
    ]


def test_other_figures_stand_in_for_those_that_an_evaluator_lacks() -> None:
    overview = Overview("", {"end_to_end/logloss": 0.5, "retrieval/recall_at_5": float("nan")}, {}, {})
    assert overview.text().splitlines()[1:] == [
        "  end to end      logloss 0.5000",
        "  retrieval       recall_at_5 –",
        "  seconds         0.00 in total",
    ]


def test_a_prediction_shows_its_lists() -> None:
    overview = Overview("fold predict", None, {"candidates": lists(), "recommendations": lists()}, {"total": 1.0})
    assert overview.text().splitlines()[1:3] == [
        "  candidates      3 items in 2 lists",
        "  recommendations 3 items in 2 lists",
    ]
    assert "3 items in 2 lists" in overview.html()


def test_html_has_every_figure_and_escapes_what_ran() -> None:
    shown = Overview("<b>x</b>", MEANS, {}, SECONDS).html()
    assert "&lt;b&gt;x&lt;/b&gt;" in shown
    assert all(f">{value:.4f}<" in shown for value in MEANS.values())
    assert "7.25 in total" in shown
