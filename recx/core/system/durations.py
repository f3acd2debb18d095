"""Durations as text: ``90s``, ``30m``, ``3h``, ``1d``, ``2w``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated

from annotated_types import Predicate, doc

from recx.core.bounds import coerce

SECOND = 1_000
"""In ms."""
HOUR = 3_600 * SECOND
"""In ms."""
_UNITS = {"ms": 1, "s": SECOND, "m": 60 * SECOND, "h": HOUR, "d": 24 * HOUR, "w": 7 * 24 * HOUR}

LONGEST = 10**15
"""In ms; sums and differences with any time still fit into int64."""


def _parsed(text: str) -> int:
    """Return the duration in whole milliseconds; 0 if the text is not a duration."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)\s*", text)
    return round(float(found[1]) * _UNITS[found[2]]) if found else 0


Duration = Annotated[
    str,
    Predicate(lambda text: 1 <= _parsed(text) <= LONGEST),
    doc(f"a positive number and a unit, such as 30m, 3h or 1d, and at most {LONGEST // _UNITS['d']:,} days"),
]
"""A positive number and a unit, such as ``30m``, ``3h`` or ``1d``."""


@lru_cache(maxsize=1000)
def milliseconds(text: str, key: str) -> int:
    """Return the duration in whole milliseconds.

    Args:
        text: A number and a unit.
        key: The key of the setting, for errors.

    Raises:
        InputError: The text is not a positive duration.
    """
    return _parsed(coerce(text, Duration, key))
