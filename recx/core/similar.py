"""The items near an item, from fitted retrievers that know them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from recx.core.precision import Reals
from recx.core.types import Array, Ints


@dataclass(frozen=True, eq=False)
class Similar:
    """Items near an item, nearest first.

    Attributes:
        item: Their numbers [n].
        score: How near each of them is [n].
        by: The source of a union that says so; "" for a retriever that is no union.
    """

    item: Ints
    score: Reals
    by: str = ""

    @classmethod
    def best(cls, item: Array, score: Reals, k: int) -> Similar:
        """Return the ``k`` items [n] of the largest scores [n], ties broken by number.

        Args:
            item: The items [n].
            score: Their scores [n].
            k: How many are returned at most.
        """
        order = np.lexsort((item, -score))[:k]
        return cls(np.asarray(item[order], dtype=np.int32), score[order])


@runtime_checkable
class FindsSimilar(Protocol):
    """A fitted retriever that knows which items are near an item."""

    def similar(self, item: int, k: int) -> Similar:
        """Return the at most ``k`` items nearest to an item, which is not among them; none if it knows none."""
