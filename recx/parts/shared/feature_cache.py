"""The columns of the design matrix in the stage cache: an entry a feature, so that leaving one out computes nothing."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from recx.core.types import Floats
from recx.storage.cache.entries import clear
from recx.storage.cache.store import Cache, current

VALUES = "values.npy"
HEAD = 128  # bytes of the start of a file of one axis
Key = Callable[[], str | None]

_making_now: set[str] = set()  # keys; a pass that was broken off holds its lock for as long as somebody refers to it


@dataclass(frozen=True, eq=False)
class Kept:
    """A feature's numbers, read from its entry block by block, and in a block column after column."""

    file: IO[bytes]

    def read_into(self, block: Floats) -> bool:
        """Fill the next block [n_columns, n_rows] of contiguous memory; return whether there were so many numbers."""
        return bool(self.file.readinto(block.data) == block.nbytes)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Making:
    """A feature's numbers as they are computed, block by block; errors: why they cannot be kept."""

    file: FileIO
    errors: list[OSError] = field(default_factory=list)

    def add(self, block: Floats) -> None:
        """Write the next block [n_columns, n_rows]."""
        self._write(block.tobytes())

    def head(self, n: int) -> None:
        """Write the start of a ``.npy`` file of ``n`` numbers, whose length does not depend on their number."""
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": (n,)})
        self.file.seek(0)
        self._write(head.getvalue())

    def finish(self, folder: Path) -> None:
        """Put the file into a folder; raises what went wrong with it."""
        for error in self.errors:
            raise error
        Path(self.file.name).rename(folder / VALUES)

    def _write(self, content: bytes) -> None:
        try:
            while content and not self.errors:  # unbuffered, so a full disk is met here and not on closing
                content = content[self.file.write(content) :]
        except OSError as error:
            self.errors.append(error)


@contextmanager
def columns(features: Mapping[str, Any], *inputs: Any) -> Iterator[Mapping[str, Kept | Making]]:
    """Give what is kept, and what is to be kept, of each feature; nothing where no cache is in use.

    inputs: what every feature is computed from.
    """
    cache = current()
    if cache is None:
        yield {}
        return
    keys: dict[str, Key] = {
        name: partial(cache.key, "features", feature, *inputs) for name, feature in features.items()
    }
    named = {key(): name for name, key in keys.items()}  # of two alike, one
    with ExitStack() as stack:
        found: dict[str, Kept | Making] = {}
        for key, name in sorted((key, name) for key, name in named.items() if key is not None):
            # In one order, so that no two processes wait for each other.
            column = _kept(cache, key, stack) or _made(cache, key, keys[name], stack)
            if column is not None:
                found[name] = column
        yield found


def _kept(cache: Cache, key: str, stack: ExitStack) -> Kept | None:
    entry = cache.find("features", key)
    if entry is None:
        return None
    try:
        file = stack.enter_context((entry / VALUES).open("rb"))
    except OSError:
        return None  # pruned this moment
    file.seek(HEAD)
    cache.hits["features"] += 1
    return Kept(file)


def _made(cache: Cache, key: str, again: Key, stack: ExitStack) -> Kept | Making | None:
    """Give where a feature's numbers go, or what another process has made meanwhile; None: they are not kept."""
    if not cache.writes or key in _making_now:
        return None
    with ExitStack() as turns:
        if not turns.enter_context(cache.alone("features", key)):
            return None
        found = _kept(cache, key, stack)
        if found is not None:
            return found
        path = cache.place(key).with_suffix(".values")
        clear(path)  # of a process that was killed
        try:
            file = path.open("wb", buffering=0)
        except OSError as error:
            cache.cannot_keep("features", error)
            return None
        making = turns.enter_context(_making(cache, key, again, file))
        stack.push(turns.pop_all())  # it is our turn until the pass ends
        return making


@contextmanager
def _making(cache: Cache, key: str, again: Key, file: FileIO) -> Iterator[Making]:
    """Give where a feature's numbers go; once all are there they become an entry."""
    path, started = Path(file.name), time.perf_counter()
    _making_now.add(key)
    try:
        with file:
            making = Making(file)
            making.head(0)
            yield making
            making.head((file.tell() - HEAD) // np.dtype(np.float32).itemsize)
        if again() == key:  # else a file was written to meanwhile, and nobody knows of what these numbers are
            cache.write("features", key, started, making.finish)
    finally:
        _making_now.discard(key)
        clear(path)
