"""What ``fit`` of a feature returns: the feature with what the history decides.

Features that need the same, such as the counter of all clicks or the table of encoded texts, share its owner, which is
made once per history. All of it is dataclasses of arrays and settings, which other processes can have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from recx.core.memo import once_per_input
from recx.core.precision import Reals
from recx.core.types import Array, Floats, RankedLists, Requests

Known = TypeVar("Known")
Needed = TypeVar("Needed", contravariant=True)


class Formula(Protocol[Needed]):
    """A feature that says how its values follow from the candidates, the requests and what it needs of a history."""

    def values(self, known: Needed, candidates: RankedLists, requests: Requests) -> Reals:
        """Return one number per row [n_rows], or one per row and name [n_rows, n_names]."""


@dataclass(frozen=True, eq=False)
class FittedWith(Generic[Known]):
    """A feature whose values follow from the candidates, the requests and something that the history decides.

    Attributes:
        feature: The feature, whose method ``values`` computes them.
        known: What the history decides, in arrays or an owner of them; never the history itself, which would then be
            kept for as long as the process runs.
    """

    feature: Formula[Known]
    known: Known

    def __call__(self, candidates: RankedLists, requests: Requests) -> Reals:
        return _values(candidates, self, requests)


@once_per_input
def _values(candidates: RankedLists, fitted: FittedWith[Any], requests: Requests) -> Reals:
    """Return the values of a feature, once for the feature itself and all that are made of it."""
    return fitted.feature.values(fitted.known, candidates, requests)


@dataclass(frozen=True, eq=False)
class PerItem:
    """A feature that is a property of the item.

    Attributes:
        values: The value of each item [n_items].
    """

    values: Array

    def __call__(self, candidates: RankedLists, requests: Requests) -> Array:
        return self.values[candidates.item]


@dataclass(frozen=True)
class Constant:
    """A feature that is the same for all candidates, such as one that the data says nothing about.

    Attributes:
        value: The value.
    """

    value: float

    def __call__(self, candidates: RankedLists, requests: Requests) -> Floats:
        return np.full(len(candidates), self.value, dtype=np.float32)
