"""What a benchmark was measured on: the machine, and the versions of what computes."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from recx.core.version import __version__

LIBRARIES = (
    "numpy", "scipy", "numba", "scikit-learn", "faiss-cpu", "lightgbm", "torch", "transformers", "sentence-transformers"
)  # fmt: skip
"""Libraries that the time of a call depends on, shown where they are installed."""


def machine_of(threads: int) -> dict[str, Any]:
    """Return the facts of this machine at this moment.

    Args:
        threads: How many threads a ranker may use.
    """
    return {
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "threads": threads,
        "python": platform.python_version(),
        "versions": {"recx": __version__, **dict(filter(None, map(_version, LIBRARIES)))},
        "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _version(library: str) -> tuple[str, str] | None:
    with suppress(metadata.PackageNotFoundError):
        return library, metadata.version(library)
    return None


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
