"""Reads named columns of a table, whatever its format, with one-sentence errors.

A table is delimited text, JSON, Parquet or Arrow, in one file or in several with the same columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from recx.core.clock import NANOSECONDS
from recx.core.errors import InputError, did_you_mean
from recx.core.precision import WHOLE, floats_of
from recx.core.room import OF_TEXT, say_if_short_of_memory
from recx.core.types import Array
from recx.storage.readers.columnar import Typed, typed
from recx.storage.readers.columns import MISSING, convert
from recx.storage.readers.content import content
from recx.storage.readers.delimited import Delimited, refuse_nul
from recx.storage.readers.joined import joined, same_text
from recx.storage.readers.json_rows import is_json
from recx.storage.readers.marks import MARKS, by_header, fields_of, header_of, usual, with_one_mark


@dataclass(frozen=True)
class Source:
    """A file of named columns, or several.

    Attributes:
        path: The file; of several, what names them.
        delimiter: The text between columns; None: derived from the file's name or else from its first line.
        names: The columns of a file without a header; further columns are an error.
        setting: The setting that gives the delimiter, for errors.
        data: Its bytes, where they have been read already.
        parts: The files, if they are several: sources with the same columns.
    """

    path: Path
    delimiter: str | None = None
    names: tuple[str, ...] | None = None
    setting: str = ""
    data: memoryview | None = None
    parts: tuple[Source, ...] = ()

    @property
    def files(self) -> tuple[Source, ...]:
        """Each of the files."""
        return self.parts or (self,)

    def bytes(self) -> memoryview:
        """Return the content (raises like ``content``)."""
        return content(self.path) if self.data is None else self.data


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
    return _delimited(source, data, dict.fromkeys(needed, "id")).names if table is None else table.names


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
    text = replace(_delimited(source, data, {}), short=True)
    table, n = text.read(dict.fromkeys(text.names, pa.string()))
    if n:
        raise _repeated(source.path, n)
    return table


def _repeated(path: Path, n: int) -> InputError:
    return InputError(f"{path}: {n} of its rows repeat the header: remove them")


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


def _require_columns(path: Path, kinds: Mapping[str, str], present: list[str], hint: str = "") -> list[str]:
    for name, kind in kinds.items():
        if name not in present and not kind.endswith("?"):
            raise InputError(f"{path}: column {name!r} is missing{hint}; {did_you_mean(name, present)}")
        if present.count(name) > 1:
            times = present.count(name)
            raise InputError(f"{path}: column {name!r} occurs {times} times in the header: keep one of them")
    return [name for name in kinds if name in present]


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
    yield from _text(source, data, kinds, notes) if table is None else _typed(source.path, table, kinds, more)


def _typed(
    path: Path, table: Typed, kinds: Mapping[str, str], more: Sequence[str]
) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Yield each column, read when it is asked for: of a large table only one column is in memory twice.

    ``more``: columns that another file has, and whose values all rows of this one lack.
    """
    names = table.names
    for name in _require_columns(path, kinds, [*names, *(name for name in more if name not in names)]):
        column = table.column(name, kinds[name])
        yield name, column
        del column  # before the next one is read
        pa.default_memory_pool().release_unused()  # which Arrow keeps for itself otherwise


def _text(
    source: Source, data: memoryview, kinds: Mapping[str, str], notes: dict[str, int] | None
) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Yield each column; the text is parsed at once."""
    refuse_nul(source.path, data)
    say_if_short_of_memory(f"reading {source.path.name}", len(data) * OF_TEXT)
    text = _delimited(source, data, kinds)
    if not {name for name, kind in kinds.items() if not kind.endswith("?")} <= set(text.names):
        _refuse_untitled(source, text.names, kinds)
    columns = _require_columns(source.path, kinds, text.names, _hint(source, text))
    table, n = text.read({name: _FAST[kinds[name].removesuffix("?").split()[-1]] for name in columns}, nulls=MISSING)
    if n and notes is None:
        raise _repeated(source.path, n)
    if n and notes is not None:
        notes["repeated_headers"] = notes.get("repeated_headers", 0) + n
    for name in columns:
        column, table = table.column(name), table.drop_columns([name])
        yield name, column
        del column
        pa.default_memory_pool().release_unused()


def _delimited(source: Source, data: memoryview, kinds: Mapping[str, str]) -> Delimited:
    """Return the text with its delimiter: the one that is set, or the usual one, or the only one that fits."""
    path, header = source.path, header_of(source.path, data)
    needed = {name for name, kind in kinds.items() if not kind.endswith("?")}
    mark = source.delimiter or (usual(path, header) if source.names else by_header(path, header, needed))
    data, mark = with_one_mark(path, data, mark)
    return Delimited(path, data, mark, source.names)


def _refuse_untitled(source: Source, names: list[str], kinds: Mapping[str, str]) -> None:
    wanted = ", ".join(kinds)
    if source.names is not None:
        return
    if names[0][:1] in ("{", "["):
        raise InputError(f"{source.path} holds JSON, not a table: write one object a line, with the keys {wanted}")
    names = names if len(names) > 1 else names[0].split()
    if any(re.fullmatch(r"-?\d+(\.\d*)?|\d{4}-\d\d-\d\d.*", name) for name in names):
        shown = ", ".join(names[:4])
        way_out = f"put one first that names {wanted}"
        if source.setting:
            way_out += ", or set dataset.header=false and name its columns by number, from 0"
        raise InputError(f"{source.path} seems to have no header ({shown}): {way_out}")


def _hint(source: Source, text: Delimited) -> str:
    """Return what may be the reason if a column is missing."""
    header = header_of(source.path, text.data)
    others = [mark for mark in MARKS if mark in header and text.delimiter not in header]
    hint = f" and the header is not separated by {text.delimiter!r} but, it seems, by {others[0]!r}" if others else ""
    return hint + (f" (set {source.setting}={others[0]!r})" if others and source.setting else "")


_FAST = {
    "id": pa.dictionary(pa.int32(), pa.string()),
    "number": pa.float64(),
    "double": pa.float64(),
    **dict.fromkeys(("text", "iso", "dmy", "mdy", "excel"), pa.string()),
    **dict.fromkeys(("whole", "code", *NANOSECONDS), pa.int64()),
}
