"""The columns of the design matrix in the stage cache: one entry per feature, each reused independently."""

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

from recx.core.precision import Reals
from recx.storage.cache.entries import clear
from recx.storage.cache.store import Cache, current

VALUES = "values.npy"
Key = Callable[[], str | None]

_making_now: set[str] = set()  # keys; an abandoned pass keeps its lock until it is garbage collected


@dataclass(frozen=True, eq=False)
class Kept:
    """The stored values of a feature, one array [n_columns, n_rows] per block, each with its own type.

    Attributes:
        file: The open file, positioned at the next block.
    """

    file: IO[bytes]

    def next(self, n_rows: int) -> Reals | None:
        """Return the next block [n_columns, n_rows], or None if the file has none of this length."""
        try:
            block: Reals = np.lib.format.read_array(self.file, allow_pickle=False)
        except (ValueError, EOFError):  # the file is damaged
            return None
        return block if block.ndim == 2 and block.shape[1] == n_rows else None


@dataclass(frozen=True, eq=False)
class Making:
    """A file that a feature's values are written to as they are computed, block by block.

    Attributes:
        file: The open file.
        errors: The errors of writing; after one of them, nothing more is written.
    """

    file: FileIO
    errors: list[OSError] = field(default_factory=list)

    def add(self, block: Reals) -> None:
        """Write the next block [n_columns, n_rows]."""
        content = io.BytesIO()
        np.lib.format.write_array(content, block, allow_pickle=False)
        self._write(content.getvalue())

    def finish(self, folder: Path) -> None:
        """Move the file into a folder, or raise the error that occurred while writing."""
        for error in self.errors:
            raise error
        Path(self.file.name).rename(folder / VALUES)

    def _write(self, content: bytes) -> None:
        try:
            while content and not self.errors:  # unbuffered, so that a full disk fails here and not on closing
                content = content[self.file.write(content) :]
        except OSError as error:
            self.errors.append(error)


@contextmanager
def columns(features: Mapping[str, Any], *inputs: Any) -> Iterator[Mapping[str, Kept | Making]]:
    """Yield the stored columns of each feature, or a file to store them in; nothing if no cache is in use.

    Args:
        features: Feature name -> feature.
        *inputs: What every feature is computed from.
    """
    cache = current()
    if cache is None:
        yield {}
        return
    keys: dict[str, Key] = {
        name: partial(cache.key, "features", feature, *inputs) for name, feature in features.items()
    }
    named = {key(): name for name, key in keys.items()}  # one of several equal features
    with ExitStack() as stack:
        found: dict[str, Kept | Making] = {}
        for key, name in sorted((key, name) for key, name in named.items() if key is not None):
            # In sorted order, so that two processes cannot deadlock.
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
        return None  # pruned since it was found
    cache.hits["features"] += 1
    return Kept(file)


def _made(cache: Cache, key: str, again: Key, stack: ExitStack) -> Kept | Making | None:
    """Return a file for the feature's values, or the entry that another process has stored meanwhile, or None."""
    if not cache.writes or key in _making_now:
        return None
    with ExitStack() as turns:
        if not turns.enter_context(cache.alone("features", key)):
            return None
        found = _kept(cache, key, stack)
        if found is not None:
            return found
        path = cache.place(key).with_suffix(".values")
        clear(path)  # left by a process that was killed
        try:
            file = path.open("xb", buffering=0)
        except OSError as error:
            cache.cannot_keep("features", error)
            return None
        making = turns.enter_context(_making(cache, key, again, file))
        stack.push(turns.pop_all())  # keeps the lock until the pass ends
        return making


@contextmanager
def _making(cache: Cache, key: str, again: Key, file: FileIO) -> Iterator[Making]:
    """Yield a file for the feature's values, which becomes a cache entry once it is complete."""
    path, started = Path(file.name), time.perf_counter()
    _making_now.add(key)
    try:
        with file:
            making = Making(file)
            yield making
        if again() == key:  # otherwise an input file has changed meanwhile
            cache.write("features", key, started, making.finish)
    finally:
        _making_now.discard(key)
        clear(path)
