"""The column of times of a frame of events, and what is known of them once they are sorted."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recx.core.clock import RELATIVE, UNDATED, Bools, Longs, described, in_milliseconds, misreading, undated
from recx.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[Any]


def times_of_frame(column: pd.Series[Any], relative: bool) -> Array:
    """Return whole milliseconds, or dates of their own resolution [n]."""
    missing = column.isna().to_numpy(dtype=bool)
    if missing.any():
        raise InputError(f"column 'time', row {_row(missing)}: the time is missing: fill it in or remove the row")
    column = _of_one_type(column)
    kind = getattr(column.dtype, "kind", "O")
    if kind == "M":
        time: Array = _dates(column)
        _refuse_early(time < np.datetime64(0, "ms"), column)
        return time
    if kind == "m" and relative:
        since: Longs = column.to_numpy().astype("timedelta64[ns]").astype(np.int64)
        _refuse_early(since < 0, column, relative)
        return since.view("datetime64[ns]")
    if kind == "f":
        column = _whole(column, relative)
    elif kind not in "iu":
        way_out = "pass relative_times=True" if kind == "m" else "convert texts by pd.to_datetime"
        raise InputError(f"column 'time' must hold whole milliseconds, or dates, not {column.dtype}: {way_out}")
    large = (column > np.iinfo(np.int64).max).to_numpy(dtype=bool)
    if large.any():
        raise InputError(
            f"column 'time', row {_row(large)}: {column.iloc[_row(large) - 1]} is too large for a time: correct it"
        )
    raw: Longs = column.to_numpy(dtype=np.int64)
    _refuse_early(raw < 0, column, relative)
    if not relative:
        _check_unit(raw)
    return raw


def _of_one_type(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of categories or of objects as what these are: numbers, or dates (in UTC if without a zone)."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    column = column.infer_objects()
    if column.dtype == object and all(isinstance(value, date) for value in column):
        column = pd.Series(pd.to_datetime(column, utc=True))
    return column


def _whole(column: pd.Series[Any], relative: bool) -> pd.Series[Any]:
    """Return floats, as columns that had missing values hold them, as whole numbers."""
    values = column.to_numpy(dtype=np.float64)
    inexact = np.abs(values) >= (2**24 if column.dtype == np.float32 else 2**53)
    if inexact.any():
        raise InputError(
            f"column 'time', row {_row(inexact)}: {values[inexact][0]} is a {column.dtype}, which loses digits of such "
            "numbers: give whole numbers, or dates"
        )
    whole = values.astype(np.int64)
    if (whole == values).all():
        return column.astype(np.int64)
    if not relative:
        _check_unit(whole)
    raise InputError(
        f"column 'time', row {_row(whole != values)}: {values[whole != values][0]} is not a whole number of "
        "milliseconds: convert it by pd.to_datetime or pd.to_timedelta with its unit"
    )


def _dates(column: pd.Series[Any]) -> Array:
    import pandas as pd

    dates = pd.DatetimeIndex(column)
    time: Array = dates.to_numpy() if dates.tz is None else dates.tz_convert(None).to_numpy()
    return time.astype("datetime64[ms]") if time.dtype == "datetime64[s]" else time


def _refuse_early(early: Bools, column: pd.Series[Any], relative: bool = False) -> None:
    if early.any():
        start, way_out = ("0", "add the same number to all") if relative else ("1970", "correct or remove it")
        shown = column.iloc[_row(early) - 1]
        raise InputError(f"column 'time', row {_row(early)}: the time {shown} lies before {start}: {way_out}")


def _row(bad: Bools) -> int:
    return int(np.argmax(bad)) + 1


def _check_unit(raw: Longs) -> None:
    found = misreading(raw, "ms")
    if found is None:
        return
    unit = ".astype('int64').astype(str)" if found.unit == "iso" else f", unit='{found.unit}'"
    way_out = "write all in one unit" if found.beside else f"convert them by pd.to_datetime(frame['time']{unit})"
    raise InputError(
        f"column 'time': {described(found, raw, 'ms')}: {way_out}, or, if they count ms from a start of their own, "
        "pass relative_times=True"
    )


def notes_on(indptr: Longs, time: Array, relative: bool) -> dict[str, float]:
    """Return what milliseconds alone do not tell of the times [n], which are sorted within each user's borders."""
    if relative:
        return {RELATIVE: len(time)}
    notes: dict[str, float] = {}
    n_undated = undated(in_milliseconds(time))
    if n_undated:
        notes[UNDATED] = n_undated
    if time.dtype.kind == "M" and time.dtype != "datetime64[ms]" and (time != time.astype("datetime64[ms]")).any():
        last = indptr[1:][np.diff(indptr) > 1] - 1
        notes["tied_last_events"] = int((time[last] == time[last - 1]).sum())
    return notes
