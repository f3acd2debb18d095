"""Packs pieces of sequences into rows of one width, so that cost grows with events, not users x longest sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import Array, Longs, indptr_of, position_of_rows


@dataclass(frozen=True, eq=False)
class Packing:
    """The places of all pieces, which are numbered by falling length.

    Attributes:
        length: The length of each piece, int64 [n_pieces].
        row: The row of each piece, int64 [n_pieces].
        start: The first cell of each piece in its row, int64 [n_pieces].
        n_rows: The number of rows.
        width: The number of cells of a row.
    """

    length: Longs
    row: Longs
    start: Longs
    n_rows: int
    width: int

    def shuffled(self, rng: np.random.Generator) -> tuple[Packing, Longs]:
        """Return the packing with its rows in random order, and the piece for every place.

        Pieces swap places with others of the same length, so that rows combine different pieces in every epoch.
        """
        order = np.lexsort((rng.random(len(self.length)), -self.length))
        place = rng.permutation(self.n_rows)
        return Packing(self.length, place[self.row], self.start, self.n_rows, self.width), order

    def grid(self, first: Longs) -> tuple[Longs, Longs]:
        """Return the event in each cell and the cell's place in its piece.

        Args:
            first: The number of each piece's first event [n_pieces]; the others follow.

        Returns:
            (event, place), both int64 [n_rows, width]; -1 and 0 in an empty cell.
        """
        event = np.full(self.n_rows * self.width, -1, dtype=np.int64)
        place = np.zeros(self.n_rows * self.width, dtype=np.int64)
        inner = position_of_rows(indptr_of(self.length))
        cell = np.repeat(self.row * self.width + self.start, self.length) + inner
        event[cell] = np.repeat(first, self.length) + inner
        place[cell] = inner
        return event.reshape(self.n_rows, self.width), place.reshape(self.n_rows, self.width)

    def last(self, order: Longs) -> Longs:
        """Return the cell of the last event of each piece, given the pieces in the packing's order (see ``pack``)."""
        cell = np.empty(len(order), dtype=np.int64)
        cell[order] = self.row * self.width + self.start + self.length - 1
        return cell


def pack(lengths: Array, width: int) -> tuple[Packing, Longs]:
    """Return a packing of pieces with these lengths (1 to ``width``), and the pieces in its order (longest first).

    Best fit by falling length: a row takes the longest pieces that still fit. The same combination fills as many rows
    as there are pieces for, so the work grows with the number of distinct lengths, not of pieces.
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
    """Return the (length, number of pieces) pairs that fill one row."""
    taken, free = [], width
    for length in np.flatnonzero(counts)[::-1].tolist():
        number = min(int(counts[length]), free // length)
        if number:
            taken.append((length, number))
            free -= number * length
    return taken


def pieces(start: Longs, lengths: Longs, longest: int) -> tuple[Longs, Longs]:
    """Cut groups into pieces of at most ``longest`` events.

    A group is cut from its end, so that its newest events stay together.

    Args:
        start: The first event of each group, int64 [n_groups].
        lengths: The number of events of each group, int64 [n_groups].
        longest: The maximum length of a piece.

    Returns:
        The first event and the length of each piece, int64 [n_pieces].
    """
    number = -(-lengths // longest)
    group = np.repeat(np.arange(len(lengths)), number)
    after = np.repeat(number, number) - 1 - position_of_rows(indptr_of(number))  # pieces after this one
    stop = (start + lengths)[group] - after * longest
    first = np.maximum(stop - longest, start[group])
    return first, stop - first
