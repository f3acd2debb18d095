"""Requests in the process: what is answered, what is refused, and that a refusal is one sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recx.experiment.model.model import Model
from recx.jobs.serve.answers import Answers
from recx.jobs.serve.app import application
from recx.jobs.serve.counters import Counters
from recx.jobs.serve.limits import Limits

LATE = 1_600_030_000_000  # ms, after all events


def test_recommendations_are_those_of_the_model(ask: Any, app: Any, model: Model) -> None:
    answer = ask(app, "/recommend", {"users": ["u05", "u07"], "k": 3})
    assert answer.status == 200
    frame = model.recommend(["u05", "u07"], k=3)
    shown = [
        (one["user"], item["item"], item["score"]) for one in answer.json["recommendations"] for item in one["items"]
    ]
    assert shown == list(zip(frame["user"], frame["item"], frame["score"], strict=True))
    assert answer.json["unknown_items"] == 0


def test_an_address_says_the_same_as_a_body(ask: Any, app: Any) -> None:
    body = ask(app, "/recommend", {"users": ["u05", "u07"], "k": 3, "items": [100, 101, 104]})
    assert ask(app, "/recommend?users=u05&users=u07&k=3&items=100&items=101&items=104").json == body.json


def test_users_with_empty_lists_and_unknown_ones_are_there(ask: Any, app: Any) -> None:
    lists = ask(app, "/recommend", {"users": ["nobody", "u01", "u29"], "k": 2}).json["recommendations"]
    assert [one["user"] for one in lists] == ["nobody", "u01", "u29"]
    assert [one["known"] for one in lists] == [False, True, False]  # u29 has no event
    assert [len(one["items"]) for one in lists] == [2, 0, 2]  # u01 has seen all


def test_a_history_without_users_is_of_one_new_user(ask: Any, app: Any) -> None:
    events = [{"item": 100, "time": LATE}, {"item": 999, "time": LATE + 1}]
    answer = ask(app, "/recommend", {"history": events, "k": 8}).json
    [one] = answer["recommendations"]
    assert one["user"] is None
    assert one["known"] is True
    assert 100 not in {item["item"] for item in one["items"]}  # seen
    assert answer["unknown_items"] == 1


def test_a_history_of_users_replaces_theirs(ask: Any, app: Any) -> None:
    events = [{"user": "u01", "item": 100, "time": LATE}]
    first, other = ask(app, "/recommend", {"history": events, "users": ["u01", "u05"], "k": 8}).json["recommendations"]
    assert first["items"]  # u01 has not seen all then
    assert 100 not in {item["item"] for item in first["items"]}
    assert other == ask(app, "/recommend", {"users": ["u05"], "k": 8}).json["recommendations"][0]


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({}, 422, "give users, or a history"),
        ({"users": None}, 422, "give users, or a history"),
        ([], 422, "the body must be an object"),
        ({"users": [5]}, 422, "the ids of users are numbers"),
        ({"users": ["u05", 5]}, 422, "users: some ids are numbers and others texts"),
        ({"users": ["u05", "u05"]}, 422, "users: one of them is named twice"),
        ({"users": ["a", "b", "c", "d", "e", "f"]}, 422, "users: 6 at once, and at most 5 are answered"),
        ({"users": ["u05"], "k": 13}, 422, "k: lists have at most 12 items, and this asks for 13"),
        ({"users": ["a", "b", "c", "d", "e"], "k": 5}, 422, "5 users with lists of 5 are more than 20 items"),
        ({"users": ["u05"], "items": ["x"]}, 422, "the ids of items are texts"),
        ({"users": ["u05"], "items": ["x", 1]}, 422, "items: some ids are numbers and others texts"),
        ({"users": ["u05"], "at": -1}, 422, "time"),
        ({"history": [{"item": 100}]}, 422, "the model's history has times, and the given one has none"),
        ({"history": [{"item": 100}, {"item": 100, "time": LATE}]}, 422, "history: 1 of 2 events have no time"),
        ({"history": [{"item": 100, "user": "a", "time": 1}, {"item": 100, "time": 1}]}, 422, "events have no user"),
        ({"history": [{"item": "x", "time": LATE}]}, 422, "the ids of items are texts"),
        (
            {"history": [{"item": 1, "time": LATE, "weight": 0}]},
            422,
            "weight must be more than 0, and it is 0",
        ),
        ({"history": [{"item": 1, "time": LATE}], "users": ["u05"]}, 422, "history: no event names a user"),
        (b"{", 400, "the body is not JSON"),
        (b"", 422, "the body is empty"),
        (b'{"users": ["u05"], "k": NaN}', 400, "the body holds NaN"),
        (b'{"users": ["\\ud800"]}', 400, "half a sign"),
        (b"[" * 10_000 + b"]" * 10_000, 400, "nested too deeply"),
        (b'{"users": [' + b"1," * 499_000 + b"1]}", 422, "users must be a list of at most 100000, and it is a list of"),
        (json.dumps({"users": list(range(1_000_000))}).encode(), 413, "the body is larger than 1,000,000 bytes"),
    ],
)
def test_what_cannot_be_answered(ask: Any, app: Any, body: Any, status: int, sentence: str) -> None:
    answer = ask(app, "/recommend", body)
    assert sentence in answer.error
    assert answer.status == status
    assert ask(app, "/recommend", {"users": ["u05"]}).status == 200


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ("", 422, "users is missing"),
        ("?users=u05&k=ten", 422, 'k must be a whole number, and it is "ten"'),
        ("?users=u05&items=x", 422, "items: the ids of this model are whole numbers, and this is 'x'"),
        ("?users=u05&items=1_0", 422, "items: the ids of this model are whole numbers"),
        ("?users=u05&k=1&k=2", 400, "'k' more than once"),
        ("?users=%ff", 400, "not UTF-8"),
        ("?users=%00", 422, "without the sign NUL"),
        ("?users=u05&user=u06", 422, "there is no key 'user' here"),
    ],
)
def test_addresses_that_cannot_be_answered(ask: Any, app: Any, query: str, status: int, sentence: str) -> None:
    answer = ask(app, f"/recommend{query}")
    assert sentence in answer.error
    assert answer.status == status


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "BREW"])
def test_other_methods(ask: Any, app: Any, method: str) -> None:
    answer = ask(app, "/recommend", method=method)
    assert answer.status == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "POST"}
    assert answer.error == f"'/recommend' does not take {method}: see /docs"
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "path", ["/", "/foo", "/health/", "/recommend/x", "/..%2f", "*", "/docs/oauth2-redirect", "/redoc"]
)
def test_unknown_addresses(ask: Any, app: Any, path: str) -> None:
    answer = ask(app, path)
    assert answer.status == 404
    assert answer.error == f"there is no {path!r} here: see /docs"


def test_metadata(ask: Any, app: Any) -> None:
    about = ask(app, "/metadata").json
    assert about["run"] == "tiny"
    assert about["data_hash"] == "0123"
    assert about["users"] == 30
    assert about["items"] == 20
    assert about["times"] is True
    assert about["can"]["recommend"] is True
    assert len(about["card_hash"]) == 32


def test_counts_of_what_was_answered(ask: Any, model: Model) -> None:
    app = application(Answers(model, "tiny", Limits()), Counters.alone())
    for body in ({"users": ["u05"]}, {"users": ["u06"]}, {}):
        ask(app, "/recommend", body)
    ask(app, "/health")
    ask(app, "/foo")
    answer = ask(app, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.body.decode().splitlines()
    assert 'recx_requests_total{endpoint="recommend",code="200"} 2' in lines
    assert 'recx_requests_total{endpoint="recommend",code="422"} 1' in lines
    assert 'recx_requests_total{endpoint="health",code="200"} 1' in lines
    assert 'recx_requests_total{endpoint="other",code="404"} 1' in lines
    assert 'recx_request_seconds_count{endpoint="recommend"} 3' in lines


def test_an_unexpected_error_is_a_sentence_here_and_there(
    ask: Any, app: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(Model, "asked", fail)
    answer = ask(app, "/recommend", {"users": ["u05"]})
    assert answer.status == 500
    assert answer.error == "an unexpected error: the server's output says more"
    printed = capsys.readouterr().err
    assert printed.startswith("unexpected error, ZeroDivisionError in test_app.py")
    assert printed.count("\n") == 1


def test_a_text_of_any_signs_is_answered(ask: Any, app: Any) -> None:
    for user in ("ü😀", "‮", "\n\t", "'; drop table", "\x1b[31m", "", "\ufeff", "a" * 10_000):
        [one] = ask(app, "/recommend", {"users": [user], "k": 1}).json["recommendations"]
        assert one["user"] == user
        assert one["known"] is False
