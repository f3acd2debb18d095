"""The k-core of the events: users and items with enough events among one another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import NonNegativeInt, checked
from recx.core.subset import with_only
from recx.core.types import Interactions


@dataclass(frozen=True)
@checked("filter.k_core")
class KCore:
    """Removes users and items with too few events, again and again until none is left.

    Events are counted, so that a repeated pair of user and item counts each time, unless the filter ``repeats`` comes
    before this one. What is left does not depend on the order of removal.

    Attributes:
        users: Number of events that a user needs; 0: any.
        items: Number of events that an item needs; 0: any. Items with fewer are no longer items of the data.
    """

    users: NonNegativeInt = 5
    items: NonNegativeInt = 5

    def apply(self, interactions: Interactions) -> Interactions:
        """Return the core."""
        user, item = interactions.user, interactions.item
        while True:
            of_user = np.bincount(user, minlength=interactions.n_users)
            of_item = np.bincount(item, minlength=interactions.n_items)
            rows = (of_user >= self.users)[user] & (of_item >= self.items)[item]
            if rows.all():
                return with_only(interactions, users=of_user >= self.users, items=of_item >= self.items)
            user, item = user[rows], item[rows]
