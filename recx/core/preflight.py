"""The checks that parts make before any data is read."""

from __future__ import annotations

from recx.core.protocols import Preflight


def preflight(*parts: object) -> None:
    """Let each part that has requirements acquire them.

    Raises:
        InputError: A requirement is not available.
    """
    for part in parts:
        if isinstance(part, Preflight):
            part.preflight()
