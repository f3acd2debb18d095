"""The columns of the design matrix in the stage cache: an entry a feature, so that leaving one out computes nothing."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from recx.cache import Cache, current
from recx.locks import turn
from recx.types import Floats

VALUES = "values.npy"
HEAD = 128  # bytes of the start of a file of one axis


@dataclass(frozen=True, eq=False)
class Kept:
    """A feature's numbers, read from its entry block by block, and in a block column after column."""

    file: IO[bytes]

    def read_into(self, block: Floats) -> None:
        """Fill the next block [n_columns, n_rows] of contiguous memory."""
        self.file.readinto(block.data)  # type: ignore[attr-defined]


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
    keys = {name: cache.key("features", feature, *inputs) for name, feature in features.items()}
    named = {key: name for name, key in keys.items() if key is not None}  # of two alike, one
    with ExitStack() as stack:
        found: dict[str, Kept | Making] = {}
        for key, name in sorted(named.items()):  # in one order, so that no two processes wait for each other
            entry = cache.find("features", key)
            if entry is None and cache.writes:
                stack.enter_context(turn(cache.place(key).with_suffix(".lock")))
                entry = cache.find("features", key)
            if entry is not None:
                found[name] = stack.enter_context(_kept(entry))
                cache.hits["features"] += 1
            elif cache.writes:
                found[name] = stack.enter_context(_making(cache, key))
        yield found


@contextmanager
def _kept(entry: Path) -> Iterator[Kept]:
    with (entry / VALUES).open("rb") as file:
        file.seek(HEAD)
        yield Kept(file)


@contextmanager
def _making(cache: Cache, key: str) -> Iterator[Making]:
    """Give where a feature's numbers go; once all are there they become an entry."""
    path, started = cache.place(key).with_suffix(".values"), time.perf_counter()
    try:
        with path.open("wb", buffering=0) as file:
            making = Making(file)
            making.head(0)
            yield making
            making.head((file.tell() - HEAD) // np.dtype(np.float32).itemsize)
        with cache.writing("features", key, started) as folder:
            for error in making.errors:
                raise error
            path.rename(folder / VALUES)
    finally:
        path.unlink(missing_ok=True)
