"""Looks at a file of interactions and derives the settings of ``Table`` for it, with what was seen for each.

What could be read in two ways is refused: the message names both readings and the setting that decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.clock import NANOSECONDS
from recx.core.errors import InputError, did_you_mean
from recx.core.types import Array, Interactions
from recx.parts.dataset.table import ROLES, Table
from recx.parts.dataset.table_columns import UNITS, units_of
from recx.storage.readers.columns import MISSING, convert
from recx.storage.readers.names import GRADES, ITEMS, OPINIONS, TIMES, USERS, recognised
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import first_rows, layouts

WORDS: Mapping[str, str] = {
    "user": USERS,
    "item": ITEMS,
    "time": TIMES,
    "weight": f"weight|strength|{GRADES}|{OPINIONS}",
}
"""Role -> the last word of a column's name by which it is recognised, with or without an ``id`` behind it."""
_BYTES = 1 << 18
"""Bytes of the first rows, which show what a column holds."""
NONE = "none"
"""What a flag says for a role without a column."""


@dataclass(frozen=True)
class Given:
    """What a person says of a file.

    Attributes:
        values: Setting -> what is said: a column or ``none`` for user, item, time and weight, ``time_unit``, ``order``,
            ``delimiter``.
        flags: Whether they are flags of ``recx init``, such as ``--user``; otherwise they are overrides, such as
            ``dataset.user``.
    """

    values: Mapping[str, str]
    flags: bool = True

    def way(self, setting: str, value: str) -> str:
        """Return how a setting is given, for errors."""
        if self.flags:
            return f"--{setting.replace('_', '-')} {value}"
        return f"dataset.{setting}={'null' if value == NONE else value}"


@dataclass(frozen=True)
class Guess:
    """The settings of ``Table`` for a file.

    Attributes:
        table: The part.
        events: What it loaded, so that the file is read once.
        seen: Setting -> what was seen in the file.
    """

    table: Table
    events: Interactions
    seen: Mapping[str, str]


def guess(path: Path, said: Given) -> Guess:
    """Return the settings for a file.

    Args:
        path: The file.
        said: What is known about it.

    Raises:
        InputError: The file cannot be used, or a setting is ambiguous.
    """
    given = said.values
    delimiter, names, usual = _layout(path, said)
    columns = {role: _column(path, role, names, said) for role in ROLES}
    source, seen = Source(path, delimiter), {}
    if "weight" not in given and recognised(OPINIONS, [columns["weight"] or ""]):
        seen["weight"] = _about_opinions(source, str(columns["weight"]))
        columns["weight"] = None
    if columns["time"] is None and "time" not in given:
        _check_no_times(source, [name for name in names if name not in columns.values()], said)
    unit, moment = _time_unit(source, columns["time"], said)
    written = None if usual else "\\t" if delimiter == "\t" else delimiter
    settings = {**columns, "path": str(path), "time_unit": unit, "delimiter": written}
    settings |= {"order": given["order"]} if "order" in given else {}
    table = Table(**settings)  # type: ignore[arg-type]  # which checks them
    events = table.load()
    seen["path"], seen["user"] = f"{len(events):,} events", f"{events.n_users:,} users"
    seen["item"] = f"{events.n_items:,} items"
    seen["time"] = "" if columns["time"] else "the rows are taken to be in the order of time"
    seen["time_unit"] = moment
    seen["delimiter"] = "" if usual else f"between {' and '.join(names[:2])}"
    return Guess(table, events, {name: text for name, text in seen.items() if text})


def _layout(path: Path, said: Given) -> tuple[str | None, list[str], bool]:
    """Return the delimiter, the columns, and whether the reader would choose this delimiter by itself."""
    given, found = said.values, layouts(path)
    usual = next(iter(found))
    if "delimiter" in given:
        mark = "\t" if given["delimiter"] == "\\t" else given["delimiter"]
        if mark not in found:
            way = said.way("delimiter", given["delimiter"])
            raise InputError(f"{way}: it is not in the first line of {path}: correct it")
        return mark, found[mark], mark == usual
    fitting = [mark for mark, names in found.items() if _has_both(names, given)]
    if len(fitting) > 1:
        first, second = (f"{mark!r} gives {', '.join(found[mark][:3])}" for mark in fitting[:2])
        way = said.way("delimiter", "D")
        raise InputError(f"{path} has columns by two delimiters, {first} and {second}: decide with {way}")
    best = fitting[0] if fitting else max(found, key=lambda mark: len(found[mark]))
    return best, found[best], best == usual


def _has_both(names: Sequence[str], given: Mapping[str, str]) -> bool:
    return all(given.get(role) in names or recognised(WORDS[role], names) for role in ("user", "item"))


def _column(path: Path, role: str, names: Sequence[str], said: Given) -> str | None:
    given, needed = said.values, role in ("user", "item")
    if role in given:
        if given[role] == NONE and not needed:
            return None
        if given[role] not in names:
            way = said.way(role, given[role])
            raise InputError(f"{way}: {path} has no such column: {did_you_mean(given[role], names)}")
        return given[role]
    taken = [given.get(other) for other in ROLES]
    found = [name for name in dict.fromkeys(recognised(WORDS[role], names)) if name not in taken]
    if len(found) > 1:
        way_out = f"decide with {said.way(role, 'COLUMN')}" + ("" if needed else f" or {said.way(role, NONE)}")
        raise InputError(f"{path}: the {role} could be the column {' or '.join(map(repr, found))}: {way_out}")
    if not found and needed:
        if any(re.fullmatch(r"-?[0-9.]+", name) for name in names):
            shown = ", ".join(names[:4])
            raise InputError(f"{path} seems to have no header ({shown}): put one first, such as user,item,rating,time")
        raise InputError(
            f"{path}: which of its columns ({', '.join(names)}) is the {role} cannot be seen by their names: say it "
            f"with {said.way(role, 'COLUMN')}"
        )
    return found[0] if found else None


def _check_no_times(source: Source, others: Sequence[str], said: Given) -> None:
    """Raise InputError if a column whose name does not say so holds times."""
    for column in others:
        shown = _as_time(source, column)
        if shown:
            raise InputError(
                f"{source.path}: the column {column!r} seems to hold the times, such as {shown}: say it with "
                f"{said.way('time', repr(column))}, or leave the times out with {said.way('time', NONE)}"
            )


def _as_time(source: Source, column: str) -> str:
    """Return the first value of a column that holds times, otherwise an empty text."""
    raw = _numbers(source, column)
    if raw is not None:
        return f"{raw[0]:.0f}" if units_of(float(np.median(raw))) else ""
    with suppress(InputError):
        return _moment(_first(source, column, "iso")[0], "ms")[:10]
    return ""


def _time_unit(source: Source, column: str | None, said: Given) -> tuple[str, str]:
    """Return the unit of a column of times, and which day the first of them is."""
    given = said.values.get("time_unit")
    if column is None:
        return given or "ms", ""
    raw = _numbers(source, column)
    if raw is None:
        return given or "iso", "" if given else f"the first is {_first_day(source, column, said)}"
    unit = given or next(iter(units_of(float(np.median(raw)))), None)
    example = f"{raw[0]:.0f}" if raw[0] == int(raw[0]) else str(raw[0])
    if unit is None:
        other = f"{_moment(raw[0], 'ms')} if it counts ms"
        if re.fullmatch(r"(19|20)\d{6}", example):
            other = f"{example[:4]}-{example[4:6]}-{example[6:]} if it is a date (iso)"
        raise InputError(
            f"{source.path}: the unit of the times in column {column!r} is unclear, {example} is "
            f"{_moment(raw[0], 's')} if it counts s and {other}: decide with "
            f"{said.way('time_unit', '|'.join([*UNITS, 'iso']))}, or leave the times out with {said.way('time', NONE)}"
        )
    return unit, f"{example} is {_moment(raw[0], unit)[:10]}" if unit in UNITS else ""


def _first_day(source: Source, column: str, said: Given) -> str:
    try:
        return _moment(_first(source, column, "iso")[0], "ms")[:10]
    except InputError as error:
        raise InputError(f"{error}, or leave the times out with {said.way('time', NONE)}") from error


def _moment(value: float, unit: str) -> str:
    return str(np.datetime64(int(min(value * NANOSECONDS[unit] / 1e9, 2e11)), "s"))


def _numbers(source: Source, column: str) -> Array | None:
    """Return the first values of a column, whole numbers exactly; None if one is not a number."""
    for kind in ("whole", "double"):
        with suppress(InputError):
            found = _first(source, column, kind)
            return found if np.isfinite(found).all() else None
    return None


def _first(source: Source, column: str, kind: str) -> Array:
    """Return the first values of a column, by which the file need not be read twice.

    Raises:
        InputError: One is missing or not of this kind.
    """
    rows = first_rows(source, _BYTES)
    where = f"{source.path}: column {column!r}"
    if rows.column_names.count(column) != 1 or not len(rows):
        raise InputError(f"{where} cannot be read: correct the file")
    words = rows[column]
    if pa.types.is_string(words.type):
        words = pc.if_else(pc.is_in(words, pa.array(MISSING)), pa.scalar(None, pa.string()), words)
    return convert(words, kind, where)


def _about_opinions(source: Source, column: str) -> str:
    numbers = _numbers(source, column)
    span = "" if numbers is None else f" ({numbers.min():g} to {numbers.max():g})"
    return f"every row counts alike: as the weight, a low {column}{span} would be a hit too, of less gain"
