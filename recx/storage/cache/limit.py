"""The limit of a cache's size. One file holds the total, so that no entry that is written costs a walk over all others.

The total is never below the truth: an entry is counted before it is there, and what is removed elsewhere stays counted
until the limit is reached and the entries are counted again.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recx.core.errors import InputError
from recx.core.system.atomic import write_text
from recx.core.system.locks import turn
from recx.core.system.plain_files import read_text
from recx.storage.cache.entries import LOCK, Entry, entries, prune

TOTAL = "total"
"""The file with the sum of the sizes of a cache's entries (bytes)."""
TARGET = 0.9
"""The share of the limit that is left in use where it was reached, so that not every further entry reaches it again."""


@contextmanager
def room(folder: Path, size: int, limit: int | None, spared: Collection[str]) -> Iterator[list[Entry]]:
    """Make room for a new entry, which is put in its place inside the context, one process at a time.

    Args:
        folder: The cache.
        size: The size of the entry (bytes), at most the limit.
        limit: The most bytes that all entries may have; None: no limit.
        spared: Keys of entries that are removed only after all others.

    Yields:
        The entries that were removed, the least recently used first.

    Raises:
        OSError: The total cannot be written, or entries cannot be removed.
    """
    with turn((folder / TOTAL).with_suffix(LOCK)):
        total, gone = _total(folder), list[Entry]()
        if total is None and limit is not None:
            total = _counted(folder)
        if limit is not None and total is not None and total + size > limit:
            total = _counted(folder)
            if total + size > limit:
                gone = prune(folder, max(0, int(TARGET * limit) - size), None, spared)
                total = _counted(folder)
            if total + size > limit:
                raise OSError(errno.EACCES, "entries beyond cache.limit cannot be removed")
        if total is not None:
            write_text(folder / TOTAL, str(total + size))
        yield gone


def _counted(folder: Path) -> int:
    return sum(entry.bytes for entry in entries(folder))


def _total(folder: Path) -> int | None:
    """Return the total as the file has it; None if there is none, or it is damaged."""
    with suppress(OSError, ValueError, InputError):
        text = read_text(folder / TOTAL, own=True)
        return int(text) if re.fullmatch("[0-9]{1,18}", text) else None
    return None
