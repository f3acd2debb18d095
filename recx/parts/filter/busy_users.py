"""Users who are too busy to be people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import PositiveInt, checked
from recx.core.errors import InputError
from recx.core.subset import with_only
from recx.core.types import Interactions

DAY = 24 * 3_600_000  # ms


@dataclass(frozen=True)
@checked("filter.busy_users")
class BusyUsers:
    """Removes users, with all their events, who have more than so many events on one day. All items still compete.

    Attributes:
        per_day: Largest number of events of a user on one day, which begins at midnight UTC.
    """

    per_day: PositiveInt = 1000

    def apply(self, interactions: Interactions) -> Interactions:
        """Return the data of the other users.

        Raises:
            InputError: The data has no times.
        """
        if interactions.time is None:
            raise InputError("filter.busy_users needs times, and this data has none: remove it with ~filter.busy_users")
        user, day = interactions.user, interactions.time // DAY
        # Events are sorted by time, so that more than n lie on one day where the n-th after an event does.
        later = slice(self.per_day, None)
        same = (user[later] == user[: -self.per_day]) & (day[later] == day[: -self.per_day])
        calm = np.ones(interactions.n_users, dtype=bool)
        calm[user[later][same]] = False
        return with_only(interactions, users=calm)
