"""One process at a time: a lock that is released when its holder exits, in whatever way."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def turn(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Admit one holder at a time, by a file at this path that exists while it is held.

    Args:
        path: The lock file; its folder is created where it is missing.
        wait: Wait until the lock is free.

    Raises:
        BlockingIOError: The lock is held by another, and ``wait`` is False.
        OSError: The file cannot be created or locked.
    """
    from filelock import FileLock, Timeout

    held: list[os.stat_result] = []
    lock = FileLock(
        path,
        blocking=wait,
        fallback_to_soft=False,  # whose marker would outlive a killed holder on another host
        on_acquired=lambda handle: held.append(os.fstat(handle)),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire()
    except Timeout as error:
        raise BlockingIOError(str(error)) from error
    try:
        yield
    finally:
        if sys.platform != "win32":  # there filelock removes the file itself; elsewhere it leaves it behind
            with suppress(OSError):
                if os.path.samestat(held[0], path.stat()):  # or it was deleted, and a new one has another holder
                    path.unlink()
        lock.release()
