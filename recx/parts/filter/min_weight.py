"""Events with a weight that is high enough, such as ratings of 4 and 5."""

from __future__ import annotations

from dataclasses import dataclass

from recx.core.bounds import checked
from recx.core.errors import InputError
from recx.core.subset import with_events
from recx.core.types import Interactions


@dataclass(frozen=True)
@checked("filter.min_weight")
class MinWeight:
    """Leaves out events with a smaller weight. Items that have only such events still compete.

    Attributes:
        least: Smallest weight that is kept.
    """

    least: float = 4.0

    def apply(self, interactions: Interactions) -> Interactions:
        """Return the events with enough weight.

        Raises:
            InputError: No event is left since all weights are 1, as where no column of weights is read.
        """
        rows = interactions.weight >= self.least
        if len(rows) and not rows.any() and (interactions.weight == 1).all():
            raise InputError(
                f"filter.min_weight.least={self.least:g}: every event has the weight 1, as where the column of ratings "
                "is not read: name it, such as dataset.weight=rating, or remove the filter with ~filter.min_weight"
            )
        return with_events(interactions, rows)
