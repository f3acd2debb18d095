"""Users or items with as many events as are asked for; the others are removed."""

from __future__ import annotations

from dataclasses import dataclass

from recx.core.bounds import NonNegativeInt, PositiveInt, check
from recx.core.errors import InputError
from recx.core.subset import with_only
from recx.core.types import Bools, Interactions, Longs


@dataclass(frozen=True)
class UserEvents:
    """Removes users with too few or too many events.

    Attributes:
        least: Number of events that a user needs.
        most: Largest number of events of a user; None: any number.
    """

    least: NonNegativeInt = 5
    most: PositiveInt | None = None

    def __post_init__(self) -> None:
        check(self, "filter.user_events")
        _check_order(self.least, self.most, "filter.user_events")

    def apply(self, interactions: Interactions) -> Interactions:
        """Return the data of the users who are left."""
        return with_only(interactions, users=_within(interactions.lengths, self.least, self.most))


@dataclass(frozen=True)
class ItemEvents:
    """Removes items with too few or too many events: they are no longer items of the data, and do not compete.

    Attributes:
        least: Number of events that an item needs; with 1, items without any event leave.
        most: Largest number of events of an item; None: any number.
    """

    least: NonNegativeInt = 5
    most: PositiveInt | None = None

    def __post_init__(self) -> None:
        check(self, "filter.item_events")
        _check_order(self.least, self.most, "filter.item_events")

    def apply(self, interactions: Interactions) -> Interactions:
        """Return the data of the items that are left, without users who had others only."""
        return with_only(interactions, items=_within(interactions.clicks, self.least, self.most))


def _within(counts: Longs, least: int, most: int | None) -> Bools:
    return (counts >= least) & (counts <= (counts.max(initial=0) if most is None else most))


def _check_order(least: int, most: int | None, key: str) -> None:
    if most is not None and most < least:
        raise InputError(f"{key}: least={least} is above most={most}, which nothing can be: swap or change them")
