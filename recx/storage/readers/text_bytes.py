"""The bytes of a text: where its header begins, on which line a byte stands, and whether some byte is in it."""

from __future__ import annotations

import re
from pathlib import Path

from recx.core.errors import InputError
from recx.storage.readers.file_bytes import let_go

_BOM = b"\xef\xbb\xbf"
_FIRST_LINES = re.compile(rb"(?:sep=.(?=[\r\n]))?[\r\n]*+")
"""Empty lines, and the line by which spreadsheets name the delimiter."""


def from_header(data: memoryview) -> memoryview:
    """Return a text from its header, or first row, on."""
    data = data[len(_BOM) :] if bytes(data[:3]) == _BOM else data
    return data[matched(_FIRST_LINES, data) :]


def refuse_nul(path: Path, data: memoryview) -> None:
    """Check that a text has no character NUL.

    Raises:
        InputError: It has one.
    """
    if holds(data, b"\0"):
        found = re.search(rb"\0", data)
        line = line_of(data, found.start() if found else 0)
        raise InputError(f"{path}, line {line}: there is a character NUL, which no text has: fetch or write it again")


def matched(pattern: re.Pattern[bytes], data: memoryview) -> int:
    """Return how many of the first bytes match a pattern."""
    found = pattern.match(data)
    return found.end() if found else 0


def holds(data: memoryview, byte: bytes) -> bool:
    """Return whether a byte is among these."""
    step = 1 << 18  # a memoryview cannot search, and a copy of it all would be large
    for at in range(0, len(data), step):
        if byte in bytes(data[at : at + step]):
            return True
        let_go(data)
    return False


def line_of(data: memoryview, at: int) -> int:
    """Return the line, from 1, on which a byte stands."""
    return len(re.findall(rb"\r\n?|\n", data[:at])) + 1
