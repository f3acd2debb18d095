"""Finds the columns of times and weights of a table that nobody names, where the file leaves no doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from recx.core.clock import dates_in
from recx.core.errors import InputError
from recx.core.types import Array
from recx.storage.readers.first_rows import dated
from recx.storage.readers.names import GRADES, KINDS_OF_EVENTS, NOT_CHOSEN, REACTIONS, TIMES, WEIGHTS, recognised
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import read
from recx.storage.readers.times import exact_times

AUTO = "auto"
"""What a setting says for a column that is to be found."""
EVENT = r"(the|event|click|view|interaction|rating|review|purchase|order|session|unix|utc|created|rated|visited|server)"
"""What may stand before the word for a time that tells when the event happened."""
NUMBERS = "numbers"
UNITS = ("s", "ms", "us", "ns")
TRUTHS = "true|false|t|f|yes|no|y|n|on|off|ja|nein|oui|non|si|wahr|falsch|vrai|faux|verdadero|falso|pos|positive"
NUMBER_OR_NOTHING = r"([+-]?\d+([.,]\d+)? ?%?|na|n/a|#n/a|nan|none|null|\\n)?"


def looked_at(names: Sequence[str]) -> dict[str, str]:
    """Return the columns whose values may be looked at to find times and weights, and the kind of most such values."""
    numbers = recognised(f"{WEIGHTS}|weight|strength|{GRADES}|{REACTIONS}|{KINDS_OF_EVENTS}", names)
    return dict.fromkeys(numbers, "number?") | dict.fromkeys(recognised(TIMES, names), "whole?")


def times_of(source: Source, names: Sequence[str], unit: str, relative: bool) -> tuple[str | None, str]:
    """Return the column of times (None: there is none), and the unit that they count.

    Args:
        source: The table.
        names: The columns that have no other role.
        unit: The unit, if it is not ms; otherwise that in which the numbers are dates.
        relative: Whether they count from a start of their own.

    Raises:
        InputError: It is not clear which column tells when an event happened.
    """
    clocks = {name: _clock(source, name) or _stated(source, name, unit, relative) for name in recognised(TIMES, names)}
    of_dates = [name for name, clock in clocks.items() if clock not in (NUMBERS, "")]
    clear = [name for name in clocks if _is_of_event(name)]
    best = [name for name in clear if clocks[name]] or [*of_dates, *clear]
    if not best:
        best = dated(source, names)
    elif len(best) == 1 and dated(source, best) and not dated(source, best, finer=True):
        best += dated(source, [name for name in names if name not in clocks], finer=True)
    if not best:
        return None, unit
    if len(best) > 1 or best[0] not in clear or not clocks[best[0]]:
        read(source, {best[0]: "text?"}, notes={})  # which names a row that is torn
        raise InputError(
            f"{source.path}: the column {' or '.join(map(repr, best))} could hold the times: set dataset.time to the "
            f"column, such as dataset.time={best[0]}, with its dataset.time_unit, or dataset.time=null if the rows are "
            "in the order of time"
        )
    clock = clocks[best[0]]
    return best[0], clock if unit == "ms" and clock != NUMBERS else unit


def later(time: Array, offset: Array) -> Array:
    """Return moments [n], ``datetime64``, that many milliseconds later [n]."""
    moved: Array = time + np.rint(offset * 1000).astype("timedelta64[us]")
    return moved


def weights_of(source: Source, names: Sequence[str]) -> tuple[str | None, dict[str, int]]:
    """Return the column of weights, and the note of one that is not read.

    A column is read if its name says that an item was chosen, and it is 1 or not. Others that are positive are left
    unread: every row is an event, whatever its rating.

    Raises:
        InputError: A column holds numbers of 0 or less, or words, which could mean that the row is no event.
    """
    found = {name: numbers_of(source, name) for name in recognised(f"{WEIGHTS}|{GRADES}", names)}
    for name in recognised(f"weight|strength|{GRADES}|{REACTIONS}|{KINDS_OF_EVENTS}", names):
        if found.get(name) is None:
            _refuse_words(source, name, graded=bool(recognised(f"weight|{GRADES}", [name])))
    numbers = {name: values for name, values in found.items() if values is not None and not (values == 1).all()}
    unchosen = [name for name, values in numbers.items() if (values <= 0).any()]
    if not unchosen:
        return None, {"rows_with_unread_weight": len(next(iter(numbers.values())))} if numbers else {}
    name = unchosen[0]
    binary = set(np.unique(numbers[name]).tolist())
    if len(unchosen) == 1 and recognised(f"weight|{GRADES}", [name]) and binary in ({0.0, 1.0}, {-1.0, 1.0}):
        return name, {}
    raise _zero(source, name, numbers[name])


def refuse_unread_zeros(source: Source, names: Sequence[str]) -> None:
    """Refuse columns without names that could say that a row is no event.

    Raises:
        InputError: A column holds numbers of 0 or less.
    """
    for name in names:
        numbers = numbers_of(source, name)
        if numbers is not None and (numbers <= 0).any():
            raise _zero(source, name, numbers)


def _zero(source: Source, name: str, numbers: Array) -> InputError:
    row = int(np.argmax(numbers <= 0))
    return InputError(
        f"{source.path}: the column {name!r} is {numbers[row]:g} in row {row + 1}, which could mean that the "
        f"item was shown, but not chosen: set dataset.weight={name}, which leaves out rows of 0 or less, or "
        "dataset.weight=null, so that every row is an event"
    )


def _refuse_words(source: Source, column: str, graded: bool) -> None:
    """Raise InputError if the words of a column could say that an item was not chosen.

    Args:
        source: The table.
        column: A column that holds no numbers.
        graded: Whether its name says that it tells what was chosen, so that it may hold numbers that are missing.
    """
    try:
        values = set(read(source, {column: "text?"}, notes={})[column].tolist())
    except InputError:  # nested values
        return
    words = sorted({(value or "").strip().lower() for value in values})
    said = [word for word in words if re.fullmatch(NOT_CHOSEN, word)] if len(words) > 1 else []
    plain = f"{TRUTHS}|{NUMBER_OR_NOTHING}" if graded else TRUTHS
    if not said and all(re.fullmatch(plain, word) for word in words):
        said = words[:4]
    if said:
        shown = " and ".join(repr(word) if word else "nothing" for word in said)
        raise InputError(
            f"{source.path}: the column {column!r} holds {shown}, which could mean that an item was shown, but not "
            f"chosen: say which rows are events, by dataset.where={{{column}: VALUE}} or by 1 and 0 in the file, or "
            "set dataset.weight=null, so that every row is an event"
        )


def _is_of_event(name: str) -> bool:
    words = re.sub("([a-z])([A-Z])", r"\1 \2", name.partition(":")[0]).lower()
    return bool(re.fullmatch(rf"({EVENT}?[ _-]?)*({TIMES})", words))


def _clock(source: Source, column: str) -> str:
    """Return the unit of a column of dates, ``NUMBERS`` of numbers that are no dates, "" of anything else."""
    raw = numbers_of(source, column)
    ends = (raw.min(), raw.max()) if raw is not None else (0, 0)
    if raw is None or _are_written(ends, 8) or _are_written(ends, 14):
        with suppress(InputError):
            read(source, {column: "iso"}, notes={})
            return "iso"
        return ""
    if any(_are_written(ends, digits) for digits in (4, 6, 12)):
        return ""
    return next(iter(units_of(float(np.median(raw, overwrite_input=True)))), NUMBERS)


def _stated(source: Source, column: str, unit: str, relative: bool) -> str:
    """Return the unit that is set if the column can be read by it, otherwise ""."""
    if unit == "ms" and not relative:  # which nobody may have set
        return ""
    with suppress(InputError):
        read(source, {column: exact_times(unit, relative)}, notes={})
        return unit
    return ""


def _are_written(ends: tuple[float, float], digits: int) -> bool:
    """Return whether all numbers between these two begin with a year, as 20170701 does."""
    return bool(19 * 10 ** (digits - 2) <= ends[0] <= ends[1] < 21 * 10 ** (digits - 2))


def numbers_of(source: Source, column: str) -> Array | None:
    """Return the values of a column, whole numbers exactly; None if one is not a number."""
    for kind in ("whole", "double"):
        with suppress(InputError):
            found = read(source, {column: kind}, notes={})[column]
            return found if np.isfinite(found).all() else None
    return None


def units_of(median: float) -> list[str]:
    """Return the units in which most numbers with this median are times from 1980 to 2096."""
    return [unit for unit in UNITS if dates_in(np.array([median]), unit).all()]
