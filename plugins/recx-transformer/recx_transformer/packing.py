"""Packs pieces of sequences into rows of one width, so that cost follows events and not users x longest sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import Array, Longs, indptr_of, position_of_rows


@dataclass(frozen=True, eq=False)
class Packing:
    """Where every piece lies. Pieces are numbered by falling length.

    length, row, start: int64 [n_pieces]: a piece lies in cells ``start : start + length`` of its row.
    """

    length: Longs
    row: Longs
    start: Longs
    n_rows: int
    width: int

    def shuffled(self, rng: np.random.Generator) -> tuple[Packing, Longs]:
        """Return the same packing with its rows in another order, and a new piece for every place.

        The pieces change places with others of their length, so that rows hold other company in every epoch.
        """
        order = np.lexsort((rng.random(len(self.length)), -self.length))
        place = rng.permutation(self.n_rows)
        return Packing(self.length, place[self.row], self.start, self.n_rows, self.width), order

    def grid(self, first: Longs) -> tuple[Longs, Longs]:
        """Return (event, place), both int64 [n_rows, width].

        first: number of every piece's first event [n_pieces]; its others follow. ``event`` is -1 where a cell is
        empty, ``place`` is the cell's place in its piece (0 in an empty cell).
        """
        event = np.full(self.n_rows * self.width, -1, dtype=np.int64)
        place = np.zeros(self.n_rows * self.width, dtype=np.int64)
        inner = position_of_rows(indptr_of(self.length))
        cell = np.repeat(self.row * self.width + self.start, self.length) + inner
        event[cell] = np.repeat(first, self.length) + inner
        place[cell] = inner
        return event.reshape(self.n_rows, self.width), place.reshape(self.n_rows, self.width)


def pack(lengths: Array, width: int) -> tuple[Packing, Longs]:
    """Return a packing of pieces with these lengths (1 to ``width``) and the pieces in its order (longest first).

    Best fit by falling length: a row takes the longest pieces that still fit. What one row takes is taken by as many
    rows as there are pieces for, so the work grows with the number of distinct lengths and not of pieces.
    """
    order = np.argsort(-lengths, kind="stable")
    counts = np.bincount(lengths, minlength=width + 1)
    next_piece = np.concatenate([np.cumsum(counts[::-1])[::-1][1:], [0]])  # the first piece of every length
    row, start = np.empty(len(lengths), dtype=np.int64), np.empty(len(lengths), dtype=np.int64)
    n_rows = 0
    while counts.any():
        taken = _one_row(counts, width)
        rows = min(int(counts[length]) // number for length, number in taken)
        begin = 0
        for length, number in taken:
            pieces = slice(next_piece[length], next_piece[length] + rows * number)
            row[pieces] = n_rows + np.repeat(np.arange(rows), number)
            start[pieces] = np.tile(begin + length * np.arange(number), rows)
            begin += length * number
            counts[length] -= rows * number
            next_piece[length] += rows * number
        n_rows += rows
    return Packing(lengths[order].astype(np.int64), row, start, n_rows, width), order


def _one_row(counts: Longs, width: int) -> list[tuple[int, int]]:
    """Return (length, number of pieces) of what one row takes."""
    taken, free = [], width
    for length in np.flatnonzero(counts)[::-1].tolist():
        number = min(int(counts[length]), free // length)
        if number:
            taken.append((length, number))
            free -= number * length
    return taken


def pieces(start: Longs, lengths: Longs, longest: int) -> tuple[Longs, Longs]:
    """Cut groups into pieces of at most ``longest`` events: (first event, length) of each.

    start, lengths: int64 [n_groups]. A group is cut from its end, so that its newest events stand together.
    """
    number = -(-lengths // longest)
    group = np.repeat(np.arange(len(lengths)), number)
    after = np.repeat(number, number) - 1 - position_of_rows(indptr_of(number))  # pieces after this one
    stop = (start + lengths)[group] - after * longest
    first = np.maximum(stop - longest, start[group])
    return first, stop - first
