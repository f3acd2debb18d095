"""Arrays in unnamed temporary files: as long as an array is written, and read through memory mapping."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from recx.core.ragged import blocks
from recx.core.types import Array

ROWS = 1 << 22  # rows that are converted at once

_folder: ContextVar[Path | None] = ContextVar("folder of temporary files", default=None)


@contextmanager
def temporary_in(folder: Path) -> Iterator[None]:
    """Let the files of arrays lie on the disk of a folder inside the context, instead of that of TMPDIR."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def folder() -> Path:
    """Return the folder of the temporary files."""
    return _folder.get() or Path(tempfile.gettempdir())


class _File:
    """A file without a name, which is closed with what it belongs to."""

    def __init__(self) -> None:
        self.io = tempfile.TemporaryFile(dir=folder(), prefix="recx-")  # noqa: SIM115

    def __del__(self) -> None:
        self.io.close()

    def write(self, values: Array, offset: int) -> None:
        self.io.seek(offset)
        self.io.write(np.ascontiguousarray(values).view(np.uint8).data)
        self.io.flush()

    def mapped(self, n_bytes: int, offset: int = 0) -> mmap.mmap:
        return mmap.mmap(self.io.fileno(), n_bytes, access=mmap.ACCESS_READ, offset=offset)


class Mapped(np.ndarray):
    """A whole file as an array [n]; what is computed from it is a plain array.

    Whatever is picked from it is read through a mapping of its own, so that no pages stay in the memory of the process.
    """

    file: _File | None

    @classmethod
    def of(cls, file: _File, kind: np.dtype[Any], n: int) -> Array:
        """Return the values of a file, which lives as long as the array; an empty one cannot be mapped."""
        if n == 0:
            return np.zeros(0, dtype=kind)
        array = np.frombuffer(file.mapped(n * kind.itemsize), dtype=kind).view(cls)
        array.file = file
        return array

    def __array_finalize__(self, made_from: Array | None) -> None:
        self.file = None

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        plain = array.view(np.ndarray)
        return plain[()] if return_scalar else plain

    def __getitem__(self, rows: Any) -> Any:
        if self.file is None:
            return self.view(np.ndarray)[rows]
        start, stop, step = rows.indices(len(self)) if isinstance(rows, slice) else (0, len(self), 0)
        if step != 1:
            return self._rows(0, len(self))[rows].copy()
        return self._rows(start, stop)

    def _rows(self, start: int, stop: int) -> Array:
        """Map consecutive rows anew."""
        if self.file is None or stop <= start:
            return np.zeros(0, dtype=self.dtype)
        first = start * self.itemsize // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        try:
            part = self.file.mapped(stop * self.itemsize - first, first)
        except OSError:  # each mapping is an open file, of which a process may have about 1,000
            return self.view(np.ndarray)[start:stop]  # whose pages stay in memory
        return np.frombuffer(part, self.dtype, stop - start, start * self.itemsize - first)


class Column:
    """An array that is being written.

    Its type is the widest of its parts with values: float64 once one needs it.
    """

    def __init__(self) -> None:
        self._file = _File()
        self._kind: np.dtype[Any] | None = None

    def write(self, part: Array, at: int) -> None:
        """Write values [n] to the rows from ``at`` on; up to there, all must be written."""
        if at and not len(part):
            return  # the type of no values says nothing
        kind = np.result_type(self._kind, part.dtype) if self._kind is not None and at else part.dtype
        if at and kind != self._kind:
            narrow, wide = self.array(at), _File()
            for start, stop in blocks(at, ROWS):
                wide.write(narrow[start:stop].astype(kind), start * kind.itemsize)
            self._file = wide
        self._kind = kind
        self._file.write(part.astype(kind, copy=False), at * kind.itemsize)

    def array(self, n: int) -> Array:
        """Return the first ``n`` values."""
        return Mapped.of(self._file, np.dtype(np.float32) if self._kind is None else self._kind, n)
