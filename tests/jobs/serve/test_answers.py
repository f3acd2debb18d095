"""Similar items and candidates ranked for a text, where the model can, and ids as an address spells them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from recx.core.types import Interactions
from recx.experiment.model import folder
from recx.experiment.model.chain import Chain
from recx.experiment.model.keep import known_of
from recx.experiment.model.model import Model
from recx.jobs.serve.answers import Answers
from recx.jobs.serve.app import application
from recx.jobs.serve.counters import Counters
from recx.jobs.serve.limits import Limits
from recx.parts.ranker.bm25 import Bm25
from recx.parts.ranker.identity import Identity
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.split.leave_last import LeaveLast
from recx.testing.tiny_dataset import tiny_world


def served(world: Interactions, ranker: Any, place: Path) -> Any:
    """Return the application of a model of this world, and the model."""
    known = known_of(world, LeaveLast())
    chain = Chain(ItemKNN().fit(known.history), ranker, 10, world.items, known)
    folder.write(chain, place / "model", {}, {"data_hash": "0123"})
    model = Model.of(place / "model")
    answers = Answers(model, "tiny", Limits(candidates=5))
    answers.warm_up()
    return application(answers, Counters.alone()), model


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the application of a model whose users and items have texts and numbers as ids."""
    world = tiny_world()
    words = np.array(["red apple", "green pear", "blue plum", "red cherry"])
    users = replace(
        world.users, ids=np.arange(world.n_users) + 500, table={"text": words[np.arange(world.n_users) % 4]}
    )
    items = replace(world.items, table={**world.items.table, "text": words[np.arange(world.n_items) % 4]})
    return served(replace(world, users=users, items=items), Bm25(), tmp_path_factory.mktemp("texts"))


@pytest.mark.parametrize(("of", "kind"), [("i4", "i4"), ("U4", "U4"), ("U4", "O")], ids=["numbers", "texts", "objects"])
def test_a_model_serves_ids_of_every_kind(ask: Any, tmp_path: Path, of: str, kind: str) -> None:
    world = tiny_world()
    named = [replace(one, ids=np.arange(len(one)).astype(of).astype(kind)) for one in (world.users, world.items)]
    app, model = served(replace(world, users=named[0], items=named[1]), Identity(), tmp_path)
    [user] = model.known.history.users.ids[:1].tolist()
    [item] = model.known.history.items.ids[:1].tolist()
    expected = model.recommend([user], k=3)["item"].tolist()
    [listed] = ask(app, "/recommend", {"users": [user], "k": 3}).json["recommendations"]
    assert (listed["user"], [one["item"] for one in listed["items"]]) == (user, expected)
    assert expected
    new = ask(app, "/recommend", {"history": [{"item": item, "time": 1}], "k": 3})
    assert new.status == 200, new.error


def test_similar_items_are_those_of_the_model(ask: Any, texts: Any) -> None:
    app, model = texts
    body = ask(app, "/similar", {"item": 100, "k": 3})
    assert body.status == 200
    frame = model.similar(100, 3)
    assert [one["item"] for one in body.json["items"]] == frame["item"].tolist()
    assert [one["score"] for one in body.json["items"]] == frame["score"].tolist()
    assert len(frame) == 3
    assert ask(app, "/similar?item=100&k=3").json == body.json
    assert ask(app, "/metadata").json["can"] == {"recommend": True, "rank": True, "similar": True}


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("/similar", {"item": 999}, 422, "item 999: the model does not know it"),
        ("/similar", {"item": "100"}, 422, "the ids of items are texts"),
        ("/similar", {"item": 100, "k": 2000}, 422, "k: lists have at most 1,000 items"),
        ("/similar", {}, 422, "item is missing"),
        ("/similar?item=x", None, 422, "item: the ids of this model are whole numbers, and this is 'x'"),
        ("/similar?item=1&item=2", None, 400, "'item' more than once"),
        ("/rank", {"query": "red", "candidates": []}, 422, "candidates must be a list that is not empty"),
        ("/rank", {"query": "", "candidates": [100]}, 422, "query must be a text that is not empty"),
        ("/rank", {"query": " ", "candidates": [100]}, 422, "the query must be a text"),
        ("/rank", {"query": "red", "candidates": [100] * 6}, 422, "candidates: 6, and at most 5 are ranked"),
        ("/rank", {"query": "red", "candidates": [100, 100]}, 422, "named twice"),
        ("/rank", {"query": "red", "candidates": [999]}, 422, "is no id of an item"),
        ("/rank", {"query": "red", "candidates": [[100]]}, 422, "candidates[0] must be"),
        ("/rank", {"query": "red", "candidates": [{"words": "x"}]}, 422, "neither 'text' nor 'name'"),
        ("/rank", {"query": 5, "candidates": [100]}, 422, "query must be a text, and it is 5"),
    ],
)
def test_what_cannot_be_answered(ask: Any, texts: Any, path: str, body: Any, status: int, sentence: str) -> None:
    answer = ask(texts[0], path, body)
    assert sentence in answer.error
    assert answer.status == status


def test_candidates_are_ranked_for_a_text(ask: Any, texts: Any) -> None:
    tool = {"type": "function", "function": {"name": "paint", "description": "red red red", "parameters": {}}}
    answer = ask(texts[0], "/rank", {"query": "red", "candidates": [101, {"text": "a red one"}, tool]})
    assert answer.status == 200
    assert {(one["item"], one["known"]) for one in answer.json["items"]} == {
        (101, True),
        ("a red one", False),
        ("paint", False),
    }
    assert answer.json["items"][-1]["item"] == 101  # green pear
    scores = [one["score"] for one in answer.json["items"]]
    assert scores == sorted(scores, reverse=True)


def test_ids_in_an_address_become_numbers(ask: Any, texts: Any) -> None:
    body = ask(texts[0], "/recommend", {"users": [505], "k": 3}).json
    assert body["recommendations"][0]["items"]
    assert ask(texts[0], "/recommend?users=505&k=3").json == body
    for wrong in ("5_05", "505.0", " 505", "٥٠٥", "9" * 20):
        assert "whole numbers" in ask(texts[0], f"/recommend?users={quote(wrong)}").error


def test_a_new_user_has_a_number_of_their_own(ask: Any, texts: Any) -> None:
    event = {"item": 100, "time": 1_600_030_000_000}
    [one] = ask(texts[0], "/recommend", {"history": [event], "k": 3}).json["recommendations"]
    assert (one["user"], one["known"]) == (None, True)


def test_an_unknown_user_keeps_the_id_that_new_users_get(ask: Any, texts: Any) -> None:
    newest = int(texts[1].known.history.users.ids.max())
    asked = [newest, newest + 1, newest + 2]
    lists = ask(texts[0], "/recommend", {"users": asked, "k": 1}).json["recommendations"]
    assert [one["user"] for one in lists] == asked


def test_a_model_that_cannot_rank_says_so(ask: Any, app: Any) -> None:
    ranked = ask(app, "/rank", {"query": "red", "candidates": [100]})
    assert "have no texts" in ranked.error
    assert ranked.status == 501
    similar = ask(app, "/similar", {"item": 100})
    assert "knows no similar items" in similar.error
    assert similar.status == 501
    assert ask(app, "/metadata").json["can"] == {"recommend": True, "rank": False, "similar": False}


def test_a_model_without_ranker_of_texts(ask: Any, tmp_path: Path) -> None:
    app, _ = served(tiny_world(), Identity(), tmp_path)
    assert ask(app, "/similar", {"item": 100, "k": 2}).status == 200
    assert ask(app, "/rank", {"query": "red", "candidates": [100]}).status == 501
