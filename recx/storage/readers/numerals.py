"""Columns of texts that are numbers, all of them: read by Arrow, without looking at each one by a pattern."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc


def whole_numbers(words: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return texts of whole numbers as int64, whose texts are the same again but for blanks around them, else None.

    None too where one has zeros before it, as 007, or is -0.
    """
    for bare, found in _cast(words, pa.int64()):
        padded = pc.and_(pc.starts_with(bare, "0"), pc.greater(pc.binary_length(bare), 1))
        if not pc.any(pc.or_(padded, pc.starts_with(bare, "-0")), min_count=0).as_py():
            return found
    return None


def numbers(words: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return texts of numbers as float64, else None."""
    return next((found for _, found in _cast(words, pa.float64())), None)


def _cast(words: pa.ChunkedArray, kind: pa.DataType) -> Iterator[tuple[pa.ChunkedArray, pa.ChunkedArray]]:
    """Yield texts and the numbers that they are, if they are; Arrow takes none with blanks around it."""
    with suppress(pa.ArrowInvalid):
        yield words, words.cast(kind)
        return
    bare = pc.utf8_trim_whitespace(words)
    with suppress(pa.ArrowInvalid):
        yield bare, bare.cast(kind)
