"""Turns a file's columns into arrays: ids, whole numbers, numbers and times, with errors that name the row.

A column's *kind* is one of ``id`` (whole numbers if the whole column is written so, else text), ``whole`` (int64),
``code`` (int64, also where it was written as 4.0), ``number`` (float32), ``double`` (float64, infinite ones too) or a
time unit: ``ms``, ``s``, ``us``, ``ns`` (numbers) or ``iso`` (dates such as 2017-10-01T03:00:00Z); times come out as
int64 unix milliseconds. A ``?`` behind the kind says that the column may be absent and its values missing: they become
-1 (whole, code), ``UNKNOWN_TIME`` (times) or NaN (number, double). Rows are counted from 1, without the header.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.entities import UNKNOWN_TIME
from recx.core.errors import InputError
from recx.core.types import Array, Bools, Doubles, Floats, Longs

MISSING = ("", "nan", "NaN", "<NA>", "None", "null", "NULL")
"""How files write that a value is missing."""

TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""Ticks of a second in each time unit."""

TimeUnit = Literal["s", "ms", "us", "ns", "iso"]

LATEST = 2**62
"""The latest time, in ms: twice as much does not fit into an int64."""

_WHOLE = r"^\s*-?\d{1,18}\s*$"
_NUMBER = r"^\s*-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
_PLAIN_WHOLE = r"^(0|-?[1-9]\d{0,17})$"  # no leading zero: 007 is a name, not the number 7
_FLOATED = r"^-?\d+\.0*$|^-?\d+(\.\d+)?[eE][-+]?\d+$"


def convert(column: pa.ChunkedArray, kind: str, where: str) -> Array:
    """Return the array [n] of a column of this kind; ``where`` names file and column in errors.

    Raises:
        InputError: a value is missing or not of this kind, or the times are in another unit.
    """
    optional, kind = kind.endswith("?"), kind.removesuffix("?")
    if column.null_count and not optional:
        _refuse(where, pc.is_null(column), *_MISSING)
    if pa.types.is_null(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_dictionary(column.type) and not _is_text(column.type.value_type):
        column = column.cast(column.type.value_type)
    try:
        return _CONVERT[kind](column, where) if kind in _CONVERT else _times(column, kind, where)
    except pa.ArrowException as error:
        raise InputError(f"{where} cannot be used ({str(error).splitlines()[0]}): correct the column") from error


def ids_of(words: list[str], where: str, line: Longs | None = None) -> Array:
    """Return ids [n] written as words: whole numbers if all are, else text.

    line: the line that each word stands on [n], for errors; None: its place in the list.

    Raises:
        InputError: an id says that it is missing, or the ids were written as decimal numbers.
    """
    return _ids(pa.chunked_array([pa.array(words, pa.string())]), where, line)


def _refuse(where: str, bad: Any, what: str, way_out: str, line: Longs | None = None) -> NoReturn:
    raise InputError(f"{where}, {_place(int(np.argmax(np.asarray(bad))), line)}: the value {what}: {way_out}")


def _place(row: int, line: Longs | None) -> str:
    return f"row {row + 1}" if line is None else f"line {line[row]}"


def _require(column: pa.ChunkedArray, pattern: str, where: str, what: str) -> None:
    fits = pc.fill_null(pc.match_substring_regex(column, pattern), True)
    if not pc.all(fits, min_count=0).as_py():
        row = int(np.argmin(np.asarray(fits)))
        raise InputError(
            f"{where}, row {row + 1}: {column[row].as_py()!r} is not {what}: correct the row or take it out"
        )


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _ids(column: pa.ChunkedArray, where: str, line: Longs | None = None) -> Array:
    if pa.types.is_integer(column.type):
        column = column.cast(pa.string()) if pa.types.is_uint64(column.type) else column.cast(pa.int64())
    if pa.types.is_integer(column.type):
        return np.asarray(column)
    if _is_text(column.type):
        column = column.dictionary_encode()
    if not pa.types.is_dictionary(column.type):
        _refuse_type(column, where)
    coded = column.unify_dictionaries().combine_chunks()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    words, codes = coded.dictionary, np.asarray(coded.indices.fill_null(-1))
    if coded.null_count:  # of a column that may have them
        known: Array = np.array([*words.to_pylist(), None], dtype=object)[codes]
        return known
    bare = pc.utf8_trim_whitespace(words)  # the blank in "7, 8" is no part of the number
    missing = np.asarray(pc.is_in(bare, pa.array(MISSING)))
    if missing.any():  # in Parquet and sequences, whose texts are read as they stand
        _refuse(where, missing[codes], *_MISSING, line)
    if _all(bare, _PLAIN_WHOLE):
        numbers: Longs = np.asarray(bare.cast(pa.int64()))[codes]
        return numbers
    if _all(words, f"{_WHOLE}|{_FLOATED}"):
        _refuse_floated(words, where, codes, line)
    texts: Array = words.to_numpy(zero_copy_only=False)[codes]
    return texts


def _all(words: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(words, pattern), min_count=0).as_py())


def _refuse_floated(words: pa.Array, where: str, codes: Array | None = None, line: Longs | None = None) -> None:
    """Refuse whole numbers that passed through floats, such as 1234.0 and 1e+17."""
    floated = np.asarray(pc.fill_null(pc.match_substring_regex(words, _FLOATED), False))
    if floated.any():
        code = int(np.argmax(floated))
        row = code if codes is None else int(np.argmax(codes == code))
        raise InputError(f"{where}, {_place(row, line)}: {words[code].as_py()!r} is a decimal number, {_DECIMAL}")


_MISSING = ("is missing", "fill it in or take the row out")
_DECIMAL = "which loses digits from 2^53 on: write whole numbers (in pandas, .astype('Int64')) or, for ids, text"


def _refuse_type(column: pa.ChunkedArray, where: str) -> NoReturn:
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        row = int(np.argmax(np.asarray(pc.is_valid(column))))
        raise InputError(f"{where}, row {row + 1}: {column[row].as_py()!r} is stored as a decimal number, {_DECIMAL}")
    raise InputError(f"{where} holds values of type {column.type}: they must be whole numbers or text")


def _whole(column: pa.ChunkedArray, where: str) -> Longs:
    column = _plain(column)
    if _is_text(column.type):
        _refuse_floated(column, where)
        _require(column, _WHOLE, where, "a whole number")
        column = pc.utf8_trim_whitespace(column)
    elif not pa.types.is_integer(column.type):
        _refuse_type(column, where)
    return np.asarray(column.cast(pa.int64()).fill_null(-1))


def _code(column: pa.ChunkedArray, where: str) -> Longs:
    """Take small whole numbers that became floats beside missing values, as pandas writes them."""
    numbers = np.asarray(_doubles(column, where).fill_null(-1.0))
    broken = ~(np.abs(numbers) < 2**53) | (numbers != np.rint(numbers))
    if broken.any():
        _refuse(where, broken, "is not a whole number", "correct the row or leave it empty")
    return numbers.astype(np.int64)


def _number(column: pa.ChunkedArray, where: str) -> Floats:
    number = np.asarray(_doubles(column, where).fill_null(np.nan), dtype=np.float32)
    if np.isinf(number).any():
        _refuse(where, np.isinf(number), "is infinite", "correct it or take the row out")
    return number


def _double(column: pa.ChunkedArray, where: str) -> Doubles:
    return np.asarray(_doubles(column, where).fill_null(np.nan), dtype=np.float64)


def _doubles(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    column = _plain(column)
    if _is_text(column.type):
        _require(column, _NUMBER, where, "a number")
        column = pc.utf8_trim_whitespace(column)
    elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"{where} holds values of type {column.type}: they must be numbers")
    return column.cast(pa.float64())


_CONVERT: Mapping[str, Callable[[Any, str], Array]] = {
    "id": _ids,
    "whole": _whole,
    "code": _code,
    "number": _number,
    "double": _double,
}


def _times(column: pa.ChunkedArray, unit: str, where: str) -> Longs:
    column = _plain(column)
    known = np.asarray(pc.is_valid(column))
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):  # it knows its own unit
        ms = np.asarray(column.cast(pa.timestamp("ms"), safe=False).cast(pa.int64()).fill_null(0)).astype(np.int64)
    elif unit == "iso":
        ms = _dates(column, where)
    else:
        ms = _ticks(column, unit, where, known)
    if (ms[known] < 0).any():
        row = int(np.argmax((ms < 0) & known))
        raise InputError(
            f"{where}, row {row + 1}: the time {column[row].as_py()} lies before 1970: correct the row or take it out"
        )
    return np.where(known, ms, UNKNOWN_TIME)


def _dates(column: pa.ChunkedArray, where: str) -> Longs:
    import pandas as pd

    if not _is_text(column.type):
        raise InputError(f"{where} holds numbers, not dates: set the unit they count in, such as dataset.time_unit=ms")
    text = pd.Series(column.to_numpy(), dtype=object)
    dates = pd.to_datetime(text, format="ISO8601", utc=True, errors="coerce")
    bad = dates.isna() & text.notna()
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{where}, row {row + 1}: {text[row]!r} is not a date such as 2017-10-01T03:00:00Z: correct the row"
        )
    ms: Longs = dates.dt.tz_convert(None).to_numpy().astype("datetime64[ms]").astype(np.int64)
    return ms


def _ticks(column: pa.ChunkedArray, unit: str, where: str, known: Bools) -> Longs:
    """Return milliseconds of numeric times; whole numbers never pass through a float."""
    if _is_text(column.type):
        _require(column, _NUMBER, where, "a time (a number): for dates set dataset.time_unit=iso; else")
        whole = pc.all(pc.match_substring_regex(column, _WHOLE), min_count=0).as_py()
        column = pc.utf8_trim_whitespace(column).cast(pa.int64() if whole else pa.float64())
    if not pa.types.is_integer(column.type):
        column = _doubles(column, where)
    raw = np.asarray(column.fill_null(0))
    if raw.dtype.kind == "f" and not np.isfinite(raw).all():
        _refuse(where, ~np.isfinite(raw), "is not finite", "correct the row or take it out")
    _check_unit(raw, unit, where, known)
    limit = min(LATEST * TICKS[unit] // 1_000, np.iinfo(np.int64).max)
    if (np.abs(raw) > limit).any():
        _refuse(where, np.abs(raw) > limit, f"is too large for a time in {unit}", "correct the row or take it out")
    if raw.dtype.kind == "f":
        return np.rint(raw * (1_000 / TICKS[unit])).astype(np.int64)
    raw = raw.astype(np.int64)
    return raw * 1_000 if unit == "s" else raw // (TICKS[unit] // 1_000)


def _check_unit(raw: Array, unit: str, where: str, known: Bools) -> None:
    """Refuse dates of 1980 to 2096 in another unit than the one that is set: nearly all of the times, or single ones.

    Times of which the middle four fifths spread more widely than dates do are no dates but count from some start.
    """

    def dates_in(name: str) -> Bools:
        dates: Bools = known & (raw >= 3.2e8 * TICKS[name]) & (raw <= 4e9 * TICKS[name])
        return dates

    if not known.any() or dates_in(unit)[known].all():
        return
    low, high = np.quantile(raw[known][:: len(raw) // 100_000 + 1], (0.1, 0.9))
    usual = [name for name, ticks in TICKS.items() if 3.2e8 * ticks <= low <= high <= min(4e9 * ticks, 4 * low)]
    for name in usual:
        if name != unit:
            example = raw[np.argmax(dates_in(name))]
            raise InputError(
                f"{where}: times such as {example} count {name}, not {unit} as dataset.time_unit says: "
                f"set dataset.time_unit={name}"
            )
        for other in TICKS:
            odd = dates_in(other)
            if other != unit and odd.any():
                what = f"{raw[np.argmax(odd)]} counts {other} where the others count {unit}"
                _refuse(where, odd, what, "correct the row or take it out")
