"""The columns of MLflow's table of runs."""

from __future__ import annotations

import json

import pytest

from recx.tracking.view import updated

PARAMS = {"dataset": "news", "retriever": "union", "ranker": "linear", "split": "leave_last", "fold": "test"}
USUAL = ("dataset", "retriever", "ranker", "split", "fold")
FIRST = ["attributes.`Dataset`", "params.`split`", "params.`retriever`", "params.`ranker`"]
FIGURES = ["metrics.`end_to_end/mrr`", "metrics.`retrieval/recall_at_50`"]


def columns(state: str) -> list[str]:
    found = json.loads(state)["selectedColumns"]
    assert isinstance(found, list)
    return found


def test_the_table_begins_with_data_options_and_figures() -> None:
    assert columns(updated("", PARAMS, USUAL, "end_to_end/mrr", "test")) == [*FIRST, *FIGURES]


def test_what_a_later_run_sets_gets_a_column() -> None:
    state = updated("", PARAMS, USUAL, "end_to_end/mrr", "test")
    state = updated(state, {**PARAMS, "ranker.l2": "0.1"}, USUAL, "end_to_end/mrr", "valid")
    assert columns(state) == [*FIRST, "params.`ranker.l2`", *FIGURES, "metrics.`valid/end_to_end/mrr`"]
    assert updated(state, PARAMS, USUAL, "end_to_end/mrr", "test") == state


def test_no_more_params_than_can_be_read() -> None:
    many = {**PARAMS, **{f"x{n}": "1" for n in range(50)}}
    assert len([one for one in columns(updated("", many, USUAL, "", "test")) if one.startswith("params.")]) == 12


@pytest.mark.parametrize("state", ["", "deflate;eJw", "[]", '{"selectedColumns": 1}', "{}"])
def test_a_state_that_somebody_has_changed_is_replaced(state: str) -> None:
    assert columns(updated(state, PARAMS, USUAL, "end_to_end/mrr", "test")) == [*FIRST, *FIGURES]
