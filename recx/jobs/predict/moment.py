"""The time of a prediction as it is typed: a date, or a number in the unit of the run's data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from recx.core.clock import NANOSECONDS, described, misreading
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.experiment.model.moments import milliseconds_of
from recx.storage.readers.times import times

EXAMPLE = "2017-10-03T12:00"


def moment(text: str, dataset: Mapping[str, Any], history: Interactions) -> int:
    """Return a time in ms, before which an event must lie to be known.

    Args:
        text: A date or date and time of ISO 8601, in UTC unless it has a zone; or a number that counts what the times
            of the run's data count.
        dataset: The settings of the run's dataset, of which ``time_unit`` and ``relative_times`` are read, if it has
            them.
        history: The events of the model.

    Raises:
        InputError: The data has no times, the text is no time, it could mean another one, or no event lies before it.
    """
    where, text = f"--at {text}", text.strip()
    if history.time is None:
        raise InputError(f"{where}: the run's data has no times: leave it out")
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        try:
            return _checked(milliseconds_of(text, history), history, where)
        except InputError as error:
            raise error if str(error).startswith(where) else InputError(f"{where}: {error}") from error
    unit, relative = str(dataset.get("time_unit", "ms")), dataset.get("relative_times") is True
    if unit not in NANOSECONDS:
        raise InputError(f"{where}: the run's data has dates, not numbers: write one such as {EXAMPLE}")
    if len(text) > 18:
        raise InputError(f"{where}: the number is too large for a time: write a date such as {EXAMPLE}")
    raw = np.array([int(text.partition(".")[0])], dtype=np.int64)
    found = None if relative else misreading(raw, unit)
    if found is not None:
        raise InputError(f"{where}: {described(found, raw, unit)}: write the date, such as {EXAMPLE}")
    return _checked(int(times(pa.chunked_array([[text]]), f"relative {unit}", where)[0]), history, where)


def _checked(time: int, history: Interactions, where: str) -> int:
    """Return a time in ms if an event lies before it."""
    assert history.time is not None
    if len(history) and time <= history.time.min():
        first, at = (np.datetime64(int(one), "ms") for one in (history.time.min(), time))
        raise InputError(f"{where}: no event lies before it ({at}), since the first is of {first}: give a later time")
    return time
