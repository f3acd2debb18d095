"""Converts a file's columns to arrays: ids, whole numbers, numbers and times, with errors that name the row.

A column's *kind* is one of ``id`` (whole numbers if all of them are, else text), ``text``, ``whole`` (int64),
``code`` (int64, also if written as 4.0), ``flag`` (bool: 0 and 1, or false and true), ``number`` (float32, or float64
where that would make distinct numbers equal), ``double`` (float64, may be infinite) or a time unit, such as ``ms`` and
``iso`` (see ``recx.storage.readers.times``); times are returned as int64 unix milliseconds, or with ``exact`` before
the unit as ``datetime64`` of the file's own resolution. With a ``?`` after the kind, the column may be absent, and
values may be missing, but for flags: they become -1 (whole, code), ``UNKNOWN_TIME`` or NaT (times) or NaN (number,
double). Rows are counted from 1, without the header.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.errors import InputError
from recx.core.precision import Reals, narrowed
from recx.core.types import Array, Bools, Doubles, Longs
from recx.storage.readers.arrays import array_of
from recx.storage.readers.numerals import FIRST, numbers, whole_numbers
from recx.storage.readers.odd_ids import odd_ids
from recx.storage.readers.times import times

MISSING = ("", "nan", "NaN", "<NA>", "None", "null", "NULL")
"""Texts for a missing value in files."""

LARGEST = float(np.finfo(np.float32).max)
"""The largest number; beyond it, sums of squares overflow."""

LARGEST_ID = 10**18 - 1
"""The largest whole number that is an id: larger ones are texts."""

_WHOLE = r"^\s*-?\d{1,18}\s*$"
_NUMBER = r"^\s*-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
_COMMA = r"^\s*-?\d+,\d+\s*$"
_GROUPED = r"^\s*-?[1-9]\d{0,2},\d{3}\s*$"
_PLAIN_WHOLE = r"^(0|-?[1-9]\d{0,17})$"  # no leading zero: 007 is a name, not the number 7
_FLOATED = r"^-?\d+\.0*$|^-?\d+(\.\d+)?[eE][-+]?\d+$"


def convert(column: pa.ChunkedArray, kind: str, where: str) -> Array:
    """Return a column as an array [n].

    Args:
        column: The column as it was read.
        kind: The kind of its values.
        where: The file and the column, for errors.

    Raises:
        InputError: A value is missing or not of this kind, or the times are in another unit.
    """
    optional, kind = kind.endswith("?"), kind.removesuffix("?")
    if column.null_count and not optional:
        _reject(where, pc.is_null(column), *_MISSING)
    if pa.types.is_null(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_dictionary(column.type) and not _is_text(column.type.value_type):
        column = column.cast(column.type.value_type)
    try:
        return _CONVERT[kind](column, where) if kind in _CONVERT else times(_plain(column), kind, where)
    except pa.ArrowException as error:
        raise InputError(f"{where} cannot be used ({str(error).splitlines()[0]}): correct the column") from error


def ids_of(words: list[str], where: str, line: Longs | None = None) -> Array:
    """Return ids [n] from texts: whole numbers if all are, else text.

    Args:
        words: The texts.
        where: Their file, for errors.
        line: The text line of each id [n], for errors; None: its position in the list.

    Raises:
        InputError: An id is missing, or the ids were written as decimal numbers.
    """
    return _ids(pa.chunked_array([pa.array(words, pa.string())]), where, line)


def with_decimal_commas(words: Any) -> bool:
    """Return whether some of these texts are numbers with one comma, such as 2,5, and all others whole."""
    return bool(pc.any(pc.match_substring(words, ",")).as_py()) and _all(words, f"{_COMMA}|{_WHOLE}")


def with_thousands(words: Any) -> bool:
    """Return whether each comma in these texts of numbers could separate thousands, as in 1,500."""
    return _all(words, f"{_GROUPED}|{_WHOLE}")


def _reject(where: str, bad: Any, what: str, way_out: str = "correct or remove the row", line: Any = None) -> NoReturn:
    """Raise an error that names the first bad row."""
    row = int(np.argmax(np.asarray(bad)))
    place = f"row {row + 1}" if line is None else f"line {line[row]}"
    raise InputError(f"{where}, {place}: {what}: {way_out}")


def _first(column: Any, bad: Any) -> Any:
    return column[int(np.argmax(np.asarray(bad)))].as_py()


def _require(column: pa.ChunkedArray, pattern: str, where: str, what: str) -> None:
    for some in (column.slice(0, FIRST), column):
        bad = ~np.asarray(pc.fill_null(pc.match_substring_regex(some, pattern), True))
        if bad.any():
            _reject(where, bad, f"{_first(some, bad)!r} is not {what}")


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _ids(column: pa.ChunkedArray, where: str, line: Longs | None = None) -> Array:
    if pa.types.is_integer(column.type):
        if not pa.types.is_uint64(column.type):  # NaN for a missing one in a column that may have such
            return np.asarray(column.cast(pa.int64())) if column.null_count else array_of(column, pa.int64())
        column = column.cast(pa.string())
    if _is_text(column.type):
        plain = None if column.null_count else whole_numbers(column, LARGEST_ID)
        if plain is not None:
            return array_of(plain, pa.int64())
        column = column.dictionary_encode()
    if not pa.types.is_dictionary(column.type):
        _reject_type(column, where)
    coded = column.unify_dictionaries().combine_chunks()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    words, codes = coded.dictionary, np.asarray(coded.indices.fill_null(-1))
    if coded.null_count:  # in a column that may have missing values
        known: Array = np.array([*words.to_pylist(), None], dtype=object)[codes]
        return known
    bare = pc.utf8_trim_whitespace(words)  # the blank in "7, 8" is not part of the number
    missing = np.asarray(pc.is_in(bare, pa.array(MISSING)))
    if missing.any():  # in Parquet and sequences, whose texts are read unchanged
        _reject(where, missing[codes], *_MISSING, line)
    if _all(bare, _PLAIN_WHOLE):
        whole: Longs = np.asarray(bare.cast(pa.int64()))[codes]
        return whole
    if _all(words, f"{_WHOLE}|{_FLOATED}"):
        _reject_floated(words, where, codes, line)
    odd = odd_ids(words, bare, np.asarray(pc.match_substring_regex(bare, _PLAIN_WHOLE)))
    if odd is not None:
        _reject(where, odd[0][codes], f"{_first(words, odd[0])!r} {odd[1]}", line=line)
    texts: Array = words.to_numpy(zero_copy_only=False)[codes]
    return texts


def _all(words: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(words, pattern), min_count=0).as_py())


def _reject_floated(words: pa.Array, where: str, codes: Array | None = None, line: Longs | None = None) -> None:
    """Reject whole numbers that passed through floats, such as 1234.0 and 1e+17."""
    for some in (words.slice(0, FIRST), words):
        floated = np.asarray(pc.fill_null(pc.match_substring_regex(some, _FLOATED), False))
        if floated.any():
            bad = floated if codes is None else codes == np.argmax(floated)
            what = f"{_first(some, floated)!r} is a decimal number, {_DECIMAL}"
            _reject(where, bad, what, _DECIMAL_WAY_OUT, line)


_MISSING = ("the value is missing", "fill it in or remove the row")
_DECIMAL = "which loses digits from 2^53 on"
_DECIMAL_WAY_OUT = "write whole numbers (in pandas, .astype('Int64')) or, for ids, text"


def _reject_type(column: pa.ChunkedArray, where: str) -> NoReturn:
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        known = pc.is_valid(column)
        _reject(where, known, f"{_first(column, known)!r} is stored as a decimal number, {_DECIMAL}", _DECIMAL_WAY_OUT)
    nested = pa.types.is_nested(column.type)
    way_out = "write one row for each of their elements" if nested else "they must be whole numbers or text"
    raise InputError(f"{where} holds values of type {column.type}: {way_out}")


def _texts(column: pa.ChunkedArray, where: str) -> Array:
    return np.asarray(_plain(column).cast(pa.string()), dtype=object)


def _whole(column: pa.ChunkedArray, where: str) -> Longs:
    column = _plain(column)
    if _is_text(column.type):
        found = whole_numbers(column)
        if found is None:
            _reject_floated(column, where)
            _require(column, _WHOLE, where, "a whole number")
            found = pc.utf8_trim_whitespace(column)
        column = found
    elif not pa.types.is_integer(column.type):
        _reject_type(column, where)
    return array_of(column, pa.int64(), -1)


def _code(column: pa.ChunkedArray, where: str) -> Longs:
    """Convert small whole numbers that became floats next to missing values, as pandas writes them."""
    found = array_of(_numerals(column, where), pa.float64(), -1)
    broken = ~(np.abs(found) < 2**53) | (found != np.rint(found))
    if broken.any():
        _reject(where, broken, "the value is not a whole number", "correct it or leave it empty")
    return found.astype(np.int64)


def _flag(column: pa.ChunkedArray, where: str) -> Bools:
    column = _plain(column)
    if pa.types.is_boolean(column.type):
        return array_of(column, pa.bool_())
    if _is_text(column.type):
        words = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        said = np.asarray(pc.is_in(words, pa.array(["true", "false"])))
        if said.all():
            return np.asarray(pc.equal(words, "true"))
    found = array_of(_numerals(column, where), pa.float64(), np.nan)
    odd = (found != 0) & (found != 1)
    if odd.any():
        _reject(where, odd, f"{_first(column, odd)!r} is neither 0 nor 1", "correct it")
    flags: Bools = found == 1
    return flags


def _number(column: pa.ChunkedArray, where: str) -> Reals:
    number = _double(column, where)
    too_large = np.abs(number) > LARGEST
    if too_large.any():
        _reject(where, too_large, "the value is infinite")
    return narrowed(number)


def _double(column: pa.ChunkedArray, where: str) -> Doubles:
    return array_of(_numerals(column, where), pa.float64(), np.nan)


def _numerals(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    """Return numbers, or texts that Arrow reads as such."""
    column = _plain(column)
    if _is_text(column.type):
        found = numbers(column)
        if found is None:
            column = _with_points(column, where)
            _require(column, _NUMBER, where, "a number")
            found = pc.utf8_trim_whitespace(column)
        column = found
    elif not _is_number(column.type):
        raise InputError(f"{where} holds values of type {column.type}: they must be numbers")
    return column


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _with_points(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    """Return numbers written with a decimal comma, if all are such or whole, with a point."""
    words = pc.unique(column.drop_null())
    if not with_decimal_commas(words):
        return column
    if with_thousands(words):
        either = np.asarray(pc.fill_null(pc.match_substring(column, ","), False))
        shown = _first(column, either)
        what = f"{shown!r} could be {shown.replace(',', '')} or {shown.replace(',', '.')}"
        _reject(where, either, what, "write it without the comma, or with a decimal point")
    return pc.replace_substring(column, ",", ".")


_CONVERT: Mapping[str, Callable[[Any, str], Array]] = {
    "id": _ids,
    "text": _texts,
    "whole": _whole,
    "code": _code,
    "flag": _flag,
    "number": _number,
    "double": _double,
}
