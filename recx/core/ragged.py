"""Arrays grouped like the rows of a CSR matrix: group ``g`` is ``indptr[g]:indptr[g + 1]``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from recx.core.system.threads import side_by_side

Array = npt.NDArray[Any]
Longs = npt.NDArray[np.int64]

ROWS_AT_ONCE = 100_000  # keeps a block of groups in the processor's cache
FEW_ROWS = 1_000  # up to here, one sort of all rows takes less than preparing one per group


def indptr_of(lengths: Array) -> Longs:
    """Return ``indptr`` [n + 1] of groups with these lengths [n]."""
    indptr = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


def check_borders(indptr: Array, n_rows: int) -> None:
    """Raise ValueError unless these are the borders of groups of so many rows."""
    ends = indptr.ndim == 1 and len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == n_rows
    if not ends or (np.diff(indptr) < 0).any():
        raise ValueError(f"borders that are not those of groups of {n_rows} rows")


def check_numbers(numbers: Array, n: int) -> None:
    """Raise ValueError unless all numbers are 0 or more and below ``n``."""
    if numbers.dtype.kind not in "iu" or (numbers.size and not 0 <= numbers.min() <= numbers.max() < n):
        raise ValueError(f"numbers that are not all from 0 to {n - 1}")


def group_of_rows(indptr: Longs) -> Longs:
    """Return the group of every row [n_rows].

    Args:
        indptr: Borders of the groups' rows [n_groups + 1].
    """
    return np.arange(len(indptr) - 1).repeat(indptr[1:] - indptr[:-1])


def position_of_rows(indptr: Longs) -> Longs:
    """Return every row's position in its group, from 0 [n_rows].

    Args:
        indptr: Borders of the groups' rows [n_groups + 1].
    """
    start = indptr[:-1]
    position: Longs = np.arange(indptr[-1] - indptr[0])
    position -= (start - indptr[0]).repeat(indptr[1:] - start)
    return position


def rows_of_groups(indptr: Longs, groups: Array) -> Longs:
    """Return the rows of the chosen groups, group after group in the given order.

    Args:
        indptr: Borders of the groups' rows [n_groups + 1].
        groups: Numbers of groups.
    """
    chosen = np.arange(len(indptr) - 1)[groups] if groups.dtype == bool else groups
    lengths = indptr[chosen + 1] - indptr[chosen]
    return indptr[chosen].repeat(lengths) + position_of_rows(indptr_of(lengths))


def first_rows(indptr: Longs, k: int) -> tuple[Longs | slice, Longs]:
    """Return the first ``k`` rows of each group (a slice of all rows if no group has more), and their ``indptr``."""
    lengths = np.minimum(indptr[1:] - indptr[:-1], k)
    kept = indptr_of(lengths)
    if kept[-1] == indptr[-1]:
        return slice(None), kept
    return indptr[:-1].repeat(lengths) + position_of_rows(kept), kept


def sum_of_groups(values: Array, indptr: Longs) -> Array:
    """Return each group's sum [n_groups]; 0 for an empty group.

    Args:
        values: A value for each row [n_rows].
        indptr: Borders of the groups' rows [n_groups + 1].
    """
    return _reduced(np.add, 0.0, values, indptr)


def prefixes(lengths: Longs, indptr: Longs) -> npt.NDArray[np.bool_]:
    """Return which rows [n_rows] are among the first of their group, whose number is given [n_groups]."""
    inside = np.tile([True, False], len(lengths))
    return np.repeat(inside, np.column_stack([lengths, np.diff(indptr) - lengths]).ravel())


def max_of_groups(values: Array, indptr: Longs) -> Array:
    """Return each group's largest value [n_groups]; -inf for an empty group.

    Args:
        values: A value for each row [n_rows].
        indptr: Borders of the groups' rows [n_groups + 1].
    """
    return _reduced(np.maximum, -np.inf, values, indptr)


def _reduced(operation: np.ufunc, empty: float, values: Array, indptr: Longs) -> Array:
    result = np.full(len(indptr) - 1, empty, dtype=np.result_type(values.dtype, np.float32))
    filled = (indptr[1:] != indptr[:-1]).nonzero()[0]
    if len(filled):
        result[filled] = operation.reduceat(values, indptr[filled], dtype=result.dtype)
    return result


def distinct(keys: Longs) -> Longs:
    """Return the sorted distinct keys, ten times as fast as ``numpy.unique``, which hashes integers first."""
    keys = np.sort(keys)
    first = np.ones(len(keys), dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    return keys[first]


def blocks(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the borders (start, stop) of consecutive blocks of at most ``size`` that cover ``range(n)``."""
    for start in range(0, n, size):
        yield start, min(start + size, n)


def blocks_of_groups(indptr: Longs, rows: int) -> list[tuple[int, int]]:
    """Return the borders (start, stop) of consecutive blocks of whole groups with about ``rows`` rows each."""
    if 0 < indptr[-1] <= rows:
        return [(0, len(indptr) - 1)]
    borders = [*np.searchsorted(indptr, np.arange(0, indptr[-1], rows)).tolist(), len(indptr) - 1]
    return [(start, stop) for start, stop in pairwise(borders) if start < stop]


def rows_by_group(group: Array) -> Longs:
    """Return the rows sorted by group (int32 from 0, [n_rows]), each group's in the given order.

    Sorts numbers made of group and row, which on 30 million rows takes a quarter of the time of a stable sort.
    """
    key: Longs = group.astype(np.int64) << 32
    key |= np.arange(len(group))
    key.sort()
    key &= 2**32 - 1
    return key


def in_order(score: Array, indptr: Longs) -> bool:
    """Return whether no score [n_rows] increases within its group."""
    return not rises(score, indptr).any()


def rises(score: Array, indptr: Longs) -> npt.NDArray[np.bool_]:
    """Return which rows are larger than the previous row of the same group [n_rows + 1]."""
    rising = np.zeros(len(score) + 1, dtype=bool)
    if len(score):
        np.greater(score[1:], score[:-1], out=rising[1:-1])
    rising[indptr[:-1]] = False  # between two groups
    return rising


def has_twice(item: Array, indptr: Longs, rows: int = ROWS_AT_ONCE) -> bool:
    """Return whether a group holds an item (integers from 0, [n_rows]) more than once."""
    n_items = int(item.max(initial=0)) + 1
    blocks = blocks_of_groups(indptr, rows)
    return any(side_by_side(lambda block: _twice(_sorted(item, indptr, n_items, *block)), blocks))


def repeats(item: Array, indptr: Longs, rows: int = ROWS_AT_ONCE) -> npt.NDArray[np.bool_]:
    """Return which rows repeat an item of an earlier row of their group [n_rows]."""
    again = np.zeros(len(item), dtype=bool)
    n_items = int(item.max(initial=0)) + 1

    def mark(block: tuple[int, int]) -> None:
        if _twice(_sorted(item, indptr, n_items, *block)):
            key = _keys(item, indptr, n_items, *block)
            order = np.argsort(key, kind="stable")
            same = key[order[1:]] == key[order[:-1]]
            again[indptr[block[0]] + order[1:][same]] = True

    side_by_side(mark, blocks_of_groups(indptr, rows))
    return again


def same_items(item: Array, other: Array, indptr: Longs, rows: int = ROWS_AT_ONCE) -> bool:
    """Return whether every group holds the same items (integers from 0, [n_rows] each), in any order."""
    n_items = int(max(item.max(initial=0), other.max(initial=0))) + 1

    def same(block: tuple[int, int]) -> bool:
        return np.array_equal(_sorted(item, indptr, n_items, *block), _sorted(other, indptr, n_items, *block))

    return all(side_by_side(same, blocks_of_groups(indptr, rows)))


def _sorted(item: Array, indptr: Longs, n_items: int, start: int, stop: int) -> Array:
    """Return the items of a block of groups, each group's sorted: a table if all have one length, else keys."""
    length = int(indptr[start + 1] - indptr[start])
    if (indptr[start + 1 : stop + 1] - indptr[start:stop] == length).all():
        return np.sort(item[indptr[start] : indptr[stop]].reshape(stop - start, length), axis=1)
    return np.sort(_keys(item, indptr, n_items, start, stop))


def _keys(item: Array, indptr: Longs, n_items: int, start: int, stop: int) -> Array:
    """Return the items of a block of groups, offset by the group's position, so that no two groups share one."""
    narrow = (stop - start) * n_items < 2**31  # half the size, half the time
    first = np.arange(stop - start, dtype=np.int32 if narrow else np.int64) * n_items
    key: Array = np.repeat(first, np.diff(indptr[start : stop + 1]))
    key += item[indptr[start] : indptr[stop]].astype(key.dtype, copy=False)
    return key


def _twice(ordered: Array) -> bool:
    return bool((ordered[..., 1:] == ordered[..., :-1]).any())


def sorted_in_groups(score: Array, indptr: Longs, *others: Array) -> tuple[Array, ...]:
    """Return a score and other arrays [n_rows each], sorted by it as ``order_in_groups`` does; themselves if they are.

    Works in blocks, so that no order of all rows is held, which would be larger than the arrays.
    """
    arrays = (score, *others)
    if in_order(score, indptr):
        return arrays
    results = tuple(map(np.empty_like, arrays))

    def fill(block: tuple[int, int]) -> None:
        borders = indptr[block[0] : block[1] + 1]
        rows = slice(int(borders[0]), int(borders[-1]))
        order = order_in_groups(score[rows], borders - borders[0])
        for array, result in zip(arrays, results, strict=True):
            result[rows] = array[rows][order]

    side_by_side(fill, blocks_of_groups(indptr, ROWS_AT_ONCE))
    return results


def order_in_groups(score: Array, indptr: Longs, cells: int = 500_000) -> Longs:
    """Return the rows sorted within their groups by decreasing score, ties in the given order [n_rows].

    Groups that are already in order cost one comparison per row. The others are padded to the longest of their block
    and sorted row by row, in blocks of about ``cells`` cells that fit into the processor's cache: on 100 million rows
    this takes a twentieth of the time of one ``lexsort``. Groups are processed by length, so that one long group does
    not pad the others.

    Args:
        score: A score for each row [n_rows].
        indptr: Borders of the groups' rows [n_groups + 1].
        cells: The size of a block, in padded cells.
    """
    order = np.arange(indptr[-1])
    rising = rises(score, indptr)
    if not rising.any():
        return order
    key = ~score if score.dtype.kind in "iu" else -score  # the reverse order, without overflow or rounding
    if len(order) <= FEW_ROWS:
        return np.lexsort((key, group_of_rows(indptr)))
    lengths = np.diff(indptr)
    unsorted = np.add.reduceat(rising, np.minimum(indptr[:-1], len(order)), dtype=np.int64) > 0
    by_length = np.flatnonzero(unsorted & (lengths > 1))
    by_length = by_length[np.argsort(lengths[by_length], kind="stable")]
    start = 0
    while start < len(by_length):
        longest = int(lengths[by_length[start]])
        stop = min(start + max(1, cells // longest), len(by_length))
        # Stop at groups of twice the first one's length: padding then at most doubles the cost.
        stop = start + max(1, int(np.searchsorted(lengths[by_length[start:stop]], 2 * longest, side="right")))
        groups = by_length[start:stop]
        order[rows_of_groups(indptr, groups)] = _sorted_rows(key, indptr, groups)
        start = stop
    return order


def _sorted_rows(key: Array, indptr: Longs, groups: Array) -> Longs:
    """Return the rows of the groups, group after group, by increasing key; the groups' lengths must increase."""
    lengths = np.diff(indptr)[groups]
    first, width = indptr[:-1][groups], int(lengths[-1])
    inside = np.arange(width) < lengths[:, None]
    rows = first[:, None] + np.arange(width)
    last = np.inf if key.dtype.kind == "f" else np.iinfo(key.dtype).max
    padded = np.where(inside, key[np.minimum(rows, len(key) - 1)], last) if lengths[0] < width else key[rows]
    # The unstable sort is several times faster; only groups with equal keys are sorted again.
    places = np.argsort(padded, axis=1)
    ordered = np.take_along_axis(padded, places, axis=1)
    tied = ((ordered[:, 1:] == ordered[:, :-1]) & inside[:, 1:]).any(axis=1)
    places[tied] = np.argsort(padded[tied], axis=1, kind="stable")
    sorted_rows: Longs = (first[:, None] + places)[inside]
    return sorted_rows
