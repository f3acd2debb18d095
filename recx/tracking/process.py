"""The process of a run: how it is identified, whether it is alive, and how it is stopped."""

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

STOPPED = "stopped by SIGTERM"


class Interrupted(KeyboardInterrupt):
    """The process received SIGTERM, which ends a run as Ctrl-C does."""


def identity() -> dict[str, str]:
    """Return tags that identify this process: host, pid and, since pids are reused, its start time."""
    pid = os.getpid()
    return {"recx.host": socket.gethostname(), "recx.pid": str(pid), "recx.pid_started": _started(pid) or ""}


def is_dead(tags: dict[str, str]) -> bool:
    """Return whether the process of these tags ran on this host and has ended; False if that is unknown.

    Args:
        tags: The tags of ``identity``.
    """
    pid = tags.get("recx.pid", "")
    if tags.get("recx.host") != socket.gethostname() or not pid.isdigit():
        return False
    if Path("/proc/self/stat").exists():
        return _started(int(pid)) != tags.get("recx.pid_started")
    if sys.platform == "win32":
        return False
    try:
        os.kill(int(pid), 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


def _started(pid: int) -> str | None:
    """Return a process's start time in clock ticks since boot; None if it has ended or cannot be read."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    state, started = after_name[0], after_name[19]
    return None if state in "ZX" else started


_received: list[int] = []
"""The signals that reached the process inside of ``stoppable``."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise ``Interrupted`` inside when the process receives SIGTERM, and ``KeyboardInterrupt`` on Ctrl-C.

    A library may turn this exception into another, or lose it: then it is raised at the end of the context. Ctrl-C is
    left alone where something else handles or ignores it, as in a process in the background.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signal handlers
        return
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)
    before, n = {number: signal.signal(number, _interrupt) for number in numbers}, len(_received)
    try:
        yield
    except Exception as error:
        if len(_received) > n:
            raise _exception(_received[-1]) from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if len(_received) > n:
        raise _exception(_received[-1])


def _interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise _exception(number)


def _exception(number: int) -> KeyboardInterrupt:
    return Interrupted(STOPPED) if number == signal.SIGTERM else KeyboardInterrupt()
