"""Weighted co-clicks of every item with the items clicked near it, of which the largest are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from recx.core.compiled import compiled
from recx.core.ragged import blocks_of_groups, indptr_of
from recx.core.row_order import borders_and_rows
from recx.core.system.threads import side_by_side
from recx.core.types import Array, Floats, Interactions, Ints, Longs
from recx.parts.shared.heap import push

PIECES = 64  # of the items, about equal in their events, counted side by side


def co_clicks(
    history: Interactions,
    near: Floats,
    half_life: int | None,
    onward: float,
    back: float,
    scale: Floats,
    neighbours: int,
) -> Any:
    """Return the largest weights of each item with others as CSR [n_items, n_items], not in order within a row.

    Args:
        history: The clicks.
        near: The weight of a pair of clicks of a user by their distance in the sequence, from 1 [distance].
        half_life: The gap in time in ms that halves a weight; None, or no times: the gap does not count.
        onward: Factor on the weight of an item with a later one.
        back: Factor on the weight of an item with an earlier one.
        scale: Factor of each item on the weights of its pairs [n_items].
        neighbours: How many weights of each item are kept.
    """
    n_items, clicks = history.n_items, history.clicks
    time = np.zeros(0, dtype=np.int64) if half_life is None or history.time is None else history.time
    borders, rows = borders_and_rows(history.item, n_items)
    events = (history.item, history.user, time, rows, borders)

    def count(piece: tuple[int, int]) -> tuple[Longs, Ints, Floats]:
        start, stop = piece
        # An item has at most as many neighbours as there are events beside its own.
        most = np.minimum(2 * len(near) * clicks[start:stop], min(neighbours, n_items))
        length, room = np.zeros(stop - start, dtype=np.int64), int(most.sum())
        item, weight = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
        _count(*events, start, near, float(half_life or 1), onward, back, scale, most, item, weight, length)
        n = int(length.sum())
        return length, item[:n].copy(), weight[:n].copy()  # what was not needed is freed

    found = side_by_side(count, blocks_of_groups(borders, max(1, len(rows) // PIECES)))
    found = found or [(np.zeros(n_items, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))]
    length, item, weight = (np.concatenate(part) for part in zip(*found, strict=True))
    return sparse.csr_array((weight, item, indptr_of(length)), shape=(n_items, n_items))


@compiled("item", "weight", "length")
def _count(
    clicked: Ints,
    user: Ints,
    time: Longs,
    rows: Array,
    borders: Longs,
    start: int,
    near: Floats,
    half_life: float,
    onward: float,
    back: float,
    scale: Floats,
    most: Longs,
    item: Ints,
    weight: Floats,
    length: Longs,
) -> None:
    """Count the co-clicks of the items from ``start`` on and keep the neighbours of the largest normalised weights.

    Args:
        clicked: The item of each event [n].
        user: The user of each event [n].
        time: The time of each event [n] in ms; empty if the gap in time does not count.
        rows: The events by item [n].
        borders: Where the events of each item begin in ``rows`` [n_items + 1].
        start: The first item.
        near: The weight of a pair by its distance in the user's sequence, from 1 [distance].
        half_life: The gap in time in ms that halves a weight.
        onward: Factor on the weight of an item with a later one.
        back: Factor on the weight of an item with an earlier one.
        scale: Factor of each item on the weights of its pairs [n_items].
        most: How many neighbours each item may have [n].
        item: The neighbours of item after item, to write into; as long as all that there may be.
        weight: Their weights, to write into.
        length: The number of each item's neighbours, to write into [n].
    """
    total, touched = np.zeros(len(scale)), np.empty(len(scale), dtype=np.int32)
    written = 0
    for at in range(len(length)):
        own, n = start + at, 0
        for place in range(borders[own], borders[own + 1]):
            row = rows[place]
            for step in range(-len(near), len(near) + 1):
                other = row + step
                if step == 0 or other < 0 or other >= len(clicked) or user[other] != user[row] or clicked[other] == own:
                    continue
                value = np.float64(near[abs(step) - 1]) * (onward if step > 0 else back)
                if len(time) > 0:
                    value *= 2.0 ** (-abs(time[other] - time[row]) / half_life)
                if value > 0:
                    if total[clicked[other]] == 0:
                        touched[n] = clicked[other]
                        n += 1
                    total[clicked[other]] += value
        room = slice(written, written + most[at])
        best, best_item, size = weight[room], item[room], 0
        for place in range(n):
            other = touched[place]
            value = np.float32(total[other]) * (scale[own] * scale[other])
            total[other] = 0
            if value > 0:
                size = push(best, best_item, size, len(best), value, other)
        length[at] = size
        written += size
