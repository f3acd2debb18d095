"""Rows of events in the order of users and times: a counting sort by user, then a stable sort of each user's times."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recx.core.compiled import compiled
from recx.core.ragged import blocks, blocks_of_groups
from recx.core.system.threads import side_by_side

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
ROWS = 1 << 20
"""Rows that are copied at a time."""
PIECE = 1 << 22
"""Rows of the users whose events are sorted at a time."""
RUN = 16
"""Events up to which sorting by insertion is the fastest."""


class Moments(NamedTuple):
    """Space for the times and the rows of one user's events: each a pair of arrays, of which a sort fills either."""

    time: Longs
    row: Longs
    other_time: Longs
    other_row: Longs


def borders_and_rows(group: Ints, n_groups: int) -> tuple[Longs, Array]:
    """Return the borders of groups [n_groups + 1] and the rows by group [n], each group's in the given order.

    Rows are numbered in int32 where it holds their number.
    """
    indptr = np.zeros(n_groups + 1, dtype=np.int64)
    rows = np.empty(len(group), dtype=np.int32 if len(group) < 2**31 else np.int64)
    _place(group, indptr, rows)
    return indptr, rows


def sort_by_time(indptr: Longs, rows: Array, time: Longs, item: Ints, n_items: int) -> Bools:
    """Sort each user's rows by time, those of one time as they are given, and return which rows repeat an event.

    Args:
        indptr: Borders of the users' rows [n_users + 1].
        rows: The rows by user [n]: is sorted.
        time: The time of every row, as whole numbers [n].
        item: The item of every row [n].
        n_items: Number of items.

    Returns:
        Which of the sorted rows have the user, the item and the time of an earlier one [n].
    """
    twin = np.zeros(len(rows), dtype=bool)

    def sort(users: tuple[int, int]) -> None:
        _sort_users(*users, indptr, time, item, n_items, rows, twin)

    side_by_side(sort, blocks_of_groups(indptr, PIECE))
    return twin


def count_in_groups(chosen: Bools, indptr: Longs) -> Longs:
    """Return how many rows [n_rows] of each group are chosen [n_groups]."""
    counts = np.zeros(len(indptr) - 1, dtype=np.int64)
    _count(chosen, indptr, counts)
    return counts


def picked(values: Array, rows: Array) -> Array:
    """Return the values of these rows [n_rows], without rows in int64, as which NumPy would copy them all."""
    found = np.empty(len(rows), dtype=values.dtype)

    def pick(block: tuple[int, int]) -> None:
        found[slice(*block)] = values[rows[slice(*block)]]

    side_by_side(pick, blocks(len(rows), ROWS))
    return found


@compiled("counts")
def _count(chosen: Bools, indptr: Longs, counts: Longs) -> None:
    """Write how many rows of each group are chosen."""
    for group in range(len(counts)):
        for row in range(indptr[group], indptr[group + 1]):
            counts[group] += chosen[row]


@compiled("indptr")
def write_borders(group: Ints, indptr: Longs) -> None:
    """Write the borders of the rows of each group [n_groups + 1], zeros before."""
    for row in range(len(group)):
        indptr[group[row] + 1] += 1
    for at in range(1, len(indptr)):
        indptr[at] += indptr[at - 1]


@compiled("indptr", "rows")
def _place(group: Ints, indptr: Longs, rows: Array) -> None:
    """Write the borders of the groups (zeros before) and the rows by group."""
    write_borders(group, indptr)
    free = indptr[:-1].copy()
    for row in range(len(group)):
        rows[free[group[row]]] = row
        free[group[row]] += 1


@compiled("rows", "twin")
def _sort_users(
    start: int, stop: int, indptr: Longs, time: Longs, item: Ints, n_items: int, rows: Array, twin: Bools
) -> None:
    """Sort the rows of the users from ``start`` to ``stop``, and mark those that repeat an event."""
    longest = 0
    for user in range(start, stop):
        longest = max(longest, indptr[user + 1] - indptr[user])
    moment, row = np.empty(longest, np.int64), np.empty(longest, np.int64)
    space = Moments(moment, row, np.empty(longest, np.int64), np.empty(longest, np.int64))
    met = np.full(n_items, -1, np.int64)  # the last moment, by its first row, at which each item was met
    for user in range(start, stop):
        first, n = indptr[user], indptr[user + 1] - indptr[user]
        in_order = True
        for at in range(n):
            row[at] = rows[first + at]
            moment[at] = time[row[at]]
            in_order = in_order and (at == 0 or moment[at - 1] <= moment[at])
        if not in_order:
            sort_moments(space, n)
        begin = 0
        for at in range(n):
            rows[first + at] = row[at]
            if moment[at] != moment[begin]:
                begin = at
            elif at > begin:
                if at == begin + 1:
                    met[item[row[begin]]] = first + begin
                twin[first + at] = met[item[row[at]]] == first + begin
                met[item[row[at]]] = first + begin


@compiled("space")
def sort_moments(space: Moments, n: int) -> None:
    """Sort the first ``n`` times with their rows, equal times in the given order: runs by insertion, then merged."""
    time, row, other_time, other_row = space
    for first in range(0, n, RUN):
        for at in range(first + 1, min(first + RUN, n)):
            value, number, to = time[at], row[at], at
            while to > first and time[to - 1] > value:
                time[to], row[to] = time[to - 1], row[to - 1]
                to -= 1
            time[to], row[to] = value, number
    width = RUN
    while width < n:
        for first in range(0, n, 2 * width):
            middle, end = min(first + width, n), min(first + 2 * width, n)
            left, right = first, middle
            for to in range(first, end):
                if right >= end or (left < middle and time[left] <= time[right]):
                    other_time[to], other_row[to] = time[left], row[left]
                    left += 1
                else:
                    other_time[to], other_row[to] = time[right], row[right]
                    right += 1
        for at in range(n):
            time[at], row[at] = other_time[at], other_row[at]
        width *= 2
