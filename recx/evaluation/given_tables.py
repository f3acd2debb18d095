"""A table that somebody gave, as a path or a data frame of any library, as a pandas frame with columns by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.entities import refuse_headers
from recx.core.errors import InputError
from recx.evaluation import frames
from recx.storage.readers import lists
from recx.storage.readers.in_memory import LAZY, HeldFrame, arrow_table

if TYPE_CHECKING:
    import pandas as pd


def frame_of(given: Any, name: str, columns: Mapping[str, str] | None = None, by: str | None = None) -> pd.DataFrame:
    """Return a table with columns that are called by their roles, and one row an item.

    Args:
        given: A path, a pandas frame, or a table of another library (see ``recx.storage.readers.in_memory``).
        name: Which table it is (see ``recx.storage.readers.lists.COLUMNS``).
        columns: Role -> its column, where that has another name.
        by: A further column that is needed.

    Raises:
        InputError: It is none of these, or cannot be used.
    """
    import pandas as pd

    if isinstance(given, str | Path):
        return lists.read(Path(given), name, columns=columns, by=by)
    if not any(hasattr(given, one) for one in ("__arrow_c_stream__", LAZY)):
        kinds = "a data frame (pandas, Polars, PyArrow) or the path of a file"
        raise InputError(f"{name} must be {kinds}, not {type(given).__name__}")
    if name == "items" and not isinstance(given, pd.DataFrame):  # with embeddings, which no file of items has
        given = arrow_table(given, name).to_pandas()
    if not isinstance(given, pd.DataFrame):
        return _of_arrow(given, name, columns, by)
    if given.columns.nlevels > 1:
        raise InputError(f"{name} has column names of {given.columns.nlevels} levels: flatten them to one level")
    if not len(given):
        raise InputError(f"{name} has no rows: add some, or leave it out if it is optional")
    names = [column for column in given.columns if isinstance(column, str)]
    if lists.roles_of_lists(names, _nested(given), name, columns):
        return _of_arrow(given, name, columns, by)
    lists.check_columns(names, name, columns or {}, name)
    refuse_headers(given, name)
    if not columns:
        called = lists.roles_of(names, name) or {}  # as in a file, user_id and movie_id may be users and items
        others = {column: role for role, column in called.items() if column != role}
        return given.rename(columns=others) if others else given
    for column in names:
        frames.require(given, column, name)
    known = lists.renamed(names, name, columns)
    return given[list(known.values())].set_axis(list(known), axis=1)


def _of_arrow(given: Any, name: str, columns: Mapping[str, str] | None, by: str | None) -> pd.DataFrame:
    held = HeldFrame.of(given, name)
    return lists.read(Path(f"{held.name} ({name})"), name, columns=columns, by=by, data=held.data)


def _nested(frame: pd.DataFrame) -> Sequence[str]:
    """Return the columns whose first value is a list."""
    import pandas as pd

    found = []
    may = [pd.api.types.is_object_dtype(kind) or isinstance(kind, pd.ArrowDtype) for kind in frame.dtypes]
    for name in frame.columns[may]:
        if frame.columns.tolist().count(name) == 1:
            known = frame[name].dropna()
            if len(known) and isinstance(known.iloc[0], list | tuple | np.ndarray):
                found.append(name)
    return found
