"""The process of a run: how it is identified, and whether it is alive."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path


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
