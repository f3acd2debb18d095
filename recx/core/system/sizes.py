"""Sizes of files as text: ``500kB``, ``20MB``, ``10GB``, ``1.5TB``, in powers of 1,000."""

from __future__ import annotations

import re
from typing import Annotated

from annotated_types import Predicate, doc

from recx.core.bounds import coerce

_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
LARGEST = 10**15


def _parsed(text: str) -> int | None:
    """Return the size in bytes; None if the text is not a size. A unit may be written in small letters."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?b)\s*", text.lower())
    units = {unit.lower(): n for unit, n in _UNITS.items()}
    return round(float(found[1]) * units[found[2]]) if found else None


def _is_size(text: str) -> bool:
    size = _parsed(text)
    return size is not None and size <= LARGEST


Size = Annotated[
    str, Predicate(_is_size), doc("a number and a unit, B, kB, MB, GB or TB, such as 20MB, and at most 1000TB")
]


def n_bytes(text: str, key: str) -> int:
    """Return the size in bytes.

    Args:
        text: A number and a unit.
        key: The key of the setting, for errors.

    Raises:
        InputError: The text is not a size.
    """
    return _parsed(coerce(text, Size, key)) or 0


def readable(size: float) -> str:
    """Return a number of bytes in the largest unit of which it has at least one, with one decimal above bytes."""
    unit = max((unit for unit in _UNITS if size >= _UNITS[unit]), key=_UNITS.__getitem__, default="B")
    return f"{size / _UNITS[unit]:,.1f} {unit}" if unit != "B" else f"{size:.0f} B"
