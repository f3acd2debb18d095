"""The settings of the stage cache: the group ``cache``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.bounds import checked
from recx.core.protocols import CacheMode
from recx.core.system.sizes import Size, n_bytes

if TYPE_CHECKING:
    from recx.storage.cache.store import Cache


@dataclass(frozen=True)
@checked("cache")
class StageCache:
    """How a run uses the stage cache.

    Attributes:
        mode: on: results of stages are kept and reused; read: reused, none added or removed; off: neither.
        limit: The most that all entries may have; beyond it, the least recently used are removed. None: no limit.
    """

    mode: CacheMode = "on"
    limit: Size | None = "10GB"

    def open(self, folder: Path, threads: int, passing: Collection[str] = ()) -> Cache | None:
        """Return the cache of a run, or None if it uses none.

        Args:
            folder: The folder of the entries.
            threads: The number of threads that compute.
            passing: Stages whose results are not kept.
        """
        from recx.storage.cache.store import Cache

        limit = None if self.limit is None else n_bytes(self.limit, "cache.limit")
        return None if self.mode == "off" else Cache(folder, self.mode == "on", threads, passing, limit)
