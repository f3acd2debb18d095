"""What requests and answers hold; FastAPI checks the requests by it and describes both in ``/openapi.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from recx.jobs.serve.refusal import Refused

K = 10
MOST = 100_000
"""Most elements of any list in a request; a body of the default size cannot hold many more."""
Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Text = Annotated[str, Field(max_length=100_000, pattern=r"^[^\x00]*$")]
"""NumPy and pandas take a text with the sign NUL for another one."""
Id = Number | Text
Ids = Annotated[list[Id], Field(min_length=1, max_length=MOST)]
Count = Annotated[int, Field(ge=1, le=MOST)]
_IN_UNIONS = ("int", "str", "constrained-int", "constrained-str", "dict[str,any]")
_OF_TYPE = ("int_type", "string_type")
WANTED = {
    "dict_type": "an object",
    "string_too_short": "a text that is not empty",
    "float_type": "a number",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "{ge} or more",
    "id": "an id, a whole number or a text",
    "int_parsing": "a whole number",
    "int_parsing_size": "a 64-bit number",
    "int_type": "a whole number",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "list_type": "a list",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "string_pattern_mismatch": "a text without the sign NUL",
    "string_too_long": "a text of at most {max_length} signs",
    "string_type": "a text",
    "too_long": "a list of at most {max_length}",
    "too_short": "a list that is not empty",
}
"""What must stand in a place, by pydantic's types of errors."""


class Strict(BaseModel):
    """A body: nothing in it is converted, and no key is ignored."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Lenient(BaseModel):
    """A query of an address, in which everything is text."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Event(Strict):
    """An event of a user's history."""

    item: Id = Field(description="the id of the item")
    user: Id | None = Field(
        default=None, description="the id of the user; none in any event: they are one user's, who is new"
    )
    time: Number | None = Field(default=None, description="unix milliseconds, if the run's data has times")
    weight: float | None = Field(default=None, gt=0, description="the strength of the event (1), above 0")


class Recommend(Strict):
    """Who is to be recommended what."""

    users: Ids | None = Field(default=None, description="ids of users")
    history: Annotated[list[Event], Field(min_length=1, max_length=MOST)] | None = Field(
        default=None, description="all events of users, known or new, in place of those that the model knows of them"
    )
    k: Count = Field(default=K, description="length of the lists")
    at: Number | Text | None = Field(
        default=None, description="the time of the request in unix milliseconds, or a date (after the last event)"
    )
    items: Ids | None = Field(default=None, description="the items that may be shown (all)")


class RecommendQuery(Lenient):
    """The same in the query of an address."""

    users: Annotated[list[Text], Field(min_length=1, max_length=MOST)] = Field(
        description="ids of users: users=17&users=18"
    )
    k: Count = Field(default=K, description="length of the lists")
    at: Number | Text | None = Field(
        default=None, description="the time of the request in unix milliseconds, or a date (after the last event)"
    )
    items: Annotated[list[Text], Field(min_length=1, max_length=MOST)] | None = Field(
        default=None, description="the items that may be shown (all)"
    )


class Rank(Strict):
    """What is to be ranked for which text."""

    query: Annotated[Text, Field(min_length=1)] = Field(description="the text of a task or a query")
    candidates: Annotated[list[Id | dict[str, Any]], Field(min_length=1, max_length=MOST)] = Field(
        description='ids of items, or new ones: {"text": …}, or tools as language models get them (name, description, '
        "parameters, within function or not)"
    )


class Similar(Strict):
    """Which item others are to be similar to."""

    item: Id = Field(description="the id of the item")
    k: Count = Field(default=K, description="length of the list")


class SimilarQuery(Lenient):
    """The same in the query of an address."""

    item: Text = Field(description="the id of the item")
    k: Count = Field(default=K, description="length of the list")


class Shown(BaseModel):
    """An item in a list."""

    item: Id
    score: float


class Recommended(BaseModel):
    """The list of a user, best first."""

    user: Id | None
    known: bool = Field(description="whether the model knows an event of the user")
    items: list[Shown]


class Recommendations(BaseModel):
    """The lists of all users, in the order of the request."""

    recommendations: list[Recommended]
    unknown_items: int = Field(
        description="given events and allowed items that the model does not know, and that were left out"
    )


class Items(BaseModel):
    """Items, best first."""

    items: list[Shown]


class RankedItem(Shown):
    """A candidate in its place; item is its id, its name, or its text."""

    known: bool = Field(description="whether it is an item of the run")


class Ranked(BaseModel):
    """Candidates, best first."""

    items: list[RankedItem]


class Health(BaseModel):
    """Whether the server answers."""

    status: str


class Failure(BaseModel):
    """Why a request was refused."""

    error: str = Field(description="one sentence")


def sentence(errors: Sequence[Mapping[str, Any]]) -> str:
    """Return what is wrong with a request in one sentence: the first of pydantic's errors, which name their places."""
    error = _telling(errors)
    path = error["loc"][1:] if error["loc"][:1] in (("body",), ("query",)) else error["loc"]
    path = [part for part in path if part not in _IN_UNIONS]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part[:80]}" for part in path).removeprefix(".")
    if error["type"] == "missing":
        return f"{place} is missing: see /docs" if place else "the body is empty: send JSON"
    if error["type"] == "extra_forbidden":
        return f"there is no key {place!r} here: see /docs"
    is_id = _of_union(error) and error["type"] in _OF_TYPE
    wanted = WANTED.get("id" if is_id else error["type"], error["msg"]).format(**error.get("ctx", {}))
    return f"{place or 'the body'} must be {wanted}, and it is {_shown(error.get('input'))}"


def _telling(errors: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the error that says most: an unknown key, which may be a missing one misspelt, or else the first.

    An id has an error for each of its two types, of which one may be about its value.
    """
    first = errors[0]
    unknown = [error for error in errors if error["type"] == "extra_forbidden"]
    if unknown or not _of_union(first):
        return (unknown or errors)[0]
    here = (error for error in errors[:2] if error["loc"][:-1] == first["loc"][:-1])
    return next((error for error in here if error["type"] not in _OF_TYPE), first)


def _of_union(error: Mapping[str, Any]) -> bool:
    return bool(error["loc"]) and error["loc"][-1] in _IN_UNIONS


def check_alike(ids: Sequence[Any], place: str) -> None:
    """Check that ids are all numbers or all texts.

    Raises:
        Refused: They are both, and NumPy would make texts of the numbers.
    """
    if len({type(one) for one in ids}) > 1:
        raise Refused(422, f"{place}: some ids are numbers and others texts: send what the run's data has")


def _shown(value: Any) -> str:
    """Return a value as a sentence quotes it, without what it holds where that may be much."""
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, dict):
        return "an object"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
