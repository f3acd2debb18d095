"""Reads named columns of a CSV, TSV or Parquet file, plain or gzipped, and says in a sentence what is wrong with it."""

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
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".inter": "\t", ".data": "\t"}


@dataclass(frozen=True)
class Source:
    """A file of named columns.

    delimiter: what stands between the columns; None: as the file's name or, failing that, its first line says.
    names: the columns of a file that has no header; columns behind the last name are an error.
    """

    path: Path
    delimiter: str | None = None
    names: tuple[str, ...] | None = None


def read(source: Source, kinds: Mapping[str, str], *, may_be_empty: bool = False) -> dict[str, Array]:
    """Return the columns named in ``kinds`` (name -> kind, see ``recx.storage.readers.columns``), of one length [n].

    Raises:
        InputError: the file is missing, empty, binary, torn or badly separated, a column is missing, or a value is
            not of its column's kind.
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


def content(path: Path) -> memoryview:
    """Return the bytes of a plain or gzipped file that is not empty and not of a wrong kind.

    Raises:
        InputError: see ``read``.
    """
    with readable(path):
        require_file(path)
        data = memoryview(pa.memory_map(str(path)).read_buffer()) if path.stat().st_size else memoryview(b"")
    zipped = bytes(data[:2]) == b"\x1f\x8b"
    if zipped != (path.suffix == ".gz") and len(data):
        raise InputError(f"{path} is {'' if zipped else 'not '}gzipped, unlike its name says: {_rename(path, zipped)}")
    if zipped:
        try:
            data = memoryview(gzip.decompress(data))
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"{path} is a torn gzip file ({error}): fetch or write it again") from error
    if not bytes(data[:4096]).strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError(f"{path} is empty: write it again, or name another file")
    _refuse_binary(path, bytes(data[:4096]))
    return data


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what the system has against reading this path (permissions, a name too long) into one sentence."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise InputError(f"{path} cannot be read ({reason}): correct the path or its permissions") from error


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder.

    Raises:
        InputError: the system refuses to say.
    """
    with readable(path):
        return path.is_dir()


def require_file(path: Path) -> None:
    """Refuse a path where no file is, naming the near match in its folder.

    Raises:
        InputError: there is no such file, it is a folder or a device, or a link that leads nowhere.
    """
    if path.is_file():
        return
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file in it; {did_you_mean('', (p.name for p in path.iterdir()))}")
    if path.is_symlink():
        raise InputError(f"{path} is a link to {path.readlink()}, where there is no file: correct the link")
    if path.exists():
        raise InputError(f"{path} is no ordinary file but a pipe or a device: write what it holds into a file")
    if not folder.is_dir():
        raise InputError(f"{path}: there is no folder {folder}: correct the path")
    raise InputError(f"{path}: no such file; {did_you_mean(path.name, (p.name for p in folder.iterdir()))}")


def _rename(path: Path, zipped: bool) -> str:
    return f"call it {path.name}.gz" if zipped else f"call it {path.stem}, or fetch it again"


def _refuse_binary(path: Path, head: bytes) -> None:
    if head.startswith(b"PAR1"):
        return
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if kind is None and b"\x00" in head:
        kind = "a binary file"
    if kind:
        raise InputError(
            f"{path} is {kind}, which is not read here: give text in UTF-8 (a table as Parquet too), plain or .gz"
        )


def _require_columns(path: Path, kinds: Mapping[str, str], present: list[str], hint: str = "") -> list[str]:
    for name, kind in kinds.items():
        if name not in present and not kind.endswith("?"):
            raise InputError(f"{path}: column {name!r} is missing{hint}; {did_you_mean(name, present)}")
        if present.count(name) > 1:
            raise InputError(
                f"{path}: column {name!r} stands {present.count(name)} times in the header: keep one of them"
            )
    return [name for name in kinds if name in present]


def _parquet(path: Path, data: memoryview, kinds: Mapping[str, str]) -> pa.Table:
    try:
        file = pq.ParquetFile(pa.py_buffer(data))
        return file.read(columns=_require_columns(path, kinds, file.schema_arrow.names))
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} is a torn Parquet file ({reason}): fetch or write it again") from error


def _text(source: Source, data: memoryview, kinds: Mapping[str, str]) -> pa.Table:
    path = source.path
    try:
        header = bytes(data[: 1 << 20]).lstrip(b"\r\n").split(b"\n", 1)[0].decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start} of its header): save it as UTF-8") from error
    delimiter = source.delimiter or _delimiter(path, header)
    if delimiter == "::":  # Arrow separates by one character; the rating files that use two hold no tabs
        data, header, delimiter = memoryview(bytes(data).replace(b"::", b"\t")), header.replace("::", "\t"), "\t"
    present = list(source.names) if source.names else _header_names(header, delimiter)
    others = [mark for mark in (",", "\t", ";", "|") if mark in header and delimiter not in header]
    hint = f" and the header is not separated by {delimiter!r} but, it seems, by {others[0]!r}" if others else ""
    columns = _require_columns(path, kinds, present, hint)
    fast = {name: _FAST[kinds[name].removesuffix("?")] for name in columns}
    parse = pacsv.ParseOptions(delimiter=delimiter)
    buffer = pa.py_buffer(data)
    try:
        return pacsv.read_csv(pa.BufferReader(buffer), _read_options(source, True), parse, _convert_options(fast))
    except pa.ArrowInvalid:
        # Read it again, slowly, as text: this finds the row, and takes what only looked wrong (a time as 881250949.0).
        text = dict.fromkeys(columns, pa.string())
        try:
            return pacsv.read_csv(pa.BufferReader(buffer), _read_options(source, False), parse, _convert_options(text))
        except pa.ArrowInvalid as error:
            raise InputError(_blame(source, str(error))) from error


_FAST = {
    "id": pa.dictionary(pa.int32(), pa.string()),
    "number": pa.float32(),
    "double": pa.float64(),
    "iso": pa.string(),
    **dict.fromkeys(("whole", "code", "ms", "s", "us", "ns"), pa.int64()),
}


def _header_names(header: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([header], delimiter=delimiter), [])
    except csv.Error:  # longer than any header; that a column is missing will be told
        return header.split(delimiter)


def _delimiter(path: Path, header: str) -> str:
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    return _DELIMITERS.get(ending) or next((mark for mark in ("\t", ",", ";", "|") if mark in header), ",")


def _read_options(source: Source, threads: bool) -> pacsv.ReadOptions:
    return pacsv.ReadOptions(use_threads=threads, column_names=source.names and list(source.names))


def _convert_options(types: Mapping[str, pa.DataType]) -> pacsv.ConvertOptions:
    return pacsv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        null_values=list(MISSING),
        strings_can_be_null=True,
    )


def _blame(source: Source, error: str) -> str:
    torn = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", error)
    if torn:
        row, expected, got = (int(number) for number in torn.groups())
        row -= source.names is None
        way_out = "correct the row or take it out"
        if got == 1 and row == 1:
            way_out = "it seems to be separated by other marks, or of another format than its name says: rename it"
        return f"{source.path}, row {row}: {got} columns instead of {expected}: {way_out}"
    bad = re.search(r"column #(\d+): (?:Row #(\d+): )?.*invalid UTF8", error)
    if bad:
        row_said = f", row {int(bad.group(2)) - (source.names is None)}" if bad.group(2) else ""
        return f"{source.path}: column {int(bad.group(1)) + 1}{row_said} is not text in UTF-8: save the file as UTF-8"
    return f"{source.path} cannot be read as a table ({error.splitlines()[0]}): correct the file"
