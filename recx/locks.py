"""One process at a time: a lock that its holder's death lets go of."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def turn(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Let one at a time inside with this path, a file that is there for as long as someone is.

    Raises:
        BlockingIOError: another is inside, and ``wait`` is False.
        OSError: the file cannot be made or locked.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _held(path, wait)
    try:
        yield
    finally:
        if sys.platform != "win32":  # which takes no open file away
            with suppress(OSError):
                if _is_at(handle, path):  # or somebody has swept up, and the next one may be inside
                    path.unlink()
        os.close(handle)


def _held(path: Path, wait: bool) -> int:
    """Return the handle of the file at this path, locked."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(handle, wait)
        except BaseException:
            os.close(handle)
            raise
        if _is_at(handle, path):
            return handle
        os.close(handle)  # whoever was inside took the file away before we had it


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _lock(handle: int, wait: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            except OSError as error:  # it waits for ten seconds at most
                if not wait:
                    raise BlockingIOError(str(error)) from error
            else:
                return
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
