"""Numbers that tell the time: what they count, and whether they are taken for something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from recx.core.errors import InputError

Longs = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NANOSECONDS = {
    "d": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}
"""Nanoseconds of each unit that times may count in."""

RELATIVE = "relative_times"
"""The note of interactions whose times count from a start of their own, not from 1970."""

UNDATED = "undated_times"
"""The note of how many times are no dates, if nobody says that they count from a start of their own."""

_EARLIEST, _LATEST = 320_000_000, 4_000_000_000  # s: 1980 and 2096, between which a number is taken for a date
_FIELDS = ((100, 1, 12), (100, 1, 31), (100, 0, 24), (100, 0, 59), (100, 0, 59), (1_000, 0, 999))
"""What follows the year in a number such as 20170701123000: the size of each field, its smallest and largest value."""


@dataclass(frozen=True)
class Misreading:
    """Numbers that are no dates in the unit that they are said to count, but in another.

    Attributes:
        unit: What they seem to count: s, ms, us or ns; ``iso`` for days such as 20170701.
        row: The first of them.
        beside: What others count, where the numbers do not all count the same; "" where nearly all count ``unit``.
        other: The first of these others.
    """

    unit: str
    row: int
    beside: str = ""
    other: int = -1


def misreading(raw: Longs, unit: str) -> Misreading | None:
    """Return how numbers [n] said to count a unit from 1970 are misread; None if nothing speaks for another reading.

    Numbers that are dates in no unit, or spread more widely than dates do, count from a start of their own.
    """
    if not len(raw):
        return None
    if dates_in(np.array([raw.min(), raw.max()]), unit).all():
        return Misreading("iso", 0) if unit == "s" and _written(raw, 10).all() else None
    found = {unit: dates_in(raw, unit), "iso": _written(raw, 8) | _written(raw, 14) | _written(raw, 17)}
    found |= {name: dates_in(raw, name) for name in ("s", "ms", "us", "ns") if name != unit}
    if unit in ("s", "ms", "us", "ns") and any(_written(raw, digits).all() for digits in (4, 6, 12)):
        return Misreading("iso", 0)
    common = sorted(found, key=lambda name: (name == unit, found[name].sum()), reverse=True)
    common = [name for name in common if found[name].mean() >= 0.1]
    low, high = np.quantile(raw[:: len(raw) // 100_000 + 1], (0.1, 0.9))
    dated = [name for name in common if high <= 4 * low and found[name].mean() >= 0.8]
    if dated and dated[0] != unit:
        return Misreading(dated[0], int(np.argmax(found[dated[0]])))
    odd = common[1:] or ([name for name, rows in found.items() if name != unit and rows.any()] if dated else [])
    if not odd:
        return None
    return Misreading(odd[0], int(np.argmax(found[odd[0]])), common[0], int(np.argmax(found[common[0]])))


def dates_in(raw: npt.NDArray[Any], unit: str) -> Bools:
    """Return which numbers [n] are dates from 1980 to 2096 if they count a unit from 1970."""
    first, last = (seconds * 10**9 // NANOSECONDS[unit] for seconds in (_EARLIEST, _LATEST))
    dates: Bools = (raw >= first) & (raw <= last)
    return dates


def _written(raw: Longs, digits: int) -> Bools:
    """Return which numbers [n] are a year of 1900 to 2099 with what follows it, of so many digits in all."""
    scale = 10 ** (digits - 2)
    dates: Bools = (raw >= 19 * scale) & (raw < 21 * scale)
    if not dates.any():
        return dates
    rest, fits = raw[dates], np.ones(int(dates.sum()), dtype=bool)
    n_fields = {4: 0, 6: 1, 8: 2, 10: 3, 12: 4, 14: 5, 17: 6}[digits]
    for size, smallest, largest in reversed(_FIELDS[:n_fields]):
        rest, field = np.divmod(rest, size)
        fits &= (field >= smallest) & (field <= largest)
    dates[dates] = fits
    return dates


def undated(time: Longs) -> int:
    """Return how many times [n] in ms lie before 1980 or after 2096."""
    if len(time) and dates_in(np.array([time.min(), time.max()]), "ms").all():
        return 0
    return len(time) - int(dates_in(time, "ms").sum())


def described(found: Misreading, raw: Longs, unit: str) -> str:
    """Return what was found in numbers [n] said to count a unit, for an error: both readings."""
    value = int(raw[found.row])
    if found.beside:
        counts, others = ("days, as 20170701," if name == "iso" else name for name in (found.unit, found.beside))
        return (
            f"the value {value} in row {found.row + 1} counts {counts} where the others count {others}, as "
            f"{raw[found.other]} in row {found.other + 1} does"
        )
    if found.unit == "iso":
        return f"times such as {value} are dates written as numbers, or count {unit} and mean {_date(value, unit)}"
    dates = f"{_date(value, found.unit)}, not {_date(value, unit)}"
    return f"times such as {value} count {found.unit}, not {unit} ({dates})"


def check_clock(time: Longs, notes: Mapping[str, float]) -> None:
    """Check that the times of a dataset [n] are milliseconds, unless its notes tell that they have been looked at.

    Raises:
        InputError: They seem to count something else.
    """
    found = None if RELATIVE in notes or UNDATED in notes else misreading(time, "ms")
    if found is not None:
        raise InputError(
            f"the times of the dataset: {described(found, time, 'ms')}: return milliseconds, or, if they count ms from "
            f"a start of their own, add '{RELATIVE}': 1 to the notes of the Interactions"
        )


def _date(value: int, unit: str) -> str:
    try:
        return str(np.datetime64(value * NANOSECONDS[unit] // 10**9, "s"))
    except OverflowError:
        return "no date"


def in_milliseconds(time: npt.NDArray[Any]) -> Longs:
    """Return times (``datetime64`` or whole milliseconds) [n] in milliseconds; what is finer is cut off."""
    if time.dtype.kind != "M":
        return time.astype(np.int64, copy=False)
    moments: Longs = time.astype("datetime64[ms]", copy=False).view(np.int64)
    return moments
