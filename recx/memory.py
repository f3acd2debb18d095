"""How much memory this process has taken."""

from __future__ import annotations

import sys


def peak() -> float:
    """Return the most memory that this process has held so far, in MiB; NaN where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kilobytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
