"""Reads named columns of a CSV, TSV or Parquet file, plain or gzipped, with one-sentence errors."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from recx.core.errors import InputError, did_you_mean
from recx.core.types import Array
from recx.storage.readers.columns import MISSING, convert

_MAGIC = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a zip archive (or a spreadsheet)",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"(\xb5/\xfd": "a zstandard archive",
    b"\x80\x04\x95": "a pickle",
    b"\x80\x05\x95": "a pickle",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
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
    """

    path: Path
    delimiter: str | None = None
    names: tuple[str, ...] | None = None
    setting: str = ""


def read(source: Source, kinds: Mapping[str, str], *, may_be_empty: bool = False) -> dict[str, Array]:
    """Return named columns, all of one length [n].

    Args:
        source: The file.
        kinds: Column -> kind (see ``recx.storage.readers.columns``).
        may_be_empty: Accept a file without rows.

    Raises:
        InputError: The file is missing, empty, binary, damaged or not a table, a column is missing, or a value is not
            of its column's kind.
    """
    data = content(source.path)
    table = _parquet(source.path, data, kinds) if bytes(data[:4]) == b"PAR1" else _text(source, data, kinds)
    if table.num_rows == 0 and not may_be_empty:
        raise InputError(f"{source.path} has a header but no rows: give a file with at least one event")
    return {
        name: convert(table.column(name), kind, f"{source.path}: column {name!r}")
        for name, kind in kinds.items()
        if name in table.column_names
    }


def layouts(path: Path) -> dict[str | None, list[str]]:
    """Return the columns that a file has by each delimiter in its header, first of all that which ``read`` goes by.

    A Parquet file has no delimiter: it has one layout, with the key None.

    Raises:
        InputError: The file is missing, empty, binary or damaged.
    """
    data = content(path)
    if bytes(data[:4]) == b"PAR1":
        return {None: _parquet_file(path, data).schema_arrow.names}
    header = _header(path, data)
    marks = dict.fromkeys([_delimiter(path, header), *(mark for mark in (*_MARKS, "::") if mark in header)])
    return {mark: header.split(mark) if mark == "::" else _header_names(header, mark) for mark in marks}


def content(path: Path) -> memoryview:
    """Return the bytes of a plain or gzipped file.

    Raises:
        InputError: The file is missing, empty, binary or damaged.
    """
    with readable(path):
        require_file(path)
        data = memoryview(pa.memory_map(str(path)).read_buffer()) if path.stat().st_size else memoryview(b"")
    zipped = bytes(data[:2]) == b"\x1f\x8b"
    if zipped != (path.suffix == ".gz") and len(data):
        way_out = f"call it {path.name}.gz" if zipped else f"call it {path.stem}, or fetch it again"
        raise InputError(f"{path} is {'' if zipped else 'not '}gzipped, contrary to its name: {way_out}")
    if zipped:
        try:
            data = memoryview(gzip.decompress(data))
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"{path} is a damaged gzip file ({error}): fetch or write it again") from error
    head = bytes(data[:4096])
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError(f"{path} is empty: write it again, or name another file")
    if head.startswith(b"PAR1"):
        return data
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if kind or b"\x00" in head:
        what = f"{kind or 'a binary file'}, which is not supported"
        raise InputError(f"{path} is {what}: give text in UTF-8 (or a table as Parquet), plain or .gz")
    return data


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn an error of the system (permissions, a name that is too long) into an ``InputError``."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise InputError(f"{path} cannot be read ({reason}): correct the path or its permissions") from error


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder.

    Raises:
        InputError: The path cannot be accessed.
    """
    with readable(path):
        return path.is_dir()


def require_file(path: Path) -> None:
    """Check that a path is a file.

    Raises:
        InputError: It does not exist (the message names the closest match), is a folder or a device, or a broken link.
    """
    if path.is_file():
        return
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file in it; {did_you_mean('', (p.name for p in path.iterdir()))}")
    if path.is_symlink():
        raise InputError(f"{path} is a link to {path.readlink()}, where there is no file: correct the link")
    if path.exists():
        raise InputError(f"{path} is not a regular file but a pipe or a device: write what it holds into a file")
    if not folder.is_dir():
        raise InputError(f"{path}: there is no folder {folder}: correct the path")
    raise InputError(f"{path}: no such file; {did_you_mean(path.name, (p.name for p in folder.iterdir()))}")


def _require_columns(path: Path, kinds: Mapping[str, str], present: list[str], hint: str = "") -> list[str]:
    for name, kind in kinds.items():
        if name not in present and not kind.endswith("?"):
            raise InputError(f"{path}: column {name!r} is missing{hint}; {did_you_mean(name, present)}")
        if present.count(name) > 1:
            times = present.count(name)
            raise InputError(f"{path}: column {name!r} occurs {times} times in the header: keep one of them")
    return [name for name in kinds if name in present]


def _parquet(path: Path, data: memoryview, kinds: Mapping[str, str]) -> pa.Table:
    file = _parquet_file(path, data)
    columns = _require_columns(path, kinds, file.schema_arrow.names)
    with _whole_parquet(path):
        return file.read(columns=columns)


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


def _text(source: Source, data: memoryview, kinds: Mapping[str, str]) -> pa.Table:
    path, header = source.path, _header(source.path, data)
    delimiter = source.delimiter or _delimiter(path, header)
    if delimiter == "::":  # Arrow takes one character; rating files that use two contain no tabs
        data, header, delimiter = memoryview(bytes(data).replace(b"::", b"\t")), header.replace("::", "\t"), "\t"
    present = list(source.names) if source.names else _header_names(header, delimiter)
    others = [mark for mark in _MARKS if mark in header and delimiter not in header]
    hint = f" and the header is not separated by {delimiter!r} but, it seems, by {others[0]!r}" if others else ""
    hint += f" (set {source.setting}={others[0]!r})" if others and source.setting else ""
    columns = _require_columns(path, kinds, present, hint)
    fast = {name: _FAST[kinds[name].removesuffix("?")] for name in columns}
    parse = pacsv.ParseOptions(delimiter=delimiter)
    buffer = pa.py_buffer(data)

    def parsed(types: Mapping[str, pa.DataType], threads: bool) -> pa.Table:
        reading = pacsv.ReadOptions(use_threads=threads, column_names=source.names and list(source.names))
        missing = {"null_values": list(MISSING), "strings_can_be_null": True}
        converting = pacsv.ConvertOptions(column_types=types, include_columns=list(types), **missing)
        return pacsv.read_csv(pa.BufferReader(buffer), reading, parse, converting)

    try:
        return parsed(fast, threads=True)
    except pa.ArrowInvalid:
        # Read it again, slowly, as text: this finds the row, and accepts numbers such as the time 881250949.0.
        try:
            return parsed(dict.fromkeys(columns, pa.string()), threads=False)
        except pa.ArrowInvalid as error:
            raise InputError(_explanation(source, str(error))) from error


_FAST = {
    "id": pa.dictionary(pa.int32(), pa.string()),
    "number": pa.float32(),
    "double": pa.float64(),
    "iso": pa.string(),
    **dict.fromkeys(("whole", "code", "ms", "s", "us", "ns"), pa.int64()),
}


def _header(path: Path, data: memoryview) -> str:
    try:
        return bytes(data[: 1 << 20]).lstrip(b"\r\n").split(b"\n", 1)[0].decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start} of its header): save it as UTF-8") from error


def _header_names(header: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([header], delimiter=delimiter), [])
    except csv.Error:  # longer than any header; a missing column is reported later
        return header.split(delimiter)


def _delimiter(path: Path, header: str) -> str:
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    return _DELIMITERS.get(ending) or next((mark for mark in _MARKS if mark in header), ",")


def _explanation(source: Source, error: str) -> str:
    torn = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", error)
    if torn:
        row, expected, got = (int(number) for number in torn.groups())
        row -= source.names is None
        way_out = "correct or remove the row"
        if got == 1 and row == 1:
            way_out = "it seems to have another delimiter, or another format than its name says: rename it"
        return f"{source.path}, row {row}: {got} columns instead of {expected}: {way_out}"
    bad = re.search(r"column #(\d+): (?:Row #(\d+): )?.*invalid UTF8", error)
    if bad:
        place = f", row {int(bad.group(2)) - (source.names is None)}" if bad.group(2) else ""
        return f"{source.path}: column {int(bad.group(1)) + 1}{place} is not text in UTF-8: save the file as UTF-8"
    return f"{source.path} cannot be read as a table ({error.splitlines()[0]}): correct the file"
