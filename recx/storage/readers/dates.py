"""Reads dates as people and programs write them: ISO 8601 and its relatives, numbers such as 20170701, names of months.

A date without a zone is in UTC. Where a day and a month could be either, the whole column decides; if it does not, the
column is refused.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.errors import InputError
from recx.core.types import Array, Bools, Longs

_TIME = (
    r"(?:[T ,:]+(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9})\d*)?)?)?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?)?"
)
_OFFSET = r"(?P<offset>[-+]\d{1,2}(?::?\d{2})?)(?: ?\(?[a-z][a-z ]*\)?| ?\[[^\]]*\])?"  # what it is called may follow
_EAST = {"wet": 0, "west": 1, "cet": 1, "cest": 2, "eet": 2, "eest": 3, "msk": 3, "jst": 9, "kst": 9}
_ZONES = _EAST | {"est": -5, "edt": -4, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}
"""Name of a zone -> its hours east of Greenwich. CST, IST, BST and others are left out: they mean several zones."""
_ZONE = rf"(?: ?(?:z|utc|gmt)| ?(?P<zone>{'|'.join(_ZONES)})| ?(?:utc|gmt)? ?{_OFFSET})?"
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<name>{'|'.join(_NAMES)})[a-z]*\.?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? +)?"
_PATTERNS = [
    rf"(?i)^\s*\[?{pattern}\]?\s*$"
    for pattern in (
        rf"(?P<year>\d{{4}})[-/. ](?P<month>\d{{1,2}})[-/. ](?P<day>\d{{1,2}}){_TIME}{_ZONE}",
        r"(?P<year>\d{4})(?:(?P<month>\d{2})(?:(?P<day>\d{2})(?:[T ]?(?P<hour>\d{2})(?:(?P<minute>\d{2})"
        rf"(?:(?P<second>\d{{2}})(?:[.,]?(?P<fraction>\d{{1,9}}))?)?)?)?{_ZONE})?)?",
        r"(?P<year>\d{4})[-/](?P<month>\d{1,2})",
        r"(?P<month>\d{1,2})[-/](?P<year>\d{4})",
        rf"{_MONTH}[-/, ]+(?P<year>\d{{4}})",
        rf"(?P<first>\d{{1,2}})[-/. ](?P<then>\d{{1,2}})(?:[-/.]|,? )(?P<year>\d{{4}}|\d{{2}}){_TIME}{_ZONE}",
        rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[-/. ]*{_MONTH}[-/, ]*(?P<year>\d{{4}}){_TIME}{_ZONE}",
        rf"(?P<day>\d{{1,2}})[-/]{_MONTH}[-/](?P<year>\d{{2}}){_TIME}{_ZONE}",
        rf"{_WEEKDAY}{_MONTH} *(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? +(?P<year>\d{{4}}){_TIME}{_ZONE}",
        rf"{_WEEKDAY}{_MONTH} +(?P<day>\d{{1,2}}){_TIME}{_ZONE} +(?P<year>\d{{4}})",
    )
]
_WAY_OUT = "set dataset.time_unit=dmy or dataset.time_unit=mdy"
Parts = dict[str, Any]
"""Name of a part of a date -> its texts [n]."""


def parse(column: pa.ChunkedArray, order: str, where: str) -> Array:
    """Return the dates of a column of texts as ``datetime64`` in us, or in ns if one is that fine; NaT if it is none.

    Args:
        column: The texts.
        order: Whether the day or the month stands first in dates such as 01/07/2017 (``dmy``, ``mdy``); ``iso``: as the
            other dates of the column say.
        where: The file and the column, for errors.

    Raises:
        InputError: Days and months cannot be told apart.
    """
    coded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    words, codes = coded.dictionary, np.asarray(coded.indices.fill_null(-1))
    found = _usual(words)
    other = np.flatnonzero(np.isnat(found))
    if len(other):
        found = _joined(found, other, *_unusual(words.take(pa.array(other)), order, where))
    dates: Array = np.append(found, np.datetime64("NaT"))[codes]  # -1 is the missing one
    return dates


def _usual(words: pa.Array) -> Array:
    """Return the dates of ISO 8601 that pandas knows, which is fast, and NaT for the others."""
    import pandas as pd

    dated = pc.match_substring_regex(words, r"^\s*\d{4}(-\d\d-\d\d|\d{4})($|[T ])")  # pandas knows the word now, too
    texts = pd.Series(pc.if_else(dated, words, None).to_numpy(zero_copy_only=False), dtype=object)
    dates: Array = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce").dt.tz_localize(None).to_numpy()
    return dates if dates.dtype == "datetime64[ns]" else dates.astype("datetime64[us]")


def _joined(found: Array, rows: Longs, microseconds: Longs, nanoseconds: Longs, bad: Bools) -> Array:
    """Return dates with those of some rows, in ns if either are that fine and all can be."""
    fine = found.dtype == "datetime64[ns]" or nanoseconds.any()
    near = np.abs(microseconds) < 2**63 // 1_000 - 1
    if fine:
        found = found.astype("datetime64[ns]")
        ticks, bad = np.where(near, microseconds, 0) * 1_000 + nanoseconds, bad | ~near
    else:
        ticks = microseconds
    found[rows] = np.where(bad, np.datetime64("NaT"), ticks.view(found.dtype))
    return found


def _unusual(words: pa.Array, order: str, where: str) -> tuple[Longs, Longs, Bools]:
    """Return the microseconds since 1970 of other dates, the nanoseconds above them, and which are no dates [n]."""
    parts, matched = _parts(words)
    texts = ("half", "offset", "zone", "name", "fraction")
    numbers = {name: _whole(values) for name, values in parts.items() if name not in texts}
    month, day, year = numbers["month"], numbers["day"], numbers["year"]
    named = np.array([_NAMES.index(name.lower()) + 1 if name else 0 for name in parts["name"]])
    month = np.where(named > 0, named, month)
    short = np.array([len(text) == 2 for text in parts["year"]])
    if short.any() and order == "iso":
        raise InputError(
            f"{where}: {_quoted(words, np.flatnonzero(short))} has a year of two digits: if it stands last, {_WAY_OUT}"
        )
    year = np.where(short, year + np.where(year < 70, 2000, 1900), year)
    last = numbers["first"] > 0
    if last.any():
        order = _order(numbers, last, order, words, where)
        both = (numbers["first"], numbers["then"])
        new_day, new_month = both if order == "dmy" else both[::-1]
        day, month = np.where(last, new_day, day), np.where(last, new_month, month)
    hour, half = numbers["hour"], np.array([text.lower() for text in parts["half"]])
    bad = ~matched | (year < 1900) | ((half != "") & ((hour < 1) | (hour > 12)))
    hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    given = np.array([text != "" for text in parts["day"]]) | last
    alone = np.array([text == "" for text in parts["month"]]) & (named == 0) & ~last
    month, day = np.where(alone, 1, month), np.where(given, day, 1)
    bad |= (month < 1) | (month > 12) | (day < 1) | (hour > 24) | (numbers["minute"] > 59) | (numbers["second"] > 60)
    bad |= (hour == 24) & (numbers["minute"] + numbers["second"] > 0)
    start = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("datetime64[M]")
    bad |= day > (start + 1).astype("datetime64[D]").astype(np.int64) - start.astype("datetime64[D]").astype(np.int64)
    days = start.astype("datetime64[D]").astype(np.int64) + day - 1
    seconds = ((days * 24 + hour) * 60 + numbers["minute"]) * 60 + numbers["second"]
    seconds -= _offsets(parts["offset"]) + 3_600 * np.array([_ZONES.get(name.lower(), 0) for name in parts["zone"]])
    fraction = _whole([text.ljust(9, "0") for text in parts["fraction"]])
    return seconds * 1_000_000 + fraction // 1_000, fraction % 1_000, bad


def _parts(words: pa.Array) -> tuple[Parts, Bools]:
    """Return the parts of every date by the first pattern that fits, and which are fitted [n]."""
    names = {name for pattern in _PATTERNS for name in re.findall(r"\(\?P<(\w+)>", pattern)}
    parts: Parts = {name: np.full(len(words), "", dtype=object) for name in names}
    matched = np.zeros(len(words), dtype=bool)
    for pattern in _PATTERNS:
        if matched.all():
            break
        struct = pc.extract_regex(words, pattern)
        new = np.asarray(pc.is_valid(struct)) & ~matched
        for name in re.findall(r"\(\?P<(\w+)>", pattern):
            texts = pc.fill_null(pc.struct_field(struct, name), "").to_numpy(zero_copy_only=False)
            parts[name][new] = texts[new]
        matched |= new
    return parts, matched


def _whole(texts: Any) -> Longs:
    return np.array([int(text or 0) for text in texts], dtype=np.int64)


def _offsets(texts: Any) -> Longs:
    """Return the seconds east of Greenwich of texts such as +02:00, -0530 and +2."""
    digits = [text.replace(":", "") for text in texts]
    hours = _whole([text[:3] for text in digits])
    minutes = _whole([text[3:] for text in digits]) * np.array([-1 if text[:1] == "-" else 1 for text in digits])
    seconds: Longs = (hours * 60 + minutes) * 60
    return seconds


def _order(numbers: dict[str, Longs], last: Bools, order: str, words: pa.Array, where: str) -> str:
    """Return whether the day or the month is first in dates with the year last."""
    if order != "iso":
        return order
    first, then = numbers["first"], numbers["then"]
    day_first, month_first = (np.flatnonzero(last & (part > 12)) for part in (first, then))
    unlike = np.flatnonzero(last & (first != then))
    if len(day_first) and len(month_first):
        raise InputError(
            f"{where}: in {_quoted(words, day_first)} the day stands first, in {_quoted(words, month_first)} the "
            "month: write all dates in one way, such as 2017-12-31"
        )
    if not len(day_first) and not len(month_first) and len(unlike):
        a, b, year = (int(part[unlike[0]]) for part in (first, then, numbers["year"]))
        raise InputError(
            f"{where}: {_quoted(words, unlike)} is {year}-{b:02}-{a:02} if the day stands first, {year}-{a:02}-{b:02} "
            f"if the month does, and no date of the column tells which: {_WAY_OUT}"
        )
    return "mdy" if len(month_first) else "dmy"


def _quoted(words: pa.Array, rows: Longs) -> str:
    return repr(words[int(rows[0])].as_py())
