"""The events of a period."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from recx.core.bounds import check
from recx.core.clock import RELATIVE
from recx.core.errors import InputError
from recx.core.subset import with_events
from recx.core.types import Interactions

EARLIEST = 10**10
"""In ms, April 1970: a smaller number is a year or a day, or counts seconds."""


@dataclass(frozen=True)
class Period:
    """Leaves out the events before and after a period. Items without events in it still compete.

    Attributes:
        since: When the period begins: a date, such as ``2017-10-01``, a date and time, or ms since 1970 (of times that
            count from a start of their own: ms from there). Without a time zone it is UTC. None: with the first event.
        until: When it ends, written in the same way; events at this very moment are left out. None: after the last.
    """

    since: str | int | None = None
    until: str | int | None = None

    def __post_init__(self) -> None:
        check(self, "filter.period")
        since, until = (_moment(getattr(self, name), name) for name in ("since", "until"))
        if since is not None and until is not None and since >= until:
            raise InputError(f"filter.period: since={self.since} is not before until={self.until}: swap or change them")

    def apply(self, interactions: Interactions) -> Interactions:
        """Return the events of the period.

        Raises:
            InputError: The data has no times, or a number that no time of this data can be.
        """
        time = interactions.time
        if time is None:
            raise InputError("filter.period needs times, and this data has none: remove it with ~filter.period")
        rows = np.ones(len(time), dtype=bool)
        for name, value in (("since", self.since), ("until", self.until)):
            relative, moment = RELATIVE in interactions.notes, _moment(value, name)
            if isinstance(value, str) and relative:
                raise InputError(
                    f"filter.period.{name}={value}: the times of this data count from a start of their own: give ms "
                    "from there"
                )
            if isinstance(value, int) and abs(value) < EARLIEST and not relative:
                raise InputError(
                    f"filter.period.{name}={value}: as ms since 1970 it lies in the first months of that year: write a "
                    "date, such as 2017-10-01"
                )
            if moment is not None:
                rows &= time >= moment if name == "since" else time < moment
        return with_events(interactions, rows)


def _moment(value: str | int | None, name: str) -> int | None:
    """Return a moment in ms since 1970."""
    if not isinstance(value, str):
        return value
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise InputError(
            f"filter.period.{name}={value}: it must be a date, such as 2017-10-01 or 2017-10-01T12:30, or ms since 1970"
        ) from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return round(found.timestamp() * 1000)
