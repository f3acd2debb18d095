"""The time of a request, as a person or a program gives it."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.clock import dates_in
from recx.core.errors import InputError
from recx.core.types import Interactions, Ints, Longs
from recx.experiment.model.counted import is_dated, last_time

if TYPE_CHECKING:
    import pandas as pd

    Moment = int | str | date | np.datetime64 | pd.Timestamp
    """Milliseconds since 1970 (or since the start that the data's times count from), or a date: without a zone, in UTC;
    as text, in the form of ISO 8601."""


def milliseconds_of(at: Any, history: Interactions) -> int:
    """Return a time as milliseconds: of events, only those before it are known to a request at this time.

    Args:
        at: The time (see ``Moment``).
        history: The events of the model, whose times say whether numbers are dates.

    Raises:
        InputError: The events have no times, or it is no time, or one in another unit than the events'.
    """
    if history.time is None:
        raise InputError("the model's events have no times, so a request has none either: leave out its time")
    if isinstance(at, str) and re.fullmatch(r"\s*[+-]?\d+\s*", at):
        at = int(at)
    dated = is_dated(history)
    if isinstance(at, int | np.integer) and not isinstance(at, bool | np.bool_):
        number = int(at)
        if number < 0 or number > np.iinfo(np.int64).max // 2:
            raise InputError(f"the time {number} is out of range: give milliseconds since 1970, or a date")
        if dated and not dates_in(np.array([number]), "ms").all():
            raise InputError(
                f"the time {number} would be {datetime.fromtimestamp(min(number // 1000, 2**37), UTC):%Y-%m-%d}, since "
                "it counts milliseconds, and the model's events are of "
                f"{datetime.fromtimestamp(last_time(history) // 1000, UTC):%Y}: give milliseconds, or a date such "
                "as 2024-05-31T12:00"
            )
        return number
    moment = _date_of(at)
    if not dated:
        raise InputError(f"the model's times are no dates, so {at} is not among them: give a number as the data does")
    if moment < 0:
        raise InputError(f"the time {at} lies before 1970: give a later one")
    return moment


def _date_of(at: Any) -> int:
    """Return a date as milliseconds since 1970, what is finer cut off."""
    what = f"{at!r} is no time: give milliseconds, or a date such as 2024-05-31T12:00 (in UTC unless it names a zone)"
    if isinstance(at, np.datetime64):
        if np.isnat(at):
            raise InputError(what)
        return int(at.astype("datetime64[ms]").astype(np.int64))
    if isinstance(at, str):
        try:
            at = datetime.fromisoformat(at.strip())
        except ValueError:
            raise InputError(what) from None
    if not isinstance(at, date) or at != at:  # NaT is a datetime for Python
        raise InputError(what)
    if not isinstance(at, datetime):
        at = datetime(at.year, at.month, at.day, tzinfo=UTC)
    since: timedelta = (at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def times_of(history: Interactions, user: Ints | Longs, counted: Interactions) -> Longs:
    """Return the default time of users' requests [n]: 1 ms after their last event; without one, after all events.

    Args:
        history: The events of these users.
        user: The users [n].
        counted: All events of the model.
    """
    assert history.time is not None
    stop = history.indptr[user + 1]
    some = stop > history.indptr[user]
    time = np.full(len(user), last_time(counted), dtype=np.int64)
    time[some] = history.time[stop[some] - 1]
    return time + 1
