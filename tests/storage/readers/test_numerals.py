"""Texts are numbers only if all are, and whole ones only if their texts come back."""

from __future__ import annotations

import pyarrow as pa
import pytest

from recx.storage.readers.numerals import numbers, whole_numbers


def _column(*words: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(words[:1], pa.string()), pa.array(words[1:], pa.string())])


def test_whole_numbers_may_have_blanks_around_them() -> None:
    found = whole_numbers(_column("0", "-7", " 12", "3 ", None, "9223372036854775807"))
    assert found is not None
    assert found.to_pylist() == [0, -7, 12, 3, None, 2**63 - 1]


@pytest.mark.parametrize(
    "word", ["007", "-0", "-07", "0x10", " 00", "1.0", "1e3", "+1", "", "9223372036854775808", "٣"]
)
def test_what_would_not_come_back_is_no_whole_number(word: str) -> None:
    assert whole_numbers(_column("1", word)) is None


def test_numbers() -> None:
    found = numbers(_column("1", "-2.5", " 1e3", None))
    assert found is not None
    assert found.to_pylist() == [1.0, -2.5, 1000.0, None]
    assert numbers(_column("1", "2,5")) is None
    assert numbers(_column("1", "one")) is None
