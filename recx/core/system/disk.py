"""Recognises a disk that is full, under the various names that libraries give it."""

from __future__ import annotations

import errno

FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
TEXTS = ("No space left on device", "Disk quota exceeded", "disk is full")
"""How libraries that raise errors of their own report it, SQLite among them."""


def is_full(error: BaseException | None) -> bool:
    """Return whether an error, or what caused it, is that a disk is full or a quota is used up."""
    while error is not None:
        if getattr(error, "errno", None) in FULL or any(text in str(error) for text in TEXTS):
            return True
        error = error.__cause__ or error.__context__
    return False
