"""The content of files as it is read: unpacked, in UTF-8, and never so large that it was made to fill the memory."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import pyarrow.parquet as pq

from recx.core.errors import InputError
from recx.core.system.memory import MIB, available

HARMLESS, MOST_TIMES = 256 * 2**20, 250
"""Bytes that any file may unpack to, and how many times its size a larger one may."""


def in_utf8(path: Path, data: memoryview) -> memoryview:
    """Return text in UTF-16, as spreadsheets save it with a byte order mark, in UTF-8; all else unchanged."""
    start = bytes(data[:4])
    if not start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or start == codecs.BOM_UTF32_LE:
        return data
    try:
        return memoryview(bytes(data).decode("utf-16").encode())
    except UnicodeDecodeError as error:
        at = error.start
        raise InputError(f"{path} begins as text in UTF-16, but byte {at} is not such: save it as UTF-8") from error


def unpacked(path: Path) -> memoryview:
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
