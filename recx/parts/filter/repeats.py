"""Repeated pairs of user and item, of which one event is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recx.core import ragged
from recx.core.bounds import checked
from recx.core.subset import with_events
from recx.core.types import Interactions


@dataclass(frozen=True)
@checked("filter.repeats")
class Repeats:
    """Keeps one event of each pair of user and item.

    Attributes:
        keep: The ``first`` or the ``last`` event of a pair.
    """

    keep: Literal["first", "last"] = "first"

    def apply(self, interactions: Interactions) -> Interactions:
        """Return the events without repeats."""
        item, indptr = interactions.item, interactions.indptr
        if self.keep == "first":
            return with_events(interactions, ~ragged.repeats(item, indptr))
        backwards = ragged.repeats(item[::-1], (len(item) - indptr)[::-1])
        return with_events(interactions, ~backwards[::-1])
