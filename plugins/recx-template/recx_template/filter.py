"""A filter: what is left out of the data before it is split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import InputError, Interactions, NonNegativeInt, checked, with_events


@dataclass(frozen=True)
@checked("filter.template")  # checks each setting against its annotation
class WithoutHours:
    """Leaves out the events of some hours of the day (UTC), such as those in which a job clicks.

    Attributes:
        since: The first of these hours.
        until: The hour that ends them.
    """

    since: NonNegativeInt = 2
    until: NonNegativeInt = 4

    def apply(self, interactions: Interactions) -> Interactions:
        if interactions.time is None:
            raise InputError("filter.template needs times, and this data has none: remove it with ~filter.template")
        hour = interactions.time // 3_600_000 % 24
        left_out = np.isin(hour, np.arange(self.since, self.until))
        return with_events(interactions, ~left_out)  # users who lose all events leave; items stay
