"""The current and the peak memory of this process."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path

STATUS = Path("/proc/self/status")
MEMINFO, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
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


def available() -> float:
    """Return the memory in MiB that this process may still take; infinite where the system does not report it."""
    free = [float("inf")]
    with suppress(OSError, TypeError):
        free.append(int(re.search(r"^MemAvailable:\s+(\d+) kB", MEMINFO.read_text(), re.MULTILINE)[1]) / 1024)  # type: ignore[index]
    with suppress(OSError, ValueError):  # of a container; "max" where it has no limit
        limit, used = (int((CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        free.append((limit - used) / MIB)
    return max(0.0, min(free))


def _status(name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB", STATUS.read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else float("nan")
