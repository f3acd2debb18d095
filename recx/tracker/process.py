"""The process that a run lives in: who it is, whether it still lives, how it is stopped, and taking turns."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO


class Interrupted(KeyboardInterrupt):
    """The process was asked to end (SIGTERM), which ends a run as Ctrl-C does."""


def identity() -> dict[str, str]:
    """Return the tags that tell this process from any other: host, pid, and when it started, as pids are reused."""
    pid = os.getpid()
    return {"recx.host": socket.gethostname(), "recx.pid": str(pid), "recx.pid_started": _started(pid) or ""}


def is_dead(tags: dict[str, str]) -> bool:
    """Whether the process of these tags lived on this host and lives no more; False where that cannot be known."""
    pid = tags.get("recx.pid", "")
    if tags.get("recx.host") != socket.gethostname() or not pid.isdigit():
        return False
    if Path("/proc/self/stat").exists():
        return _started(int(pid)) != tags.get("recx.pid_started")
    if sys.platform == "win32":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _started(pid: int) -> str | None:
    """Return when a process started, in clock ticks since boot; None if it is gone or cannot be asked."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    state, started = after_name[0], after_name[19]
    return None if state in "ZX" else started


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise ``Interrupted`` inside when the process gets SIGTERM, so that the run can end in order."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signal handlers
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted("stopped by SIGTERM")


@contextmanager
def turn(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Let one process at a time inside, by a lock on this file; the lock ends with the process.

    Raises:
        BlockingIOError: another is inside, and ``wait`` is False.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        _lock(file, wait)
        yield


def _lock(file: IO[bytes], wait: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(str(error)) from error
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
