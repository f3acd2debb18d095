"""One process at a time: a lock that its holder's death lets go of."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Wait until no other process is inside with this path, a file that is there for as long as someone is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        _lock(handle)
        if _is_at(handle, path):
            break
        os.close(handle)  # whoever was inside took the file away before we had it
    try:
        yield
    finally:
        if sys.platform != "win32":  # which takes no open file away
            path.unlink(missing_ok=True)
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
