"""Vectors of a table: which columns hold them, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from recx.core.errors import InputError
from recx.storage.readers.vectors import numbered_columns, stacked, vectors_of


def column(*values: object) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["id", "e1", "e0"], ["e0", "e1"]),
        (["emb_1", "emb_2", "dim_0"], ["emb_1", "emb_2"]),
        (["e0", "e2"], []),
        (["e1"], []),
    ],
    ids=["in order", "from one", "gap", "one"],
)
def test_numbered_columns_are_a_vector_without_a_gap(names: list[str], expected: list[str]) -> None:
    assert numbered_columns(names) == expected


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["1 2", "3 nan"], "x, row 2: its vector holds a number that is not finite"),
        (["inf 2"], "x, row 1: its vector holds a number that is not finite"),
        ([None, ""], "x is to hold vectors, and every row of it is empty"),
        (["1 2", "3"], "x holds vectors of different lengths"),
    ],
    ids=["nan", "inf", "empty", "lengths"],
)
def test_vectors_that_cannot_be_compared_are_refused(values: list[str | None], said: str) -> None:
    lists = vectors_of("vec:float_seq", column(*values), "x")
    assert lists is not None
    with pytest.raises(InputError, match=said):
        stacked(lists, None, "x")


def test_the_numbers_of_a_float_seq_are_a_vector() -> None:
    """RecBole's ``.item``: numbers between blanks; a row without any has no vector."""
    texts = column("0.5 -1 2e-1", "", None, " 1  2 3 ")
    found = vectors_of("vec:float_seq", texts, "x.item: column 'vec:float_seq'")
    assert found is not None
    expected = [[0.5, -1, 0.2], [np.nan] * 3, [np.nan] * 3, [1, 2, 3]]
    assert np.array_equal(stacked(found, None, "x"), np.float32(expected), equal_nan=True)
    assert vectors_of("vec", texts, "x") is None


def test_lists_of_decimal_numbers_are_vectors_and_others_are_not() -> None:
    found = vectors_of("vec", column([0.5, 1.0], None), "x")
    assert found is not None
    assert np.array_equal(stacked(found, None, "x"), np.float32([[0.5, 1], [np.nan, np.nan]]), equal_nan=True)
    assert vectors_of("tags", column(["a"], ["b", "c"]), "x") is None
    assert vectors_of("codes:float_seq", column([1, 2], [3]), "x") is None


def test_what_is_no_vector_is_refused() -> None:
    with pytest.raises(InputError, match="x holds vectors, and 'b' is not a number: correct it"):
        vectors_of("vec:float_seq", column("1 2", "3 b"), "x")
    one, other = (vectors_of("vec:float_seq", column(*texts), "x") for texts in (("1 2", "3"), ("1 2", "3 4")))
    with pytest.raises(InputError, match="x holds vectors of different lengths: write all of one length"):
        stacked(one, None, "x")
    with pytest.raises(InputError, match="x holds vectors, and another column does too: leave one of them out"):
        stacked(other, np.zeros((2, 2), dtype=np.float32), "x")
