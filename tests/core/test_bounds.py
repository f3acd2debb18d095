from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from annotated_types import Predicate, doc
from hypothesis import given
from hypothesis import strategies as st

from recx.core.bounds import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Seed,
    Share,
    Unit,
    check,
    coerce,
)
from recx.core.errors import InputError

FITS = [
    (3, int, 3),
    (1, float, 1.0),
    ("abc", str, "abc"),
    ("a/b", Path, Path("a/b")),
    (None, int | None, None),
    (2, int | None, 2),
    (2, int | float, 2),
    ("drop", Literal["drop", "keep"], "drop"),
    ([1, 2], tuple[int, ...], (1, 2)),
    ([1, 2.5], tuple[float, float], (1.0, 2.5)),
    ([1], list[float], [1.0]),
    ({"a": 1}, Mapping[str, float], {"a": 1.0}),
    ({"a": [1]}, dict[str, tuple[int, ...]], {"a": (1,)}),
    (object, Any, object),
]


@pytest.mark.parametrize(("value", "hint", "fitted"), FITS)
def test_a_fitting_value_comes_back_in_its_type(value: object, hint: Any, fitted: object) -> None:
    made = coerce(value, hint, "a.b")
    assert made == fitted
    assert type(made) is type(fitted)


def test_numbers_of_numpy_become_pythons() -> None:
    assert repr(coerce(np.int64(3), int, "k")) == "3"
    assert repr(coerce(np.float32(0.5), float, "k")) == "0.5"


MISFITS = [
    (1.5, int, "a.b=1.5: it must be a whole number"),
    (True, int, "a.b=true: it must be a whole number"),
    ("3", int, "a.b=3: it must be a whole number"),
    (True, float, "a.b=true: it must be a number"),
    ("abc", float, "a.b=abc: it must be a number"),
    (1, bool, "a.b=1: it must be true or false"),
    (None, int, "a.b=null: it must be a whole number"),
    (7, str, "a.b=7: it must be text: write \"a.b='7'\""),
    ("abc", int | None, "a.b=abc: it must be a whole number"),
    ("drip", Literal["drop", "keep"], "a.b=drip: did you mean 'drop'?"),
    ([1, "x"], tuple[int, ...], "a.b.1=x: it must be a whole number"),
    ([1], tuple[int, int], "it must be a list of 2: a whole number, a whole number"),
    (5, tuple[str, ...], "a.b=5: it must be a list (each of it text)"),
    ("x", Mapping[str, int], "a.b=x: it must be a mapping of names (each to a whole number)"),
    (math.nan, float, "a.b=nan: it must be a number"),
    (-math.inf, float | None, "a.b=-inf: it must be a number"),
    (10**400, float, "it must be a number"),
    (-1, NonNegativeFloat, "a.b=-1: it must be 0 or more"),
    (0.0, PositiveFloat, "a.b=0.0: it must be above 0"),
    (True, PositiveInt, "a.b=true: it must be a whole number"),
    (0, PositiveInt | None, "a.b=0: it must be 1 or more"),
    (1, Share, "a.b=1: it must be above 0 and below 1"),
    (-0.5, Unit, "a.b=-0.5: it must be 0 or more and at most 1"),
    (2**32, Seed, "a.b=4294967296: it must be 0 or more and at most 4294967295"),
    ("7", Annotated[str, Predicate(str.isalpha), doc("letters")], "a.b=7: it must be letters"),
    ({"c": -1}, Mapping[str, NonNegativeInt], "a.b.c=-1: it must be 0 or more"),
    (-1, PositiveInt | Mapping[str, PositiveInt], "it must be a whole number (1 or more) or a mapping of names"),
    ("drip", Literal["off", "on"] | None, "a.b=drip: choose one of: off, on"),
    ("x", object, "a.b=x: it must be a part with its _target_"),
]


@pytest.mark.parametrize(("value", "hint", "sentence"), MISFITS)
def test_a_wrong_value_names_its_key(value: object, hint: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        coerce(value, hint, "a.b")
    assert sentence in str(caught.value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_what_fits_any_type_is_left_as_it_is(value: object) -> None:
    assert coerce(value, Any, "k") is value


@dataclass(frozen=True)
class Part:
    """A part of which every setting is declared."""

    neighbours: PositiveInt = 5
    shrink: NonNegativeFloat = 1.0
    widths: tuple[int, ...] = ()
    mode: Literal["drop", "keep"] = "drop"

    def __post_init__(self) -> None:
        check(self, "retriever")


def test_a_part_made_in_python_is_brought_into_its_types() -> None:
    part = Part(np.int32(3), 2, [1, 2], "keep")  # type: ignore[arg-type]
    assert repr(part) == "Part(neighbours=3, shrink=2.0, widths=(1, 2), mode='keep')"
    assert part == Part(3, 2.0, (1, 2), "keep")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"neighbours": 0}, "retriever.neighbours=0: it must be 1 or more"),
        ({"neighbours": True}, "retriever.neighbours=true: it must be a whole number"),
        ({"shrink": math.nan}, "retriever.shrink=nan: it must be a number"),
        ({"widths": 3}, "retriever.widths=3: it must be a list"),
        ({"mode": "kep"}, "retriever.mode=kep: did you mean 'keep'?"),
    ],
)
def test_a_wrong_setting_in_python_names_its_key(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Part(**settings)
    assert str(caught.value).startswith(sentence)
