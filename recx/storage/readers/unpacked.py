"""Packed files: gzip, bzip2, zstandard, and zip archives of one file."""

from __future__ import annotations

import bz2
import gzip
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from recx.core.errors import InputError
from recx.core.system.memory import MIB, available
from recx.storage.readers.in_memory import is_in_memory

HARMLESS, MOST_TIMES = 256 * 2**20, 250
"""Bytes that any file may unpack to, and how many times its size a larger one may."""
STEP = 1 << 24
KINDS = {
    ".gz": (b"\x1f\x8b", "gzipped", "gzip"),
    ".bz2": (b"BZh", "packed by bzip2", "bzip2"),
    ".zst": (b"(\xb5/\xfd", "packed by zstandard", "zstandard"),
    ".zip": (b"PK\x03\x04", "a zip archive", "zip"),
}
"""Ending of a name -> the first bytes of such a file, and how it is called."""


def unpacked(path: Path, data: memoryview) -> memoryview:
    """Return the content of a file that may be packed, which its name must say.

    Raises:
        InputError: It is packed contrary to its name, is damaged, was made to fill the memory, or holds several files.
    """
    head = bytes(data[:4])
    ending = next((ending for ending, (magic, *_) in KINDS.items() if head.startswith(magic)), None)
    named = path.suffix if path.suffix in KINDS else None
    if ending != named and len(data):
        raise _misnamed(path, ending, named)
    if ending is None:
        return data
    try:
        return _read(path, _OPEN[ending])
    except (EOFError, OSError, zlib.error, pa.ArrowException, zipfile.BadZipFile, NotImplementedError) as error:
        kind = KINDS[ending][2]
        raise InputError(f"{path} is a damaged {kind} file ({error}): fetch or write it again") from error


def refuse_size(path: Path, size: int) -> None:
    """Check that a file would not fill the memory.

    Args:
        path: The file.
        size: The bytes that it unpacks to.

    Raises:
        InputError: It would.
    """
    if is_in_memory(str(path)):  # all of it, as somebody made it
        return
    packed = path.stat().st_size
    if size > HARMLESS and (size > MOST_TIMES * packed or size > available() * MIB):
        raise InputError(
            f"{path} has {packed:,} bytes and unpacks to more than {size:,}, which is not a usual table or more than "
            "fits into memory: fetch it again, or write its rows into a plain file"
        )


def _misnamed(path: Path, ending: str | None, named: str | None) -> InputError:
    if ending is None:
        what = f"not {KINDS[str(named)][1]}"
        way_out = f"call it {path.stem}, or fetch it again"
    else:
        what = KINDS[ending][1]
        way_out = f"call it {path.stem if named else path.name}{ending}"
        if ending == ".zip":
            what, way_out = f"{what} (or a spreadsheet)", f"{way_out}, or save the spreadsheet as CSV"
    return InputError(f"{path} is {what}, contrary to its name: {way_out}")


def _read(path: Path, opened: Callable[[Path], Any]) -> memoryview:
    found = bytearray()
    with opened(path) as file:
        while block := file.read(STEP):
            found += block
            refuse_size(path, len(found))
    return memoryview(found)


def _zstandard(path: Path) -> Any:
    return pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")


def _only_member(path: Path) -> Any:
    """Open the only file of a zip archive."""
    archive = zipfile.ZipFile(path)
    members = [info for info in archive.infolist() if not info.is_dir() and not _is_hidden(info.filename)]
    if len(members) != 1:
        names = ", ".join(info.filename for info in members[:6]) + (" …" if len(members) > 6 else "")
        what = f"{len(members)} files ({names})" if members else "no file"
        raise InputError(f"{path} holds {what}, and one is needed: unpack it, and name a file of it")
    if members[0].flag_bits & 1:
        raise InputError(f"{path}: {members[0].filename} is encrypted: unpack it with its password")
    refuse_size(path, members[0].file_size)
    return archive.open(members[0])


def _is_hidden(name: str) -> bool:
    return name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith(".")


_OPEN: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".zst": _zstandard,
    ".zip": _only_member,
}
