"""RP3beta: a random walk from item to user to item, which avoids popular ones (Paudel et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from recx.core.bounds import NonNegativeFloat, PositiveInt, checked
from recx.core.compiled import compiled
from recx.core.protocols import Seen
from recx.core.ragged import blocks_of_groups, indptr_of
from recx.core.system.threads import side_by_side
from recx.core.types import Doubles, Floats, Interactions, Ints, Longs
from recx.parts.shared.heap import push
from recx.parts.shared.item_weights import ItemWeights, distinct_clicks

PIECES = 64  # of the items, about equal in their clicks, walked from side by side


@dataclass(frozen=True)
@checked("retriever")
class RP3Beta:
    """Scores items by the probability of a walk of three steps that starts at the user.

    The weight from item i to item j is ``sum over the users u of both (1 / n_i) ** alpha * (1 / n_u) ** alpha`` over
    ``n_j ** beta``, where n_i, n_j are the users of an item and n_u the items of a user (Paudel, Christoffel, Newell
    and Bernstein 2017, "Updatable, accurate, diverse, and scalable recommendations for interactive applications").

    Attributes:
        neighbours: Number of weights stored for each item, the largest.
        alpha: Exponent of the probabilities of a step.
        beta: Exponent of the users of the recommended item; 0: P3alpha.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    neighbours: PositiveInt = 200
    alpha: NonNegativeFloat = 1.0
    beta: NonNegativeFloat = 0.6
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> ItemWeights:
        """Add up the walks between the items that users have in common."""
        n_items, clicks = history.n_items, distinct_clicks(history)
        borders, users = clicks.by_item(n_items)
        of_item, of_user = np.diff(borders), np.diff(clicks.indptr)
        step = np.maximum(of_item, 1.0) ** -self.alpha
        leave = np.maximum(of_user, 1.0) ** -self.alpha
        scale = np.maximum(of_item, 1.0) ** -self.beta
        most = min(self.neighbours, n_items)

        def walk(piece: tuple[int, int]) -> tuple[Longs, Ints, Floats]:
            start, stop = piece
            length = np.zeros(stop - start, dtype=np.int64)
            item, weight = np.empty((stop - start, most), np.int32), np.empty((stop - start, most), np.float32)
            _walk(borders, users, clicks.indptr, clicks.item, start, step, leave, scale, item, weight, length)
            kept = np.arange(most) < length[:, None]
            return length, item[kept], weight[kept]

        found = side_by_side(walk, blocks_of_groups(borders, max(1, len(users) // PIECES)))
        found = found or [(np.zeros(n_items, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))]
        length, item, weight = (np.concatenate(part) for part in zip(*found, strict=True))
        table = sparse.csr_array((weight, item, indptr_of(length)), shape=(n_items, n_items))
        return ItemWeights("retriever=rp3beta", table, self.seen)


@compiled("item", "weight", "length")
def _walk(
    borders: Longs,
    users: Ints,
    indptr: Longs,
    clicked: Ints,
    start: int,
    step: Doubles,
    leave: Doubles,
    scale: Doubles,
    item: Ints,
    weight: Floats,
    length: Longs,
) -> None:
    """Write the largest weights of the items from ``start`` on into ``item`` and ``weight`` [n, most].

    Args:
        borders: Where the users of each item begin [n_items + 1].
        users: The users of item after item.
        indptr: Where the items of each user begin [n_users + 1].
        clicked: The items of user after user.
        start: The first item.
        step: Factor on the weights from each item [n_items].
        leave: Factor on the walks through each user [n_users].
        scale: Factor on the weights to each item [n_items].
        item: The items with the largest weights, to write into.
        weight: Their weights, to write into.
        length: The number of weights of each item, to write into [n].
    """
    total, touched = np.zeros(len(scale)), np.empty(len(scale), dtype=np.int32)
    for at in range(len(length)):
        own, n = start + at, 0
        for place in range(borders[own], borders[own + 1]):
            user = users[place]
            for other in clicked[indptr[user] : indptr[user + 1]]:
                if other != own:
                    if total[other] == 0:
                        touched[n] = other
                        n += 1
                    total[other] += leave[user]
        size = 0
        for other in touched[:n]:
            value = float(np.float32(step[own] * total[other] * scale[other]))  # as it is stored
            total[other] = 0
            if value > 0:
                size = push(weight[at], item[at], size, item.shape[1], value, other)
        length[at] = size
