"""The bytes of a file, mapped into memory, of which the system takes back what has been read."""

from __future__ import annotations

import mmap
from pathlib import Path


def mapped_bytes(path: Path) -> memoryview:
    """Return the bytes of a file that is not empty."""
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def let_go(data: memoryview) -> None:
    """Let the system take back the memory of a mapped file; what is read once more comes from the file again."""
    mapped = data.obj
    if isinstance(mapped, mmap.mmap) and hasattr(mapped, "madvise"):
        mapped.madvise(mmap.MADV_DONTNEED)
