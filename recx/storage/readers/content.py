"""The content of files as it is read: unpacked, in UTF-8, and never so large that it was made to fill the memory."""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from recx.core.errors import InputError, did_you_mean
from recx.core.system.memory import MIB, available

HARMLESS, MOST_TIMES = 256 * 2**20, 250
"""Bytes that any file may unpack to, and how many times its size a larger one may."""


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
    b"\xff\xfe\x00\x00": "text in UTF-32",
}


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
            data = _unpacked(path)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"{path} is a damaged gzip file ({error}): fetch or write it again") from error
    data = _in_utf8(path, data)
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


def _in_utf8(path: Path, data: memoryview) -> memoryview:
    """Return text in UTF-16, as spreadsheets save it with a byte order mark, in UTF-8; all else unchanged."""
    start = bytes(data[:4])
    if not start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or start == codecs.BOM_UTF32_LE:
        return data
    try:
        return memoryview(bytes(data).decode("utf-16").encode())
    except UnicodeDecodeError as error:
        at = error.start
        raise InputError(f"{path} begins as text in UTF-16, but byte {at} is not such: save it as UTF-8") from error


def _unpacked(path: Path) -> memoryview:
    """Return the content of a gzip file, unless it was made to fill the memory."""
    found = bytearray()
    with gzip.open(path) as file:
        while block := file.read(1 << 24):
            found += block
            _refuse_bomb(path, len(found))
    return memoryview(found)


def refuse_bomb(path: Path, metadata: pq.FileMetaData, n_columns: int | None = None) -> None:
    """Check that a Parquet file would not fill the memory.

    Args:
        path: The file.
        metadata: What it says of itself.
        n_columns: How many of its columns are read; None: all.

    Raises:
        InputError: It would.
    """
    n_columns = metadata.num_columns if n_columns is None else n_columns
    groups = range(metadata.num_row_groups)
    said = sum(metadata.row_group(at).total_byte_size for at in groups)
    _refuse_bomb(path, max(said, 4 * n_columns * metadata.num_rows))


def _refuse_bomb(path: Path, size: int) -> None:
    packed = path.stat().st_size
    if size > HARMLESS and (size > MOST_TIMES * packed or size > available() * MIB):
        raise InputError(
            f"{path} has {packed:,} bytes and unpacks to more than {size:,}, which is not a usual table or more than "
            "fits into memory: fetch it again, or write its rows into a plain file"
        )
