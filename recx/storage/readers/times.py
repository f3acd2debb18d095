"""Converts a column of times: numbers that count a unit, dates, timestamps. No digit is lost on the way.

Texts of decimal numbers are never read as floats, and floats only where they are exact. The result is ``datetime64`` of
the file's own resolution (ms, us or ns), NaT where the value is missing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal, localcontext
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.clock import NANOSECONDS, described, misreading
from recx.core.entities import UNKNOWN_TIME
from recx.core.errors import InputError
from recx.core.types import Array, Bools, Doubles, Longs
from recx.storage.readers.arrays import array_of
from recx.storage.readers.dates import parse
from recx.storage.readers.numerals import whole_numbers

TimeUnit = Literal["d", "h", "m", "s", "ms", "us", "ns", "iso", "dmy", "mdy", "excel"]
TIME_UNITS: tuple[str, ...] = get_args(TimeUnit)

LATEST = 2**62
"""The latest time, in ms: twice that does not fit into int64."""

_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
_WHOLE = r"^\s*[-+]?\d{1,18}\s*$"
_NAMED_ZONE = re.compile(r":\d\d[.,\d]* ?(?!AM|PM)([A-Z]{2,5}|[A-Za-z]+/[A-Za-z_/]+)( \d{4})?\s*$")
_SERIAL = (25_569, 73_050)  # days of a spreadsheet: 1970-01-01 and 2099-12-31


def times(column: pa.ChunkedArray, kind: str, where: str) -> Array:
    """Return the times of a column [n].

    Args:
        column: The column as it was read.
        kind: The unit, behind ``relative`` if the numbers count from a start of their own, and behind ``exact`` for
            ``datetime64`` of the file's own resolution instead of int64 milliseconds.
        where: The file and the column, for errors.

    Raises:
        InputError: A value is not a time, lost digits, or counts another unit.
    """
    *words, unit = kind.split()
    relative = "relative" in words
    if relative and unit not in NANOSECONDS:
        raise InputError(
            f"dataset.relative_times=true: {where} would count {unit} from a start of its own: set "
            f"dataset.time_unit={'|'.join(NANOSECONDS)}"
        )
    time = _moments(column, unit, relative, where)
    early = time < np.datetime64(0, "ms")
    if early.any():
        way_out = "add the same number to all" if relative else "correct or remove the row"
        _reject(where, early, f"the time {_first(column, early)} lies before {'0' if relative else '1970'}", way_out)
    if "exact" in words:
        return time
    return np.where(np.isnat(time), UNKNOWN_TIME, time.astype("datetime64[ms]").astype(np.int64))


def exact_times(unit: str, relative: bool) -> str:
    """Return the kind of a column of times for ``read``, at the file's own resolution."""
    return f"exact relative {unit}" if relative else f"exact {unit}"


def _reject(where: str, bad: Any, what: str, way_out: str = "correct or remove the row") -> None:
    raise InputError(f"{where}, row {int(np.argmax(np.asarray(bad))) + 1}: {what}: {way_out}")


def _first(column: Any, bad: Any) -> Any:
    return column[int(np.argmax(np.asarray(bad)))].as_py()


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _moments(column: pa.ChunkedArray, unit: str, relative: bool, where: str) -> Array:
    kind = column.type
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.unit == "s"):
        column, kind = column.cast(pa.timestamp("ms")), pa.timestamp("ms")
    if pa.types.is_timestamp(kind):  # it knows its own unit
        ticks = np.asarray(column.cast(pa.int64()).fill_null(np.iinfo(np.int64).min))
        return ticks.view(f"datetime64[{kind.unit}]")
    known = np.asarray(pc.is_valid(column))
    if pa.types.is_duration(kind):
        if not relative:
            raise InputError(
                f"{where} holds durations, which count from a start of their own: set dataset.relative_times=true"
            )
        column, unit = column.cast(pa.int64()), kind.unit
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.string())
    elif pa.types.is_floating(kind):
        column = _unrounded(column, where)
    if unit in ("iso", "dmy", "mdy"):
        return _dates(column, unit, where)
    time = _counted(column, unit, relative, where, known)
    time[~known] = np.datetime64("NaT")
    return time


def _dates(column: pa.ChunkedArray, order: str, where: str) -> Array:
    if pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    if not _is_text(column.type):
        raise InputError(f"{where} holds values of type {column.type}: they must be dates")
    column = pc.replace_substring_regex(column, r"^(\s*\d{4,14})\.0+\s*$", r"\1")  # numbers beside missing ones
    time = parse(column, order, where)
    bad = np.isnat(time) & np.asarray(pc.is_valid(column))
    if not bad.any():
        return time
    numbers = np.asarray(pc.fill_null(pc.match_substring_regex(column, _NUMBER), True))
    if numbers.all():
        example = str(_first(column, bad)).strip()
        raise InputError(
            f"{where} holds numbers such as {example}, not dates: set the unit they count, such as "
            f"dataset.time_unit={_likely_unit(float(example))}"
        )
    what = {"iso": "2017-10-01T03:00:00Z", "dmy": "31/12/2017", "mdy": "12/31/2017"}[order]
    text = _first(column, bad)
    way_out = "write its zone as an offset, such as +01:00" if _NAMED_ZONE.search(text) else "correct or remove the row"
    _reject(where, bad, f"{text!r} is not a date such as {what}", way_out)
    raise AssertionError


def _likely_unit(value: float) -> str:
    found = [name for name in ("s", "ms", "us", "ns") if misreading(np.array([int(value)]), name) is None]
    if _SERIAL[0] <= value <= _SERIAL[1]:
        return "excel"
    return found[0] if found and value >= 3.2e8 else "ms"


def _unrounded(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    """Return floats as whole numbers or as the shortest texts that mean them.

    Raises:
        InputError: One is infinite, or so large that floats of this size skip whole numbers.
    """
    bits = {"halffloat": 11, "float": 24}.get(str(column.type), 53)
    known, raw = np.asarray(pc.is_valid(column)), np.asarray(column.cast(pa.float64()).fill_null(0))
    bad = ~np.isfinite(raw)
    if bad.any():
        _reject(where, bad, "the value is not finite")
    bad = np.abs(raw) >= 2**bits
    if bad.any():
        what = f"{raw[np.argmax(bad)]} is stored as a decimal number, which loses digits from 2^{bits} on"
        _reject(where, bad, what, "write whole numbers or text")
    is_whole, whole = raw == np.rint(raw), pa.array(raw.astype(np.int64), mask=~known)
    if is_whole.all():
        return pa.chunked_array([whole])
    fine = np.abs(raw) < 2**53 / 1e9  # larger ones have no tenth digit, and rounding would move them
    texts = pa.array(np.where(fine, np.round(raw, 9), raw), mask=~known).cast(pa.string())
    return pa.chunked_array([pc.if_else(pa.array(is_whole), whole.cast(pa.string()), texts)])


def _counted(column: pa.ChunkedArray, unit: str, relative: bool, where: str, known: Bools) -> Array:
    """Return the times of numbers."""
    if _is_text(column.type):
        column = _numbers(column, where)
    elif not pa.types.is_integer(column.type):
        raise InputError(f"{where} holds values of type {column.type}: they must be numbers")
    if unit == "excel":
        return _serial(np.asarray(pc.cast(column, pa.float64()).fill_null(_SERIAL[0])), where)
    if pa.types.is_integer(column.type):
        raw = array_of(column, pa.int64())
        _check_unit(raw, unit, relative, where, known)
        factor = max(1, NANOSECONDS[unit] // 1_000_000)
        _check_size((raw > LATEST // factor) | (raw < -(LATEST // factor)), column, unit, where)
        raw *= factor
        return raw.view(f"datetime64[{unit if unit in ('us', 'ns') else 'ms'}]")
    return _fractions(column, unit, relative, where, known)


def _numbers(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    """Return texts of numbers as int64 if they are whole, else as texts without blanks."""
    whole = whole_numbers(column)
    if whole is not None:
        return whole
    bad = ~np.asarray(pc.fill_null(pc.match_substring_regex(column, _NUMBER), True))
    if bad.any():
        what = f"{_first(column, bad)!r} is not a time (a number): for dates set dataset.time_unit=iso; else"
        _reject(where, bad, what)
    column = pc.utf8_ltrim(pc.utf8_trim_whitespace(column), "+")
    if pc.all(pc.match_substring_regex(column, _WHOLE), min_count=0).as_py():
        return column.cast(pa.int64())
    parts = pc.extract_regex(column, r"^-?\d*\.?(?P<digits>\d*)[eE]\+?(?P<power>\d+)$")
    digits, power = (pc.struct_field(parts, name) for name in ("digits", "power"))
    short = pc.less(pc.utf8_length(digits), pc.cast(power, pa.int64()))
    bad = np.asarray(pc.fill_null(short, False))
    if bad.any():
        _reject(where, bad, f"{_first(column, bad)!r} is rounded, so that its last digits are lost", "write all digits")
    return column


def _fractions(column: pa.ChunkedArray, unit: str, relative: bool, where: str, known: Bools) -> Array:
    """Return the times of texts of numbers that are not all whole."""
    rough = np.asarray(column.cast(pa.float64()).fill_null(0))
    exact = NANOSECONDS[unit] <= NANOSECONDS["s"]
    limit = 2**63 // NANOSECONDS[unit] - 1 if exact else LATEST // (NANOSECONDS[unit] // 1_000_000)
    _check_size(np.abs(rough) > limit, column, unit, where)
    if not exact:
        _check_unit(rough.astype(np.int64), unit, relative, where, known)
        whole: Longs = np.rint(rough * (NANOSECONDS[unit] // 1_000_000)).astype(np.int64)
        return whole.view("datetime64[ms]")
    places = len(str(NANOSECONDS[unit])) - 1
    ticks = _as_int64(_cut(column, places).cast(pa.decimal128(38, places)).fill_null(0))
    _check_unit(ticks // NANOSECONDS[unit], unit, relative, where, known)
    return _coarsest(ticks)


def _cut(column: pa.ChunkedArray, places: int) -> pa.ChunkedArray:
    """Return texts of numbers without the digits beyond so many places behind the point."""
    cut = pc.replace_substring_regex(column, rf"(\.\d{{{places}}})\d+", r"\1")
    scaled = np.asarray(pc.fill_null(pc.match_substring(column, "e", ignore_case=True), False))  # 1.500000001234e+12
    if not scaled.any():
        return cut
    step = Decimal(1).scaleb(-places)
    with localcontext(prec=60, rounding=ROUND_DOWN):
        texts = [f"{Decimal(text).quantize(step):f}" for text in column.filter(pa.array(scaled)).to_pylist()]
    return pc.replace_with_mask(cut, pa.array(scaled), pa.array(texts, column.type))


def _as_int64(decimals: pa.ChunkedArray) -> Longs:
    """Return the digits of decimal numbers, without the point, which fit into int64 [n]."""
    chunk = pa.concat_arrays(decimals.chunks) if decimals.num_chunks else pa.array([], decimals.type)
    words = np.frombuffer(chunk.buffers()[1] or b"", dtype="<i8")
    return words[::2][chunk.offset : chunk.offset + len(chunk)].astype(np.int64)


def _coarsest(ticks: Longs) -> Array:
    """Return nanoseconds as times of the coarsest resolution that loses nothing, [n]."""
    for name, size in (("ms", 1_000_000), ("us", 1_000)):
        if not (ticks % size).any():
            return (ticks // size).view(f"datetime64[{name}]")
    return ticks.view("datetime64[ns]")


def _serial(days: Doubles, where: str) -> Array:
    """Return the times of a spreadsheet's days, counted from 1899-12-30."""
    bad = (days < _SERIAL[0]) | (days > _SERIAL[1])
    if bad.any():
        what = f"{days[np.argmax(bad)]:g} is no day of a spreadsheet ({_SERIAL[0]} is 1970-01-01)"
        _reject(where, bad, what, "correct or remove the row, or set another dataset.time_unit")
    return np.rint((days - _SERIAL[0]) * 86_400_000).astype(np.int64).view("datetime64[ms]")


def _check_size(large: Bools, column: Any, unit: str, where: str) -> None:
    if large.any():
        _reject(where, large, f"the value {_first(column, large)} is too large for a time in {unit}")


def _check_unit(raw: Longs, unit: str, relative: bool, where: str, known: Bools) -> None:
    """Reject numbers that are dates in another unit than the one that is set."""
    if relative:
        return
    rows = None if known.all() else np.flatnonzero(known)
    found = misreading(raw if rows is None else raw[rows], unit)
    if found is None:
        return
    if rows is None:
        rows = np.arange(len(raw))
    found = replace(found, row=int(rows[found.row]), other=int(rows[found.other]))
    way_out = "write all in one unit" if found.beside else f"set dataset.time_unit={found.unit}"
    raise InputError(
        f"{where}: {described(found, raw, unit)}: {way_out}, or, if they count {unit} from a start of their own, "
        "dataset.relative_times=true"
    )
