"""Item-based nearest neighbours: items that others clicked close to the user's last clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from recx.core.bounds import Decay, NonNegativeFloat, PositiveInt, checked
from recx.core.compiled import compiled
from recx.core.protocols import Seen
from recx.core.ragged import blocks_of_groups, indptr_of
from recx.core.row_order import borders_and_rows
from recx.core.similar import Similar
from recx.core.system.durations import Duration, milliseconds
from recx.core.system.threads import side_by_side
from recx.core.types import Array, Floats, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.shared.heap import push
from recx.parts.shared.item_weights import best_of_weights

PIECES = 64  # of the items, about equal in their events, counted side by side


@dataclass(frozen=True)
@checked("retriever")
class ItemKNN:
    """Scores items by their weighted co-clicks with the user's last clicks.

    A pair of events of one user adds ``position_decay ** (distance - 1) * 2 ** (-gap / half_life)`` to the co-click
    weight of the two items, multiplied by ``backward`` in the direction from the later item to the earlier one.

    Attributes:
        neighbours: Number of neighbours stored for each item.
        distance: Largest distance between the two events of a pair in the user's sequence.
        position_decay: Factor on the weight of a pair for each further step of distance.
        half_life: Gap in time that halves the weight of a pair; None: the gap has no influence.
        backward: Weight of a pair from the later item to the earlier one.
        normalise: ``cosine`` divides by the square root of the product of both items' clicks, ``lift`` by the
            product, ``none`` by 1.
        shrink: Number added to the clicks of every item before normalising, which damps chance hits of rare items.
        last: Number of last clicks of the user that are scored against.
        recency: Weight of each click relative to the next newer one.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    neighbours: PositiveInt = 200
    distance: PositiveInt = 10
    position_decay: Decay = 0.8
    half_life: Duration | None = None
    backward: NonNegativeFloat = 0.7
    normalise: Literal["cosine", "lift", "none"] = "cosine"
    shrink: NonNegativeFloat = 1.0
    last: PositiveInt = 20
    recency: Decay = 0.7
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedItemKNN:
        """Count and normalise the co-clicks of all users."""
        n_items, clicks = history.n_items, history.clicks
        time, half_life = np.zeros(0, dtype=np.int64), 1.0
        if self.half_life is not None and history.time is not None:
            time, half_life = history.time, float(milliseconds(self.half_life, "retriever.half_life"))
        borders, rows = borders_and_rows(history.item, n_items)
        events = (history.item, history.user, time, rows, borders)
        near = (self.position_decay ** np.arange(self.distance)).astype(np.float32)
        power = {"cosine": 0.5, "lift": 1.0, "none": 0.0}[self.normalise]
        scale = ((np.maximum(clicks, 1) + self.shrink) ** -power).astype(np.float32)

        def count(piece: tuple[int, int]) -> tuple[Longs, Ints, Floats]:
            start, stop = piece
            # An item has at most as many neighbours as there are events beside its own.
            most = np.minimum(2 * self.distance * clicks[start:stop], min(self.neighbours, n_items))
            length, room = np.zeros(stop - start, dtype=np.int64), int(most.sum())
            item, weight = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
            _count(*events, start, near, half_life, self.backward, scale, most, item, weight, length)
            n = int(length.sum())
            return length, item[:n].copy(), weight[:n].copy()  # what was not needed is freed

        found = side_by_side(count, blocks_of_groups(borders, max(1, len(rows) // PIECES)))
        found = found or [(np.zeros(n_items, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))]
        length, item, weight = (np.concatenate(part) for part in zip(*found, strict=True))
        return FittedItemKNN(self, sparse.csr_array((weight, item, indptr_of(length)), shape=(n_items, n_items)))


@dataclass(frozen=True, eq=False)
class FittedItemKNN:
    """The fitted retriever.

    Attributes:
        settings: The settings of the fit.
        similarity: CSR [n_items, n_items]; row: the clicked item, column: the item to recommend.
    """

    settings: ItemKNN
    similarity: Any

    def for_users(self, history: Interactions) -> FittedItemKNN:
        return self

    def similar(self, item: int, k: int) -> Similar:
        """Return the items with the largest co-click weights after this one."""
        row = slice(self.similarity.indptr[item], self.similarity.indptr[item + 1])
        return Similar.best(self.similarity.indices[row], self.similarity.data[row], k)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the items nearest to each user's last clicks; an item without such co-clicks is not retrieved."""
        worth = (self.settings.recency ** np.arange(self.settings.last)).astype(np.float32)
        found = ("retriever=item_knn", self.similarity, history, worth)
        return best_of_weights(*found, history, requests, k, self.settings.seen)


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
    backward: float,
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
        backward: The weight of a pair from the later item to the earlier one.
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
                value = np.float64(near[abs(step) - 1]) * (1.0 if step > 0 else backward)
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
