"""How much memory this process has needed since a moment."""

from __future__ import annotations

import gc
from contextlib import suppress
from ctypes import CDLL
from dataclasses import dataclass
from pathlib import Path

from recx.core.system.memory import MIB, held, peak

CLEAR = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Memory:
    """before: bytes that were held at the moment that counts."""

    before: float

    @classmethod
    def now(cls, own: float = 0.0) -> Memory:
        """Return this moment. own: bytes of what is held that count as needed since.

        What was let go before is given back first, or what is needed from now on would find room in it unseen. On Linux
        the peak so far is forgotten, so that what was read before hides nothing.
        """
        gc.collect()
        with suppress(OSError, AttributeError):  # of glibc alone
            CDLL(None).malloc_trim(0)
        with suppress(OSError):
            CLEAR.write_text("5")  # proc(5): resets the peak resident set size
        return cls(held() * MIB - own)

    def more(self) -> float:
        """Return how many bytes more are held now."""
        return max(0.0, held() * MIB - self.before)

    def rise(self) -> float:
        """Return how many bytes the peak has been above that moment; NaN where the system does not tell."""
        return max(0.0, peak() * MIB - self.before)
