"""Whole numbers are numbered while they are read, a block at a time, so that the raw ids of all rows are never held."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from recx.core.compiled import compiled

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Array = npt.NDArray[Any]
FIRST = 1 << 16
"""Slots of a new table, a power of 2 from 2 up; it is doubled where three quarters of them are taken."""
ODD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: the upper bits of a product with it differ for numbers that are close together."""


class IdTable:
    """Numbers whole numbers by first appearance."""

    def __init__(self) -> None:
        self._raw, self._code = np.zeros(FIRST, np.int64), np.full(FIRST, -1, np.int32)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def number(self, raw: Longs, codes: Ints) -> None:
        """Write the numbers of the next rows.

        Args:
            raw: The next rows [n].
            codes: Their numbers [n]: is written.
        """
        row = 0
        while True:
            row, self._n = _number(raw, row, self._n, self._raw, self._code, codes)
            if row == len(raw):
                return
            self._grow()

    @property
    def ids(self) -> Longs:
        """The whole numbers by their number [n_ids]."""
        taken = np.flatnonzero(self._code >= 0)
        ids = np.empty(self._n, dtype=np.int64)
        ids[self._code[taken]] = self._raw[taken]
        return ids

    def _grow(self) -> None:
        ids, slots = self.ids, 2 * len(self._raw)
        self._raw, self._code = np.zeros(slots, np.int64), np.full(slots, -1, np.int32)
        _number(ids, 0, 0, self._raw, self._code, np.empty(len(ids), np.int32))


@compiled("known", "code", "codes")
def _number(raw: Longs, row: int, n: int, known: Longs, code: Ints, codes: Ints) -> tuple[int, int]:
    """Number rows until the table is too full; return the first row that is left and how many ids there are.

    Args:
        raw: The rows.
        row: The first row to number.
        n: How many ids there are.
        known: The id in each slot [n_slots], a power of 2: is written.
        code: The number of the id in each slot, -1 in a free one: is written.
        codes: The number of each row: is written.
    """
    last = len(known) - 1
    shift = np.uint64(64)
    slots = len(known)
    while slots > 1:
        slots //= 2
        shift -= np.uint64(1)
    while row < len(raw):
        if row > 0 and raw[row] == raw[row - 1]:
            codes[row] = codes[row - 1]
            row += 1
            continue
        slot = np.int64((np.uint64(raw[row]) * ODD) >> shift)
        while code[slot] >= 0 and known[slot] != raw[row]:
            slot = (slot + 1) & last
        if code[slot] < 0:
            if 4 * (n + 1) > 3 * len(known):  # a slot must stay free, at which a search ends
                return row, n
            known[slot], code[slot] = raw[row], n
            n += 1
        codes[row] = code[slot]
        row += 1
    return row, n
