"""Candidates ranked for a text: as the chain ranks them for a user with that text, and new ones by their own text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from recx.core.errors import InputError
from recx.experiment.model.model import Model

from .conftest import TOOLS, Made

SCHEMAS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather forecast of a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    },
    {"name": "send_mail", "description": "Send a letter to somebody", "input_schema": {"type": "object"}},
    {"text": "Translate words into another language"},
]


def a_task(model: Model) -> tuple[Any, str]:
    """Return a task of the run and its text."""
    users = model.known.history.users
    return users.ids[3], str(users.table["text"][3])


def test_known_candidates_come_in_the_order_of_a_user_with_this_text(tools: Model) -> None:
    user, text = a_task(tools)
    history = tools.known.history
    ranked = tools.rank(text, history.items.ids.tolist())
    # the user has clicked the right tool, which is therefore not shown, and ranked like all others
    shown = tools.recommend([user], k=len(history.items))
    both = ranked[ranked["item"].isin(shown["item"])]
    assert both["item"].tolist()[:5] == shown["item"].tolist()[:5]
    assert both["score"].tolist()[:5] == pytest.approx(shown["score"].tolist()[:5], abs=1e-5)
    assert ranked["rank"].tolist() == list(range(1, len(history.items) + 1))


def test_new_tools_are_ranked_by_their_schemas(tools: Model) -> None:
    asked = "which " + str(tools.known.history.items.table["text"][0])
    known = {"name": "a_copy", "description": str(tools.known.history.items.table["text"][0])}
    found = tools.rank(asked, [*SCHEMAS, known])
    assert found["item"][0] == "a_copy"
    assert set(found["item"]) == {"get_weather", "send_mail", "Translate words into another language", "a_copy"}
    assert not found["known"].any()


def test_a_schema_with_the_name_of_a_known_tool_is_that_tool(tools: Model) -> None:
    ids = tools.known.history.items.ids[:3].tolist()
    by_name = tools.rank(a_task(tools)[1], [{"name": one, "description": "another text"} for one in ids])
    pd.testing.assert_frame_equal(by_name, tools.rank(a_task(tools)[1], ids))
    assert by_name["known"].all()


def test_the_order_of_the_candidates_decides_ties_only(tools: Model) -> None:
    ids = tools.known.history.items.ids.tolist()
    scores = tools.rank(a_task(tools)[1], ids).set_index("item")["score"]
    again = tools.rank(a_task(tools)[1], ids[::-1]).set_index("item")["score"]
    assert again[scores.index].to_numpy() == pytest.approx(scores.to_numpy(), abs=1e-6)


@pytest.mark.parametrize(
    ("query", "candidates", "says"),
    [
        ("a task", ["nope"], "'nope' is no id of an item of this model"),
        ("a task", [17], "17 is no id"),
        ("a task", [None], "None is no id"),
        ("a task", "abc", "must be a list"),
        ("a task", [{}], "neither 'text' nor 'name'"),
        ("a task", [{"function": 3}], "'function' must be a mapping"),
        ("a task", [{"text": ""}], "must be texts, and the text not be empty"),
        ("a task", [{"text": float("nan")}], "must be texts"),
        ("a task", [{"name": "a", "parameters": {1, 2}}], "must be a JSON Schema"),
        ("a task", [{"name": "a", "inputs": {1, 2}}], "are no JSON"),
        ("", ["a"], "the query must be a text"),
        (np.nan, ["a"], "the query must be a text"),
    ],
)
def test_what_cannot_be_ranked_is_refused(tools: Model, query: Any, candidates: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        tools.rank(query, candidates)


def test_a_candidate_named_twice_is_refused(tools: Model) -> None:
    one = tools.known.history.items.ids.tolist()[0]
    with pytest.raises(InputError, match="is named twice"):
        tools.rank("a task", [one, {"name": one}])


def test_without_candidates_there_is_nothing(tools: Model) -> None:
    assert tools.rank("a task", []).columns.tolist() == ["item", "rank", "score", "known"]


def test_a_model_of_clicks_cannot_rank_for_a_text(news: Model) -> None:
    with pytest.raises(InputError, match="have no texts"):
        news.rank("a task", [1])


def test_new_texts_need_a_ranker_that_reads_them(made: Made) -> None:
    model = made(*TOOLS, "model=full", "ranker=identity")[1]
    with pytest.raises(InputError, match="orders by what the retriever says"):
        model.rank("a task", SCHEMAS)
    known = model.known.history.items.ids.tolist()[:5]
    assert len(model.rank(a_task(model)[1], known)) == 5
