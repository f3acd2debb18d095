"""Reads named columns of a CSV, TSV or Parquet file, with one-sentence errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recx.core.clock import NANOSECONDS
from recx.core.errors import InputError, did_you_mean
from recx.core.precision import WHOLE, floats_of
from recx.core.room import AN_EVENT, OF_TEXT, say_if_short_of_memory
from recx.core.types import Array
from recx.storage.readers.columns import MISSING, convert
from recx.storage.readers.content import content, refuse_bomb
from recx.storage.readers.delimited import Delimited, from_header, names_of, refuse_nul

_UNIT = "\x1f"
_MARKS = ("\t", ",", ";", "|")
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".inter": "\t", ".data": "\t"}


@dataclass(frozen=True)
class Source:
    """A file of named columns.

    Attributes:
        path: The file.
        delimiter: The text between columns; None: derived from the file's name or else from its first line.
        names: The columns of a file without a header; further columns are an error.
        setting: The setting that gives the delimiter, for errors.
        data: Its bytes, where they have been read already.
    """

    path: Path
    delimiter: str | None = None
    names: tuple[str, ...] | None = None
    setting: str = ""
    data: memoryview | None = None


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
    data = content(source.path) if source.data is None else source.data
    is_parquet = bytes(data[:4]) == b"PAR1"
    columns = _parquet(source.path, data, kinds) if is_parquet else _text(source, data, kinds, notes)
    found = {}
    for name, column in columns:
        if not len(column) and not may_be_empty:
            raise InputError(f"{source.path} has a header but no rows: give a file with at least one event")
        found[name] = convert(column, kinds[name], f"{source.path}: column {name!r}")
        del column
    for name, values in found.items():
        if kinds[name].startswith("number") and (np.abs(values) >= WHOLE).any():
            _refuse_inexact(source, name)
    return found


def _refuse_inexact(source: Source, name: str) -> None:
    """Refuse whole numbers that float64 does not hold, which would become equal to their neighbours."""
    whole = np.zeros(0)
    with suppress(InputError):  # some are decimal numbers
        whole = read(source, {name: "whole?"}, notes={})[name]
    floats_of(whole, f"{source.path}: column {name!r}")


def columns_of(source: Source, needed: Iterable[str]) -> list[str]:
    """Return the columns of a file by the delimiter by which ``read`` finds the needed ones (raises like ``read``)."""
    data = content(source.path) if source.data is None else source.data
    if bytes(data[:4]) == b"PAR1":
        return list(_parquet_file(source.path, data).schema_arrow.names)
    return _delimited(source, data, dict.fromkeys(needed, "id")).names


def settled(source: Source, needed: Iterable[str]) -> Source:
    """Return a source with the delimiter by which ``read`` finds the needed columns (raises like ``read``)."""
    data = content(source.path) if source.data is None else source.data
    if bytes(data[:4]) == b"PAR1":
        return source
    mark = _delimited(source, data, dict.fromkeys(needed, "id")).delimiter
    return replace(source, delimiter="::" if mark == _UNIT else mark)


def read_texts(source: Source) -> pa.Table:
    """Return all columns as texts (raises like ``read``).

    A row that lacks its last columns, which are then empty, comes last.
    """
    data = content(source.path) if source.data is None else source.data
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

    A Parquet file has no delimiter: it has one layout, with the key None.

    Raises:
        InputError: The file is missing, empty, binary or damaged.
    """
    data = content(path) if data is None else data
    if bytes(data[:4]) == b"PAR1":
        return {None: _parquet_file(path, data).schema_arrow.names}
    header = _header(path, data)
    others = [mark for mark in (*_MARKS, "::") if mark in header] or [mark for mark in " " if mark in header]
    marks = dict.fromkeys([_delimiter(path, header), *others])
    return {mark: names_of(header, mark) for mark in marks}


def _require_columns(path: Path, kinds: Mapping[str, str], present: list[str], hint: str = "") -> list[str]:
    for name, kind in kinds.items():
        if name not in present and not kind.endswith("?"):
            raise InputError(f"{path}: column {name!r} is missing{hint}; {did_you_mean(name, present)}")
        if present.count(name) > 1:
            times = present.count(name)
            raise InputError(f"{path}: column {name!r} occurs {times} times in the header: keep one of them")
    return [name for name in kinds if name in present]


def _parquet(path: Path, data: memoryview, kinds: Mapping[str, str]) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Yield each column, read when it is asked for: of a large table only one column is in memory twice."""
    file = _parquet_file(path, data)
    columns = _require_columns(path, kinds, file.schema_arrow.names)
    refuse_bomb(path, file.metadata, len(columns))
    say_if_short_of_memory(f"reading {path.name}", file.metadata.num_rows * AN_EVENT)
    for name in columns:
        with _whole_parquet(path):
            column = file.read(columns=[name]).column(name)
        yield name, column
        del column  # before the next one is read
        pa.default_memory_pool().release_unused()  # which Arrow keeps for itself otherwise


def _parquet_file(path: Path, data: memoryview) -> pq.ParquetFile:
    with _whole_parquet(path):
        return pq.ParquetFile(pa.py_buffer(data))


@contextmanager
def _whole_parquet(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} is a damaged Parquet file ({reason}): fetch or write it again") from error


def _text(
    source: Source, data: memoryview, kinds: Mapping[str, str], notes: dict[str, int] | None
) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Yield each column; the text is parsed at once."""
    refuse_nul(source.path, data)
    say_if_short_of_memory(f"reading {source.path.name}", len(data) * OF_TEXT)
    text = _delimited(source, data, kinds)
    if not {name for name, kind in kinds.items() if not kind.endswith("?")} <= set(text.names):
        _refuse_untitled(source.path, text.names, kinds)
    columns = _require_columns(source.path, kinds, text.names, _hint(source, text))
    table, n = text.read({name: _FAST[kinds[name].removesuffix("?").split()[-1]] for name in columns}, nulls=MISSING)
    if n and notes is None:
        raise _repeated(source.path, n)
    if n and notes is not None:
        notes["repeated_headers"] = n
    for name in columns:
        column, table = table.column(name), table.drop_columns([name])
        yield name, column
        del column
        pa.default_memory_pool().release_unused()


def _delimited(source: Source, data: memoryview, kinds: Mapping[str, str]) -> Delimited:
    """Return the text with its delimiter: the one that is set, or the usual one, or the only one that fits."""
    path, header = source.path, _header(source.path, data)
    delimiter = source.delimiter or _delimiter(path, header)
    needed = {name for name, kind in kinds.items() if not kind.endswith("?")}
    if not source.delimiter and not source.names and not needed <= set(names_of(header, delimiter)):
        fitting = [mark for mark in (*_MARKS, "::", " ") if needed <= set(names_of(header, mark))]
        delimiter = fitting[0] if len(fitting) == 1 else delimiter
    if delimiter == "::":  # Arrow takes one character
        return Delimited(path, memoryview(bytes(data).replace(b"::", _UNIT.encode())), _UNIT, source.names)
    return Delimited(path, data, delimiter, source.names)


def _refuse_untitled(path: Path, names: list[str], kinds: Mapping[str, str]) -> None:
    if names[0][:1] in ("{", "["):
        raise InputError(
            f"{path} holds JSON, not a table: write it as CSV or Parquet with the columns {', '.join(kinds)}"
        )
    names = names if len(names) > 1 else names[0].split()
    if any(re.fullmatch(r"-?\d+(\.\d*)?|\d{4}-\d\d-\d\d.*", name) for name in names):
        shown = ", ".join(names[:4])
        raise InputError(f"{path} seems to have no header ({shown}): put one first that names {', '.join(kinds)}")


def _hint(source: Source, text: Delimited) -> str:
    """Return what may be the reason if a column is missing."""
    header = _header(source.path, text.data)
    others = [mark for mark in _MARKS if mark in header and text.delimiter not in header]
    hint = f" and the header is not separated by {text.delimiter!r} but, it seems, by {others[0]!r}" if others else ""
    return hint + (f" (set {source.setting}={others[0]!r})" if others and source.setting else "")


_FAST = {
    "id": pa.dictionary(pa.int32(), pa.string()),
    "number": pa.float64(),
    "double": pa.float64(),
    **dict.fromkeys(("text", "iso", "dmy", "mdy", "excel"), pa.string()),
    **dict.fromkeys(("whole", "code", *NANOSECONDS), pa.int64()),
}


def _header(path: Path, data: memoryview) -> str:
    try:
        return re.split(rb"[\r\n]", bytes(from_header(data)[: 1 << 20]), maxsplit=1)[0].decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start} of its header): save it as UTF-8") from error


def _delimiter(path: Path, header: str) -> str:
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    return _DELIMITERS.get(ending) or next((mark for mark in _MARKS if mark in header), ",")
