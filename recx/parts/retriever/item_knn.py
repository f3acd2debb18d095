"""Item-based nearest neighbours: items that others clicked close to the user's last clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from recx.core.bounds import Decay, NonNegativeFloat, PositiveInt, checked
from recx.core.protocols import Seen
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.click_counts import keep_largest, last_clicks, pairs_within
from recx.parts.shared.top_k import top_k


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
        n = history.n_items
        total = sparse.csr_array((n, n), dtype=np.float32)
        for apart, earlier, later in pairs_within(history, self.distance):
            weight = np.full(len(earlier), self.position_decay ** (apart - 1), dtype=np.float32)
            if self.half_life is not None and history.time is not None:
                gap = history.time[later] - history.time[earlier]
                weight *= np.exp2(-gap / milliseconds(self.half_life, "retriever.half_life"))
            pair = (history.item[earlier], history.item[later])
            total += sparse.coo_array((weight, pair), shape=(n, n)).tocsr()
            total += sparse.coo_array((weight * np.float32(self.backward), pair[::-1]), shape=(n, n)).tocsr()
        total.setdiag(0)
        total.eliminate_zeros()
        return FittedItemKNN(self, keep_largest(self._normalised(total.tocsr(), history), self.neighbours))

    def _normalised(self, total: Any, history: Interactions) -> Any:
        power = {"cosine": 0.5, "lift": 1.0, "none": 0.0}[self.normalise]
        scale = ((np.maximum(history.clicks, 1) + self.shrink) ** -power).astype(np.float32)
        total.data *= scale[np.repeat(np.arange(total.shape[0]), np.diff(total.indptr))] * scale[total.indices]
        return total


@dataclass(frozen=True, eq=False)
class FittedItemKNN:
    """The fitted retriever.

    Attributes:
        settings: The settings of the fit.
        similarity: CSR [n_items, n_items]; row: the clicked item, column: the item to recommend.
    """

    settings: ItemKNN
    similarity: Any

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the items nearest to each user's last clicks; an item without such co-clicks is not retrieved."""

        def score(block: Requests) -> Any:
            return last_clicks(history, block, self.settings.last, self.settings.recency) @ self.similarity

        return top_k(score, history, requests, k, self.settings.seen)
