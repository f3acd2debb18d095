"""Item-based nearest neighbours: items that others clicked close to the user's last clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recx.core.bounds import Decay, NonNegativeFloat, PositiveInt, checked
from recx.core.protocols import Seen
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Floats, Interactions, RankedLists, Requests
from recx.parts.shared.co_clicks import co_clicks
from recx.parts.shared.item_weights import ItemWeights, best_of_weights


@dataclass(frozen=True)
@checked("retriever")
class ItemKNN:
    """Scores items by their weighted co-clicks with the user's last clicks.

    A pair of events of one user adds ``position_decay ** (distance - 1) * 2 ** (-gap / half_life)`` to the co-click
    weight of the two items, multiplied by ``backward`` in the direction from the later item to the earlier one.

    With ``distance`` and ``last`` as long as the longest sequence, ``position_decay``, ``backward`` and ``recency`` of
    1 and ``shrink`` of 0, it is the item kNN of sets of items: the cosine of two items' users, added up over the user's
    items (Deshpande and Karypis, Item-based top-N recommendation algorithms, TOIS 2004).

    Attributes:
        neighbours: Number of neighbours stored for each item.
        nearest_to: Whose neighbours these are: of each ``clicked`` item, the items to recommend that are nearest to it;
            of each item to ``recommend``, the clicked items.
        sum_to_one: Whether the weights of an item's neighbours are divided by their sum.
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
    nearest_to: Literal["clicked", "recommend"] = "clicked"
    sum_to_one: bool = False
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
        half_life = None if self.half_life is None else milliseconds(self.half_life, "retriever.half_life")
        near = (self.position_decay ** np.arange(self.distance)).astype(np.float32)
        power = {"cosine": 0.5, "lift": 1.0, "none": 0.0}[self.normalise]
        scale = ((np.maximum(history.clicks, 1) + self.shrink) ** -power).astype(np.float32)
        onward, back = (1.0, self.backward) if self.nearest_to == "clicked" else (self.backward, 1.0)
        table = co_clicks(history, near, half_life, onward, back, scale, self.neighbours)
        if self.sum_to_one:
            total = np.asarray(table.sum(axis=1, dtype=np.float64))
            table.data /= np.repeat(total, np.diff(table.indptr)).astype(np.float32)
        worth = (self.recency ** np.arange(self.last)).astype(np.float32)
        weights = table if self.nearest_to == "clicked" else table.T.tocsr()
        return FittedItemKNN("retriever=item_knn", weights, self.seen, worth)


@dataclass(frozen=True, eq=False)
class FittedItemKNN(ItemWeights):
    """A fitted retriever that looks at a user's last clicks, repeated ones too, of which each has its own worth.

    Attributes:
        worth: The worth of a user's last click, of the one before, and so on [last].
    """

    worth: Floats

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the items nearest to each user's last clicks; an item without such co-clicks is not retrieved."""
        return best_of_weights(self.part, self.weights, history, self.worth, history, requests, k, self.seen)
