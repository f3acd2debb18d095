"""Finds the rows of lists that show a target of their user."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from recx.core.ragged import blocks_of_groups, indptr_of, rows_of_groups
from recx.core.system.threads import side_by_side
from recx.core.types import Array, Bools, Ints, Longs

ROWS_AT_ONCE = 100_000  # keeps a block of lists in the processor's cache
MANY = 48  # targets of one user from which a search is faster than comparing the rows with each target in turn


def matches(indptr: Longs, item: Ints, target_indptr: Longs, target_item: Ints) -> tuple[Longs, Longs]:
    """Return the rows whose item is a target of their group [n_hits], rising, and the row of each one's target.

    Works in blocks of groups. A group's rows are compared with its first target, then with its second and so on, which
    takes a few instructions per row; groups with more than ``MANY`` targets are searched instead.
    """
    many = np.diff(target_indptr) > MANY

    def compared(block: tuple[int, int]) -> tuple[Longs, Longs]:
        borders = slice(block[0], block[1] + 1)
        return _compared(indptr[borders], item, target_indptr[borders], target_item, ~many[slice(*block)])

    few = side_by_side(compared, blocks_of_groups(indptr, ROWS_AT_ONCE))
    nothing = np.zeros((2, 0), dtype=np.int64)
    found = [nothing, *few, *_searched(indptr, item, target_indptr, target_item, np.flatnonzero(many))]
    rows, targets = (np.concatenate(part) for part in zip(*found, strict=True))
    if many.any():
        order = np.argsort(rows)
        rows, targets = rows[order], targets[order]
    return rows, targets


def _compared(indptr: Longs, item: Ints, target_indptr: Longs, target_item: Ints, groups: Bools) -> tuple[Longs, Longs]:
    """Match a block of groups by comparing all rows with each group's first target, second target and so on."""
    lengths = np.diff(indptr)
    shown: Array = item[indptr[0] : indptr[-1]]
    even = bool((lengths == lengths[0]).all()) and lengths[0] > 0
    shown = shown.reshape(len(lengths), -1) if even else shown
    n_targets = np.where(groups, np.diff(target_indptr), 0)
    which: Array = np.zeros(shown.shape, dtype=np.int8)  # 1 + the target's position in its group; 0: not a target
    for nth in range(int(n_targets.max(initial=0))):
        has = n_targets > nth
        wanted = np.full(len(lengths), -1, dtype=target_item.dtype)
        wanted[has] = target_item[target_indptr[:-1][has] + nth]
        same = shown == (wanted[:, None] if even else np.repeat(wanted, lengths))
        np.copyto(which, np.int8(nth + 1), where=same)
    which = which.ravel()
    rows = np.flatnonzero(which != 0)
    group = rows // lengths[0] if even else np.searchsorted(indptr - indptr[0], rows, side="right") - 1
    return rows + indptr[0], target_indptr[:-1][group] + which[rows] - 1


def _searched(
    indptr: Longs, item: Ints, target_indptr: Longs, target_item: Ints, groups: Longs
) -> Iterator[tuple[Longs, Longs]]:
    """Match these groups by binary search among the sorted keys (group, item) of their targets."""
    n_items = int(max(item.max(initial=0), target_item.max(initial=0))) + 1
    lengths = np.diff(indptr)[groups]
    for start, stop in blocks_of_groups(indptr_of(lengths), ROWS_AT_ONCE):
        some = groups[start:stop]
        targets, rows = rows_of_groups(target_indptr, some), rows_of_groups(indptr, some)
        of_target = np.repeat(np.arange(len(some)), np.diff(target_indptr)[some])
        known = of_target * n_items + target_item[targets]
        order = np.argsort(known)
        known = known[order]
        shown = np.repeat(np.arange(len(some)), lengths[start:stop]) * n_items + item[rows]
        place = np.minimum(np.searchsorted(known, shown), len(known) - 1)
        found = np.flatnonzero(known[place] == shown)
        yield rows[found], targets[order[place[found]]]
