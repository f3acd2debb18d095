"""Arrays of numbers that are read piece by piece, so that none is held twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from recx.core.ragged import blocks
from recx.core.types import Array

ROWS = 1 << 18
"""Rows that are converted at a time."""


def array_of(column: pa.ChunkedArray, kind: pa.DataType, missing: Any = 0) -> Array:
    """Return a column as an array of its own [n].

    Args:
        column: Numbers, or texts of numbers.
        kind: The type of the array.
        missing: What stands for a missing value.

    Raises:
        pa.ArrowInvalid: The type does not hold a value.
    """
    found = np.empty(len(column), kind.to_pandas_dtype())
    for start, stop in blocks(len(column), ROWS):
        some = column.slice(start, stop - start).cast(kind)
        found[start:stop] = some.fill_null(missing) if some.null_count else some
    return found


class GrowingArray:
    """An array that is extended; room that nothing was written into takes no memory."""

    def __init__(self, kind: np.dtype[Any], room: int) -> None:
        """Begin with no value, and room for so many."""
        self._values, self._n = np.empty(room, kind), 0

    def extend(self, more: Array) -> None:
        """Append values [n]; the type becomes one that holds them too."""
        stop, kind = self._n + len(more), np.promote_types(self._values.dtype, more.dtype)
        if stop > len(self._values) or kind != self._values.dtype:
            wider = np.empty(max(len(self._values), 2 * stop * (stop > len(self._values))), kind)
            wider[: self._n] = self.values
            self._values = wider
        self._values[self._n : stop] = more
        self._n = stop

    @property
    def values(self) -> Array:
        """The values [n]."""
        return self._values[: self._n]
