"""Durations as people write them: ``90s``, ``30m``, ``3h``, ``1d``, ``2w``."""

from __future__ import annotations

import re

from recx.errors import InputError

SECOND = 1_000
HOUR = 3_600 * SECOND
_UNITS = {"ms": 1, "s": SECOND, "m": 60 * SECOND, "h": HOUR, "d": 24 * HOUR, "w": 7 * 24 * HOUR}

LONGEST = 10**15
"""In ms; sums and differences with any time still fit into an int64."""


def milliseconds(text: str, key: str) -> int:
    """Return the duration in whole milliseconds.

    Raises:
        InputError: naming ``key``, when the text is no positive duration.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)\s*", str(text))
    duration = round(float(found[1]) * _UNITS[found[2]]) if found else 0
    if duration < 1:
        raise InputError(f"{key}={text!r} is no duration: write a positive number and a unit, such as 30m, 3h or 1d")
    if duration > LONGEST:
        raise InputError(f"{key}={text!r} is longer than {LONGEST // _UNITS['d']:,} days: write a shorter one")
    return duration
