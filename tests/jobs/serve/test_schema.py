"""What is wrong with a request is said in one sentence that names the place."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from recx.jobs.serve import schema
from recx.jobs.serve.refusal import Refused


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        (schema.Recommend, [1], "the body must be an object, and it is a list of 1"),
        (schema.Recommend, {"users": "u"}, 'users must be a list, and it is "u"'),
        (schema.Recommend, {"users": []}, "users must be a list that is not empty, and it is a list of 0"),
        (schema.Recommend, {"users": ["a", True]}, "users[1] must be an id, a whole number or a text, and it is true"),
        (schema.Recommend, {"users": [1.0]}, "users[0] must be an id, a whole number or a text, and it is 1.0"),
        (schema.Recommend, {"users": [None]}, "users[0] must be an id, a whole number or a text, and it is null"),
        (
            schema.Recommend,
            {"users": [[1] * 9]},
            "users[0] must be an id, a whole number or a text, and it is a list of 9",
        ),
        (schema.Recommend, {"users": ["a\0"]}, 'users[0] must be a text without the sign NUL, and it is "a\\u0000"'),
        (schema.Recommend, {"users": [2**63]}, f"users[0] must be less than {2**63}, and it is {2**63}"),
        (schema.Recommend, {"users": ["a"], "k": 0}, "k must be 1 or more, and it is 0"),
        (schema.Recommend, {"users": ["a"], "k": "3"}, 'k must be a whole number, and it is "3"'),
        (schema.Recommend, {"users": ["a"], "k": 3.0}, "k must be a whole number, and it is 3.0"),
        (schema.Recommend, {"users": ["a"], "kk": 3}, "there is no key 'kk' here: see /docs"),
        (schema.Recommend, {"history": [{"itme": 3}]}, "there is no key 'history[0].itme' here: see /docs"),
        (schema.Recommend, {"history": [{"user": 3}]}, "history[0].item is missing: see /docs"),
        (
            schema.Recommend,
            {"history": [{"item": 1, "weight": "x"}]},
            'history[0].weight must be a number, and it is "x"',
        ),
        (
            schema.Recommend,
            {"users": ["x" * 200, {}]},
            "users[1] must be an id, a whole number or a text, and it is an object",
        ),
        (schema.Rank, {"query": "", "candidates": [1]}, 'query must be a text that is not empty, and it is ""'),
        (schema.RecommendQuery, {"users": ["1"], "k": "x"}, 'k must be a whole number, and it is "x"'),
    ],
)
def test_sentences(kind: type[BaseModel], value: Any, sentence: str) -> None:
    with pytest.raises(ValidationError) as raised:
        kind.model_validate(value)
    errors = [{**error, "loc": ("body", *error["loc"])} for error in raised.value.errors()]  # as FastAPI does
    assert schema.sentence(errors) == sentence


def test_ids_of_one_type() -> None:
    schema.check_alike([1, 2], "users")
    schema.check_alike(["1", "2"], "users")
    with pytest.raises(Refused, match="users: some ids are numbers and others texts"):
        schema.check_alike([1, "2"], "users")
