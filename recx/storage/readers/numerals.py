"""Columns of texts that are numbers, all of them: read by Arrow, without looking at each one by a pattern."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

LARGEST = 2**63 - 1
FIRST = 1_000
"""Rows that are looked at first: most columns that are not what was expected show it there."""


def whole_numbers(words: pa.ChunkedArray, most: int = LARGEST) -> pa.ChunkedArray | None:
    """Return texts of whole numbers as int64, whose texts are the same again but for blanks around them, else None.

    Args:
        words: The texts.
        most: The largest number, and the largest below 0, that may be among them.
    """
    for bare, found in _cast(words, pa.int64()):
        ends = pc.min_max(found).as_py()
        within = ends["min"] is None or -most <= ends["min"] <= ends["max"] <= most
        return found if within and not any(map(_padded, bare.chunks)) else None
    return None


def numbers(words: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return texts of numbers as float64, else None."""
    return next((found for _, found in _cast(words, pa.float64())), None)


def _cast(words: pa.ChunkedArray, kind: pa.DataType) -> Iterator[tuple[pa.ChunkedArray, pa.ChunkedArray]]:
    """Yield texts and the numbers that they are, if they are; Arrow takes none with blanks around it."""
    with suppress(pa.ArrowInvalid):
        yield words, words.cast(kind)
        return
    with suppress(pa.ArrowInvalid):
        pc.utf8_trim_whitespace(words.slice(0, FIRST)).cast(kind)
        bare = pc.utf8_trim_whitespace(words)
        yield bare, bare.cast(kind)


def _padded(words: pa.Array) -> bool:
    """Return whether a whole number has zeros before it, as 007, or is -0 or in hexadecimal digits."""
    _, ends, text = words.buffers()
    at = np.frombuffer(ends, np.int64 if pa.types.is_large_string(words.type) else np.int32)
    at = at[words.offset : words.offset + len(words) + 1]
    start = at[:-1][np.diff(at) > 1]
    byte = np.frombuffer(text or b"", np.uint8)
    head = byte[start]
    return bool((head == ord("0")).any() or (byte[start[head == ord("-")] + 1] == ord("0")).any())
