"""How much memory this process holds, and the most that it has held."""

from __future__ import annotations

import re
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
MIB = 2.0**20


def held() -> float:
    """Return how much memory this process holds now, in MiB; where only the peak is known, that."""
    return _status("VmRSS") if STATUS.exists() else peak()


def peak() -> float:
    """Return the most memory that this process has held so far, in MiB; NaN where the system does not tell.

    ``ru_maxrss`` is no use on Linux: a process that was just started inherits the peak of the one that started it.
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
