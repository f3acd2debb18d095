"""The current and the peak memory of this process."""

from __future__ import annotations

import re
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
MIB = 2.0**20


def held() -> float:
    """Return the resident memory of this process in MiB; its peak where the system reports nothing else."""
    return _status("VmRSS") if STATUS.exists() else peak()


def peak() -> float:
    """Return the peak memory of this process so far in MiB; NaN where the system does not report it.

    ``ru_maxrss`` is unusable on Linux: a new process inherits the peak of its parent.
    """
    if STATUS.exists():
        return _status("VmHWM")
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, others kilobytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB


def _status(name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB", STATUS.read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else float("nan")
