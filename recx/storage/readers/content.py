"""The content of files as it is read: unpacked, in UTF-8, and never so large that it was made to fill the memory."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from recx.core.errors import InputError, did_you_mean
from recx.storage.readers.file_bytes import mapped_bytes
from recx.storage.readers.in_memory import held_frame
from recx.storage.readers.unpacked import refuse_size, unpacked

PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff"
"""The first bytes of tables that know the types of their columns."""

_MAGIC = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"\xfd7zXZ": "an xz archive",
    b"FEA1": "a Feather file of version 1",
    b"\x80\x04\x95": "a pickle",
    b"\x80\x05\x95": "a pickle",
    b"\xff\xfe\x00\x00": "text in UTF-32",
}


def content(path: Path) -> memoryview:
    """Return the bytes of a file, unpacked (see ``recx.storage.readers.unpacked``), or those of a frame in memory.

    Raises:
        InputError: The file is missing, empty, binary or damaged.
    """
    frame = held_frame(path)
    if frame is not None:
        return frame.data
    with readable(path):
        require_file(path)
        data = mapped_bytes(path) if path.stat().st_size else memoryview(b"")
    data = unpacked(path, data)
    data = _in_utf8(path, data)
    head = bytes(data[:4096])
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError(f"{path} is empty: write it again, or name another file")
    if head.startswith((PARQUET, ARROW_FILE, ARROW_STREAM)):
        return data
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if kind or b"\x00" in head:
        what = f"{kind or 'a binary file'}, which is not supported"
        raise InputError(f"{path} is {what}: give text in UTF-8 (or a table as Parquet), plain or packed")
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
    refuse_size(path, max(said, 4 * n_columns * metadata.num_rows))
