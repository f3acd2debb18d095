"""Sizes of files as text: ``500kB``, ``20MB``, ``10GB``, ``1.5TB``."""

from __future__ import annotations

import re
from typing import Annotated

from annotated_types import Predicate, doc

from recx.core.bounds import coerce

_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
LARGEST = 10**15


def _parsed(text: str) -> int:
    """Return the size in bytes; 0 if the text is not a size."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMGT]?B)\s*", text)
    return round(float(found[1]) * _UNITS[found[2]]) if found else 0


Size = Annotated[
    str,
    Predicate(lambda text: 1 <= _parsed(text) <= LARGEST),
    doc("a positive number and a unit, B, kB, MB, GB or TB (powers of 1,000), such as 20MB, and at most 1000TB"),
]


def n_bytes(text: str, key: str) -> int:
    """Return the size in bytes.

    Args:
        text: A number and a unit.
        key: The key of the setting, for errors.

    Raises:
        InputError: The text is not a positive size.
    """
    return _parsed(coerce(text, Size, key))


def readable(size: float) -> str:
    """Return a number of bytes with three digits, in the largest unit of which it has at least one."""
    unit = max((unit for unit in _UNITS if size >= _UNITS[unit]), key=_UNITS.__getitem__, default="B")
    return f"{float(f'{size / _UNITS[unit]:.3g}'):g} {unit}"  # never 1e+03
