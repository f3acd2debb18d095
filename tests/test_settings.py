from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.errors import InputError
from recx.settings import fit_to_type

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
    made = fit_to_type(value, hint, "a.b")
    assert made == fitted
    assert type(made) is type(fitted)


MISFITS = [
    (1.5, int, "a.b=1.5: it must be a whole number"),
    (True, int, "a.b=true: it must be a whole number"),
    ("3", int, "a.b=3: it must be a whole number"),
    (True, float, "a.b=true: it must be a number"),
    ("abc", float, "a.b=abc: it must be a number"),
    (1, bool, "a.b=1: it must be true or false"),
    (None, int, "a.b=null: it must be a whole number"),
    (7, str, "a.b=7: it must be text: write \"a.b='7'\""),
    ("abc", int | None, "a.b=abc: it must be a whole number or null"),
    ("drip", Literal["drop", "keep"], "a.b=drip: it must be one of drop, keep"),
    ([1, "x"], tuple[int, ...], "it must be a list (each of it a whole number)"),
    ([1], tuple[int, int], "it must be a list of 2: a whole number, a whole number"),
    (5, tuple[str, ...], "a.b=5: it must be a list (each of it text)"),
    ("x", Mapping[str, int], "a.b=x: it must be a mapping of names (each to a whole number)"),
    ("x", object, "a.b=x: it must be a part with its _target_"),
]


@pytest.mark.parametrize(("value", "hint", "sentence"), MISFITS)
def test_a_misfit_is_told_by_its_key(value: object, hint: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        fit_to_type(value, hint, "a.b")
    assert sentence in str(caught.value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_what_fits_any_type_is_left_as_it_is(value: object) -> None:
    assert fit_to_type(value, Any, "k") is value
