"""Names of figures outside of a run say when they are of the fold that settings are chosen by."""

from __future__ import annotations

import pytest

from recx.core.fold_names import inside, outside, outside_name

FIGURES = {"end_to_end/ndcg_at_5": 0.25, "num_queries": 9.0, "weight/age": 1.0, "time/load": 0.1, "data/users": 9.0}


def test_figures_of_valid_are_named_after_it_but_for_seconds_and_counts() -> None:
    assert outside(FIGURES, "valid") == {
        "valid/end_to_end/ndcg_at_5": 0.25,
        "valid/num_queries": 9.0,
        "valid/weight/age": 1.0,
        "time/load": 0.1,
        "data/users": 9.0,
    }


@pytest.mark.parametrize("fold", ["test", "predict"])
def test_figures_of_other_folds_keep_their_names(fold: str) -> None:
    assert outside(FIGURES, fold) == FIGURES


@pytest.mark.parametrize("fold", ["test", "valid", "predict"])
def test_what_went_out_comes_back(fold: str) -> None:
    assert inside(outside(FIGURES, fold)) == FIGURES


def test_no_name_gets_it_twice() -> None:
    assert outside_name("valid/end_to_end/mrr", "valid") == "valid/end_to_end/mrr"
