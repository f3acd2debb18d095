"""Item-based nearest neighbours: items that others clicked close to the user's last clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from recx.core.bounds import Decay, NonNegativeFloat, PositiveInt, checked
from recx.core.protocols import Seen
from recx.core.similar import Similar
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.co_clicks import co_clicks
from recx.parts.shared.item_weights import best_of_weights


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
        return FittedItemKNN(self, table if self.nearest_to == "clicked" else table.T.tocsr())


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
