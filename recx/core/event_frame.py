"""From columns of events to the arrays of ``Interactions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from recx.core.clock import in_milliseconds
from recx.core.entities import Entities, check_columns, refuse_headers
from recx.core.errors import InputError
from recx.core.event_order import EventOrder, rows_in_order
from recx.core.frame_times import notes_on, times_of_frame
from recx.core.given_folds import GIVEN, codes_of
from recx.core.numbering import numbered
from recx.core.precision import Reals, floats_of, narrowed
from recx.core.ragged import blocks, indptr_of
from recx.core.row_order import borders_and_rows, count_in_groups, picked, sort_by_time

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]
BLOCK = 1 << 20
"""Rows that are compared at a time."""
Duplicates = Literal["drop", "keep"]


def arrays_of(
    columns: dict[str, pd.Series[Any]],
    users: Entities | None,
    items: Entities | None,
    order: tuple[EventOrder, int],
    relative_times: bool,
    duplicates: Duplicates,
) -> dict[str, Any]:
    """Return the arguments of ``Interactions`` (see ``Interactions.from_frame``).

    Args:
        columns: The events by column. Each is taken out once it is converted, so that its memory is free again.
        users: The users, if they are known beforehand.
        items: The items, if they are known beforehand.
        order: What is known of the order, and its seed.
        relative_times: Whether the times count from a start of their own.
        duplicates: Whether duplicates are dropped or kept.

    Raises:
        InputError: The events cannot be used.
    """
    check_columns(columns)
    refuse_headers(columns, "the events")
    time = times_of_frame(columns.pop("time"), relative_times) if "time" in columns else None
    weight: Reals | None = None
    given = codes_of(columns.pop("fold").to_numpy(), "column 'fold'") if "fold" in columns else None
    notes: dict[str, float] = {}
    if "weight" in columns:
        weight = _weights(columns.pop("weight"))
        chosen = weight > 0
        if not chosen.all():
            time = None if time is None else time[chosen]
            given = None if given is None else given[chosen]
            columns, weight = {name: column[chosen] for name, column in columns.items()}, weight[chosen]
            notes["rows_of_weight_0"] = len(chosen) - len(weight)
    user, user_ids = numbered(columns.pop("user"), "user", users, sort=False)
    item, item_ids = numbered(columns.pop("item"), "item", items, sort=True)
    indptr, rows = borders_and_rows(user, len(user_ids))
    del user
    twin = None if time is None else sort_by_time(indptr, rows, time.view(np.int64), *_apart(item, item_ids, given))
    if time is None or _says_nothing(time):
        again = rows_in_order(indptr, picked(item, rows), item_ids.ids, *order)
        rows = rows if again is None else rows[again]
        time = None if order[0] == "none" else time
    elif order[0] == "none":
        raise InputError("the events have times, so they have an order: leave order=none out, or the times")
    if time is not None and twin is not None and duplicates == "drop":
        notes["duplicate_rows"] = int(np.count_nonzero(twin))
        if notes["duplicate_rows"]:
            rows, indptr = rows[~twin], indptr_of(np.diff(indptr) - count_in_groups(twin, indptr))
    del twin
    given = None if given is None else picked(given, rows)
    item = picked(item, rows)
    if time is not None:
        time = picked(time, rows)
        notes |= notes_on(indptr, time, relative_times)
    weight = np.ones(len(rows), np.float32) if weight is None else picked(weight, rows)
    return {
        "indptr": indptr,
        "item": item,
        "time": None if time is None else in_milliseconds(time),
        "weight": weight,
        "given_fold": given,
        "users": user_ids,
        "items": item_ids,
        "notes": notes,
    }


def _apart(item: Array, items: Entities, given: Array | None) -> tuple[Array, int]:
    """Return numbers [n] by which events are compared, and how many there are: one event in two folds is no duplicate.

    A split decides what becomes of it.
    """
    if given is None:
        return item, len(items)
    return (item * len(GIVEN) + given).astype(np.int32), len(items) * len(GIVEN)


def kept(
    rows: Bools, indptr: Longs, item: Array, time: Longs | None, weight: Reals, given: Array | None
) -> dict[str, Any]:
    """Return the arguments of ``Interactions`` for the events [n] for which ``rows`` is true."""
    borders = indptr_of(count_in_groups(rows, indptr))
    alike = len(weight) > 0 and bool((weight == weight[0]).all())
    return {
        "indptr": borders,
        "item": item[rows],
        "time": None if time is None else time[rows],
        "given_fold": None if given is None else given[rows],
        "weight": weight[: borders[-1]] if alike else weight[rows],  # clicks share their weights of 1
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
    ticks: Longs = time.view(np.int64)
    if len(ticks) < 2:
        return True
    step = ticks[1] - ticks[0]
    return all((np.diff(ticks[start : stop + 1]) == step).all() for start, stop in blocks(len(ticks) - 1, BLOCK))
