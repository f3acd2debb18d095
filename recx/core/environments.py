"""Environments of other libraries, each a virtual environment in a folder of this user: ``python -m recx bridge``."""

from __future__ import annotations

import os
from pathlib import Path

MARK = "recx-bridge.json"
"""The file of a complete environment; it names the requirements that were installed."""


def folder_of(name: str) -> Path:
    """Return the folder of an environment, which need not exist: below ``XDG_DATA_HOME``, or ``~/.local/share``."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "recx" / "bridges" / name


def python_of(name: str) -> Path | None:
    """Return the Python of a complete environment; None if there is none.

    Args:
        name: The name of the environment, such as ``rectools``.
    """
    folder = folder_of(name)
    python = folder / "bin" / "python"
    return python if (folder / MARK).is_file() and python.exists() else None
