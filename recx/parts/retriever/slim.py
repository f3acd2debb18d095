"""SLIM: a sparse linear item-item model (Ning and Karypis 2011, "SLIM: sparse linear methods for top-N …")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from recx.core.bounds import NonNegativeFloat, PositiveFloat, PositiveInt, checked
from recx.core.compiled import compiled
from recx.core.errors import InputError
from recx.core.protocols import Seen
from recx.core.ragged import blocks_of_groups, indptr_of
from recx.core.system.threads import side_by_side
from recx.core.types import Floats, Interactions, Ints, Longs
from recx.parts.shared.item_weights import ItemWeights, distinct_clicks

PIECES = 256  # of the items, about equal in the items clicked with them, solved side by side


@dataclass(frozen=True)
@checked("retriever")
class SLIM:
    """Learns weights W >= 0 with a zero diagonal that minimise ``|X - X W|^2 / 2 + l2 |W|^2 / 2 + l1 sum(W)``.

    X holds the users' clicks as 0 and 1, and the scores are X W. Each column is solved by coordinate descent over the
    items that were clicked by a user of its item: the weights of all others are 0 at the minimum.

    Attributes:
        l1: Penalty on the sum of the weights: the larger, the fewer are left.
        l2: Penalty on the squared weights.
        max_pairs: Largest number of pairs of items with a user in common; 12 bytes each.
        iterations: Most sweeps over the weights of an item.
        tolerance: A sweep that changes no weight by more than this is the last.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    l1: NonNegativeFloat = 1.0
    l2: NonNegativeFloat = 10.0
    max_pairs: PositiveInt = 500_000_000
    iterations: PositiveInt = 100
    tolerance: PositiveFloat = 1e-4
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> ItemWeights:
        """Solve for the weights to every item.

        Raises:
            InputError: More pairs of items than ``max_pairs`` have a user in common.
        """
        n_items, clicks = history.n_items, distinct_clicks(history)
        ones = np.ones(len(clicks.item), dtype=np.float32)
        matrix = sparse.csr_array((ones, clicks.item, clicks.indptr), shape=(history.n_users, n_items))
        lengths = np.diff(clicks.indptr).astype(np.float64)
        most = min(float((lengths**2).sum()), float(n_items) ** 2)  # there can be no more: counting takes the memory
        if most > self.max_pairs:
            raise InputError(
                f"retriever=slim could need the clicks in common of {most:,.0f} pairs of items: raise "
                "retriever.max_pairs (12 bytes each), drop busy users with filter, or choose retriever=rp3beta"
            )
        gram = sparse.csr_array(matrix.T @ matrix)
        table = (gram.indptr.astype(np.int64), gram.indices, gram.data)
        l1, l2, tolerance = float(self.l1), float(self.l2), float(self.tolerance)

        def solve(piece: tuple[int, int]) -> tuple[Longs, Ints, Floats]:
            start, stop = piece
            room, length = int(table[0][stop] - table[0][start]), np.zeros(stop - start, dtype=np.int64)
            item, weight = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
            _solve(*table, start, l1, l2, self.iterations, tolerance, item, weight, length)
            n = int(length.sum())
            return length, item[:n].copy(), weight[:n].copy()

        found = side_by_side(solve, blocks_of_groups(table[0], max(1, len(gram.data) // PIECES)))
        found = found or [(np.zeros(n_items, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))]
        length, item, weight = (np.concatenate(part) for part in zip(*found, strict=True))
        to_item = sparse.csc_array((weight, item, indptr_of(length)), shape=(n_items, n_items))
        return ItemWeights("retriever=slim", to_item.tocsr(), self.seen)


@compiled("item", "weight", "length")
def _solve(
    borders: Longs,
    near: Ints,
    common: Floats,
    start: int,
    l1: float,
    l2: float,
    iterations: int,
    tolerance: float,
    item: Ints,
    weight: Floats,
    length: Longs,
) -> None:
    """Write the weights above 0 to the items from ``start`` on, item after item.

    Args:
        borders: Where the items clicked with each item begin [n_items + 1].
        near: These items, the item itself among them.
        common: The number of users of both.
        start: The first item.
        l1: Penalty on the sum of the weights.
        l2: Penalty on their squares.
        iterations: Most sweeps over the weights of an item.
        tolerance: The largest change of a weight in the last sweep.
        item: The items with a weight, to write into; as long as all that there may be.
        weight: Their weights, to write into.
        length: The number of weights to each item, to write into [n].
    """
    n_items = len(borders) - 1
    place, own_count = np.full(n_items, -1, dtype=np.int64), np.zeros(n_items)
    for one in range(n_items):
        for entry in range(borders[one], borders[one + 1]):
            if near[entry] == one:
                own_count[one] = common[entry]
    written = 0
    for at in range(len(length)):
        target = start + at
        sub, counts = near[borders[target] : borders[target + 1]], common[borders[target] : borders[target + 1]]
        for row in range(len(sub)):
            if sub[row] != target:
                place[sub[row]] = row
        value, rest = np.zeros(len(sub)), counts.astype(np.float64)  # rest: what the weights do not explain yet
        for _ in range(iterations):
            largest = 0.0
            for row in range(len(sub)):
                one = sub[row]
                if one == target or (value[row] == 0 and rest[row] <= l1):
                    continue
                new = max(0.0, (rest[row] + own_count[one] * value[row] - l1) / (own_count[one] + l2))
                change = new - value[row]
                if change == 0:
                    continue
                value[row] = new
                largest = max(largest, abs(change))
                for entry in range(borders[one], borders[one + 1]):
                    other = place[near[entry]]
                    if other >= 0:
                        rest[other] -= change * common[entry]
            if largest <= tolerance:
                break
        for row in range(len(sub)):
            place[sub[row]] = -1
            if value[row] > 0:
                item[written], weight[written] = sub[row], value[row]
                written += 1
                length[at] += 1
