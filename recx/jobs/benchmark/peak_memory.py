"""How much memory this process has needed since a moment."""

from __future__ import annotations

import gc
from contextlib import suppress
from ctypes import CDLL
from dataclasses import dataclass
from pathlib import Path

from recx.core.system.memory import MIB, held, peak

CLEAR = Path("/proc/self/clear_refs")


def forget_peak() -> None:
    """Return free memory to the system and, on Linux, reset the peak so far, so that earlier peaks hide nothing."""
    with suppress(OSError, AttributeError):  # only glibc has it
        CDLL(None).malloc_trim(0)
    with suppress(OSError):
        CLEAR.write_text("5")  # proc(5): resets the peak resident set size


@dataclass(frozen=True)
class Memory:
    """A moment from which memory is measured.

    Attributes:
        before: Bytes that the process held at that moment.
    """

    before: float

    @classmethod
    def now(cls, own: float = 0.0) -> Memory:
        """Return this moment.

        Free memory is returned to the system first, or later allocations would reuse it unnoticed.

        Args:
            own: Bytes held by now that count as needed since.
        """
        gc.collect()
        forget_peak()
        return cls(held() * MIB - own)

    def more(self) -> float:
        """Return how many bytes more the process holds now."""
        return max(0.0, held() * MIB - self.before)

    def rise(self) -> float:
        """Return how many bytes the peak has been above that moment; NaN if the system does not report it."""
        return max(0.0, peak() * MIB - self.before)
