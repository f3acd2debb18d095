"""Where the disk is full, the stage cache makes room for the files of runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from recx.core.progress import say
from recx.core.system.disk import is_full
from recx.storage.cache.entries import free
from recx.storage.cache.store import CACHE

T = TypeVar("T")
FIRST_FREED = 256 * 2**20
"""Bytes of the cache that are removed at first where a run finds no space for its files; then four times as many."""


def with_room(folder: Path, write: Callable[[], T]) -> T:
    """Return the result of a function that writes into a folder; on a full disk, the stage cache makes room for it.

    Args:
        folder: The folder.
        write: The function, which can be called again after it has failed.
    """
    cache, size = Path(CACHE).absolute(), FIRST_FREED
    while True:
        try:
            return write()
        except Exception as error:
            if not is_full(error) or not _share_disk(cache, folder):
                raise
            freed = free(cache, size)
            if not freed:
                raise
            say(f"  the disk is full: {freed} entries of the stage cache were removed for the files of the run")
            size *= 4


def _share_disk(*folders: Path) -> bool:
    try:
        return len({folder.stat().st_dev for folder in folders}) == 1
    except OSError:
        return False
