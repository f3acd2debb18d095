"""Joins a column of several files, which must be of one nature in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from recx.core.errors import InputError

_FINENESS = ("s", "ms", "us", "ns")


def joined(columns: Sequence[pa.ChunkedArray], paths: Sequence[Path], name: str) -> pa.ChunkedArray:
    """Return a column, the rows of the first file first.

    Args:
        columns: The column of each file.
        paths: The files, for errors.
        name: The column, for errors.

    Raises:
        InputError: It holds texts in one file, and numbers or times in another.
    """
    columns = [_without_dictionary(column) for column in columns] if _differ(columns) else list(columns)
    known = [at for at, column in enumerate(columns) if not pa.types.is_null(column.type)]
    natures = {at: _nature(columns[at].type) for at in known}
    other = next((at for at in known if natures[at] != natures[known[0]]), None)
    if other is not None:
        first = known[0]
        raise InputError(
            f"the column {name!r} is of type {columns[first].type} in {paths[first]}, and {columns[other].type} in "
            f"{paths[other]}: write it as one type in all files"
        )
    if not known or not _differ(columns):
        return pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    kind = _common([columns[at].type for at in known])
    return pa.chunked_array([chunk for column in columns for chunk in column.cast(kind).chunks], kind)


def same_text(columns: Sequence[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
    """Return a column of several delimited texts, as texts where only some files hold numbers."""
    alike = len({_nature(column.type) for column in columns}) == 1
    return list(columns) if alike else [column.cast(pa.string()) for column in columns]


def _differ(columns: Sequence[pa.ChunkedArray]) -> bool:
    return any(column.type != columns[0].type for column in columns)


def _without_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _nature(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind):
        return "floating"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "time"
    return "text" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else str(kind)


def _common(kinds: Sequence[pa.DataType]) -> pa.DataType:
    nature = _nature(kinds[0])
    if nature == "integer":
        return pa.uint64() if pa.uint64() in kinds else pa.int64()
    if nature == "time":
        units = [kind.unit if pa.types.is_timestamp(kind) else "ms" for kind in kinds]
        return pa.timestamp(max(units, key=_FINENESS.index))
    return {"floating": pa.float64(), "text": pa.large_string()}.get(nature, kinds[0])
