"""How much memory this process has needed since a moment."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Memory:
    """before: bytes that were resident at the moment that counts."""

    before: float

    @classmethod
    def now(cls) -> Memory:
        """Return this moment.

        On Linux the peak so far is forgotten, so that what was read before hides nothing. ``ru_maxrss`` is no use
        there: a process that was just started inherits the peak of the one that started it.
        """
        with suppress(OSError):
            CLEAR.write_text("5")  # proc(5): resets the peak resident set size
        return cls(_status("VmRSS") if STATUS.exists() else _peak())

    def rise(self) -> float:
        """Return how many bytes the peak has been above that moment; NaN where the system does not tell."""
        return max(0.0, (_status("VmHWM") if STATUS.exists() else _peak()) - self.before)


def _status(name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB", STATUS.read_text(), re.MULTILINE)
    return 1024.0 * int(found[1]) if found else float("nan")


def _peak() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
