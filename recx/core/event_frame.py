"""From a frame of events to the arrays of ``Interactions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from recx.core.clock import in_milliseconds
from recx.core.entities import Entities, check_columns, numbered, refuse_headers
from recx.core.errors import InputError
from recx.core.event_order import EventOrder, rows_in_order
from recx.core.frame_times import notes_on, repeated, times_of_frame
from recx.core.precision import Reals, floats_of, narrowed
from recx.core.ragged import indptr_of

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[Any]
Duplicates = Literal["drop", "keep"]


def arrays_of(
    frame: pd.DataFrame,
    users: Entities | None,
    items: Entities | None,
    order: tuple[EventOrder, int],
    relative_times: bool,
    duplicates: Duplicates,
) -> dict[str, Any]:
    """Return the arguments of ``Interactions`` (see ``Interactions.from_frame``); ``order`` comes with its seed.

    Raises:
        InputError: The frame cannot be used.
    """
    check_columns(frame)
    refuse_headers(frame, "the events")
    time = times_of_frame(frame["time"], relative_times) if "time" in frame else None
    weight: Reals = np.ones(len(frame), dtype=np.float32)
    notes: dict[str, float] = {}
    if "weight" in frame:
        weight = _weights(frame["weight"])
        unchosen = int((weight <= 0).sum())
        if unchosen:
            time = None if time is None else time[weight > 0]
            frame, weight = frame[weight > 0], weight[weight > 0]
            notes["rows_of_weight_0"] = unchosen
    user, user_ids = numbered(frame["user"], "user", users, sort=False)
    item, item_ids = numbered(frame["item"], "item", items, sort=True)
    rows = np.argsort(user, kind="stable") if time is None else np.lexsort((time, user))
    indptr = indptr_of(np.bincount(user, minlength=len(user_ids)))
    if time is None or _says_nothing(time):
        again = rows_in_order(indptr, item[rows], item_ids.ids, *order)
        rows = rows if again is None else rows[again]
        time = None if order[0] == "none" else time
    elif order[0] == "none":
        raise InputError("the events have times, so they have an order: leave order=none out, or the times")
    if time is not None:
        if duplicates == "drop":
            twice = repeated(user[rows], item[rows], time[rows])
            rows, notes["duplicate_rows"] = rows[~twice], int(twice.sum())
        notes |= notes_on(user[rows], time[rows], relative_times)
    return {
        "indptr": indptr_of(np.bincount(user[rows], minlength=len(user_ids))),
        "item": item[rows],
        "time": None if time is None else in_milliseconds(time[rows]),
        "weight": weight[rows],
        "users": user_ids,
        "items": item_ids,
        "notes": notes,
    }


def _weights(column: pd.Series[Any]) -> Reals:
    weight = narrowed(floats_of(column.to_numpy(), "column 'weight'"))
    if not np.isfinite(weight).all():
        row = int(np.argmin(np.isfinite(weight)))
        raise InputError(f"column 'weight', row {row + 1}: it is missing or infinite: fill it in or drop the row")
    if len(weight) and not (weight > 0).any():
        raise InputError(
            "column 'weight': no row has a weight above 0, so none is an event: correct the weights, or leave them out"
        )
    return weight


def _says_nothing(time: Array) -> bool:
    """Return whether times are all the same, or only number the rows."""
    ticks = time.astype(np.int64)
    return len(ticks) < 2 or bool((np.diff(ticks) == int(ticks[1]) - int(ticks[0])).all())
