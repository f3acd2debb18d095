"""Reads named columns of a table, whatever its format, with one-sentence errors.

A table is delimited text, JSON, Parquet or Arrow, in one file or in several with the same columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from recx.core.errors import InputError
from recx.core.precision import WHOLE, floats_of
from recx.core.types import Array
from recx.storage.readers.columnar import Typed, typed
from recx.storage.readers.columns import convert
from recx.storage.readers.content import content
from recx.storage.readers.joined import joined, same_text
from recx.storage.readers.json_rows import is_json
from recx.storage.readers.marks import MARKS, by_header, fields_of, header_of, usual
from recx.storage.readers.sources import Source, delimited, repeated, require_columns, text_columns
from recx.storage.readers.text_bytes import refuse_nul


def read(
    source: Source, kinds: Mapping[str, str], *, may_be_empty: bool = False, notes: dict[str, int] | None = None
) -> dict[str, Array]:
    """Return named columns, all of one length [n].

    Args:
        source: The file.
        kinds: Column -> kind (see ``recx.storage.readers.columns``).
        may_be_empty: Accept a file without rows.
        notes: Where rows that repeat the header are counted (``repeated_headers``); None: they are an error.

    Raises:
        InputError: The file is missing, empty, binary, damaged or not a table, a column is missing, or a value is not
            of its column's kind.
    """
    found = {}
    for name, column in columns_in(source, kinds, notes):
        if not len(column) and not may_be_empty:
            raise InputError(f"{source.path} has a header but no rows: give a file with at least one event")
        found[name] = _converted(source, name, column, kinds[name])
        del column
    for name, values in found.items():
        if kinds[name].startswith("number") and (np.abs(values) >= WHOLE).any():
            _refuse_inexact(source, name)
    return found


def _converted(source: Source, name: str, column: pa.ChunkedArray, kind: str) -> Array:
    try:
        return convert(column, kind, f"{source.path}: column {name!r}")
    except InputError:
        for part in source.parts:  # one of them names the file, and the row in it
            read(part, {name: kind}, may_be_empty=True, notes={})
        raise


def _refuse_inexact(source: Source, name: str) -> None:
    """Refuse whole numbers that float64 does not hold, which would become equal to their neighbours."""
    whole = np.zeros(0)
    with suppress(InputError):  # some are decimal numbers
        whole = read(source, {name: "whole?"}, notes={})[name]
    floats_of(whole, f"{source.path}: column {name!r}")


def columns_of(source: Source, needed: Iterable[str]) -> list[str]:
    """Return the columns of a file by the delimiter by which ``read`` finds the needed ones (raises like ``read``).

    Of several files of JSON, whose rows may lack a key, they are those of all.
    """
    if source.parts and is_json(source.parts[0].bytes()):
        return list(dict.fromkeys(name for part in source.parts for name in columns_of(part, needed)))
    source = source.files[0]
    data = source.bytes()
    table = typed(source.path, data)
    return delimited(source, data, dict.fromkeys(needed, "id")).names if table is None else table.names


def settled(source: Source, needed: Iterable[str]) -> Source:
    """Return a source with the delimiter by which ``read`` finds the needed columns (raises like ``read``)."""
    if source.parts:
        return replace(source, parts=tuple(settled(part, needed) for part in source.parts))
    data = source.bytes()
    if typed(source.path, data) is not None:
        return source
    header = header_of(source.path, data)
    return replace(source, delimiter=source.delimiter or by_header(source.path, header, set(needed)))


def first_rows(source: Source, n_bytes: int) -> pa.Table:
    """Return some first rows of the (first) file; of a text as texts, from about its first ``n_bytes``."""
    source = source.files[0]
    data = source.bytes()
    table = typed(source.path, data)
    if table is not None:
        return table.first()
    end = bytes(data[:n_bytes]).rfind(b"\n") + 1 if len(data) > n_bytes else 0
    if end:
        with suppress(InputError):  # a quoted text may be cut in two
            return read_texts(replace(source, data=data[:end]))
    with suppress(InputError):  # reported where the columns are read
        return read_texts(replace(source, data=data))
    return pa.table({})


def read_texts(source: Source) -> pa.Table:
    """Return all columns as texts (raises like ``read``).

    A row that lacks its last columns, which are then empty, comes last.
    """
    data = source.bytes()
    refuse_nul(source.path, data)
    text = replace(delimited(source, data, {}), short=True)
    table, n = text.read(text.names)
    if n:
        raise repeated(source.path, n)
    return table


def layouts(path: Path, data: memoryview | None = None) -> dict[str | None, list[str]]:
    """Return the columns that a file has by each delimiter in its header, first of all that which ``read`` goes by.

    A table that is no delimited text has one layout, with the key None.

    Raises:
        InputError: The file is missing, empty, binary or damaged.
    """
    data = content(path) if data is None else data
    table = typed(path, data)
    if table is not None:
        return {None: table.names}
    header = header_of(path, data)
    others = [mark for mark in (*MARKS, "::") if mark in header] or [mark for mark in " " if mark in header]
    marks = dict.fromkeys([usual(path, header), *others])
    return {mark: fields_of(header, mark) for mark in marks}


def columns_in(
    source: Source, kinds: Mapping[str, str], notes: dict[str, int] | None, *, is_part: bool = False
) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Yield each column as it is stored, of all files one after the other (arguments and errors as of ``read``)."""
    if source.parts:
        paths, are_texts = [part.path for part in source.parts], typed(source.path, source.parts[0].bytes()) is None
        somewhere = columns_of(source, kinds)
        kinds = {name: kind for name, kind in kinds.items() if name in somewhere or not kind.endswith("?")}
        for same in zip(*(columns_in(part, kinds, notes, is_part=True) for part in source.parts), strict=True):
            columns = [column for _, column in same]
            yield same[0][0], joined(same_text(columns) if are_texts else columns, paths, same[0][0])
        return
    data = source.bytes()
    table = typed(source.path, data)
    more = [name for name, kind in kinds.items() if kind.endswith("?")] if is_part and is_json(data) else []
    yield from text_columns(source, data, kinds, notes) if table is None else _typed(source.path, table, kinds, more)


def _typed(
    path: Path, table: Typed, kinds: Mapping[str, str], more: Sequence[str]
) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Yield each column, read when it is asked for: of a large table only one column is in memory twice.

    ``more``: columns that another file has, and whose values all rows of this one lack.
    """
    names = table.names
    for name in require_columns(path, kinds, [*names, *(name for name in more if name not in names)]):
        column = table.column(name, kinds[name])
        yield name, column
        del column  # before the next one is read
        pa.default_memory_pool().release_unused()  # which Arrow keeps for itself otherwise
