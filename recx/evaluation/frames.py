"""Converts frames of lists and of truth into arrays (see ``recx.evaluation.grouped``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recx.core.errors import InputError, did_you_mean
from recx.core.ragged import position_of_rows, rises, sorted_in_groups
from recx.core.types import Array, Longs
from recx.evaluation.grouped import Grouped, Numbered, grouped, numbered
from recx.evaluation.telling_columns import ranks_of, refuse_systems, telling
from recx.storage.readers.names import GRADES, WEIGHTS, column_of_grades

if TYPE_CHECKING:
    import pandas as pd

Order = Literal["auto", "score", "rank", "given"]


def lists_of(frame: pd.DataFrame, order: Order = "auto", name: str = "recommendations") -> Grouped:
    """Return the lists of a frame, best item first.

    Args:
        frame: With columns user, item and, unless ``order="given"``, score or rank.
        order: ``auto`` sorts each list by falling score, equal scores by rising rank if there is one, or by rank if
            there is no score. ``score`` and ``rank`` use one of them only. Ties keep the order given. ``given`` keeps
            the order of the rows; the value of a row is then minus its position in the list.
        name: The name of the frame in messages.

    Raises:
        InputError: A column is missing or of the wrong type, a number is not finite, or scores and ranks contradict
            each other.
    """
    refuse_systems(frame, name)
    user, item = ids_of(frame, "user", name), numbered(ids_of(frame, "item", name))
    if order == "given":
        lists = grouped(user, item, user)
        return replace(lists, value=-position_of_rows(lists.indptr).astype(np.float64))
    used = [column for column in ("score", "rank") if column in frame and order in ("auto", column)]
    if used == ["score"] and order == "auto":
        used += ranks_of(frame)
    if not used:
        missing = "score or rank" if order == "auto" else order
        raise InputError(
            f'{name}: there is no column {missing} to sort the lists by: add one of them, or set order="given"'
        )
    values = [_numbers(frame, column, user, name) * (1 if column == "score" else -1) for column in used]
    if len(used) == 2:
        return _agreeing(user, item, values[0], values[1], (used[1], name))
    return _best_first(grouped(user, item, values[0]))


def _best_first(lists: Grouped) -> Grouped:
    value, item = sorted_in_groups(lists.value, lists.indptr, lists.item)
    return replace(lists, item=item, value=value)


def _agreeing(user: Array, item: Numbered, score: Array, place: Array, names: tuple[str, str]) -> Grouped:
    """Return the lists by score, equal scores by place (the higher, the better); names: of its column, of the frame.

    Raises:
        InputError: An item of a better place has a lower score.
    """
    by_place = _best_first(grouped(user, Numbered(np.arange(len(user)), item.ids), place))
    rows: Longs = by_place.item
    equal = np.flatnonzero(by_place.value[1:] != by_place.value[:-1]) + 1
    equal = np.union1d(equal, by_place.indptr[:-1])  # runs of one place, within which the score decides
    score, rows = sorted_in_groups(score[rows], np.append(equal, len(rows)), rows)
    rising = rises(score, by_place.indptr)
    if rising.any():
        last = int(np.argmax(rising))
        pair = (
            f"the item {shown_id(item.ids[item.codes[row]])} has {names[0]} {-place[row]:g} and score {score[row]:g}"
            for row in rows[[last - 1, last]]
        )
        raise InputError(
            f"{names[1]}: the columns {names[0]} and score contradict each other: for user "
            f'{shown_id(user[rows[last]])}, {" and ".join(pair)}: set order="rank" (--order rank)'
            f'{"" if names[0] == "rank" else " and call the column rank"}, or order="score" if the highest is best'
        )
    return replace(by_place, item=item.codes[rows], value=score)


def truth_of(frame: pd.DataFrame, name: str = "relevance") -> Grouped:
    """Return the targets of a frame with columns user, item and, optionally, one of grades (default: 1).

    Raises:
        InputError: A column is missing or of the wrong type, a grade is not finite, or it is not clear which column
            holds the grades.
    """
    user, item = ids_of(frame, "user", name), numbered(ids_of(frame, "item", name))
    grade: str | None = "grade"
    if grade not in frame:
        others = telling(frame, f"{GRADES}|{WEIGHTS}")
        grade = column_of_grades(others, lambda other: bool((frame[other] == 1).all()), name)
    return grouped(
        user, item, np.ones(len(user), dtype=np.float32) if grade is None else _numbers(frame, grade, user, name)
    )


def events_of(frame: pd.DataFrame, name: str = "history") -> Grouped:
    """Return the events of a frame with columns user and item, grouped by user; every value is 1.

    Raises:
        InputError: A column is missing or of the wrong type, or shows that rows are no events.
    """
    import pandas as pd

    for column in telling(frame, f"{GRADES}|{WEIGHTS}"):
        unchosen = pd.to_numeric(frame[column], errors="coerce").le(0).to_numpy()
        if unchosen.any():
            row = int(np.argmax(unchosen))
            raise InputError(
                f"{name}: the column {column} is {frame[column].iloc[row]:g} in row {row + 1}, as for items that were "
                f"shown and not chosen: drop such rows, or drop the column so that every row counts"
            )
    return truth_of(frame[[column for column in frame.columns if column in ("user", "item")]], name)


def ids_of(frame: pd.DataFrame, column: str, name: str) -> Array:
    """Return a column of ids [n] as whole numbers (int64, or uint64 if they are too large) or as strings.

    Raises:
        InputError: The column or an id is missing, or the ids are neither whole numbers nor text.
    """
    import pandas as pd

    require(frame, column, name)
    ids = frame[column]
    missing = ids.isna().to_numpy()
    if missing.any():
        row = int(np.argmax(missing)) + 1
        raise InputError(f"{name}: column {column!r}, row {row}: the id is missing: fill it in or drop the row")
    if isinstance(ids.dtype, pd.CategoricalDtype):
        ids = ids.astype(ids.dtype.categories.dtype)
    kind = pd.api.types.infer_dtype(ids, skipna=False)
    if kind == "integer":
        fits = not len(ids) or ids.max() < 2**63
        try:
            return np.asarray(ids.to_numpy(dtype=np.int64 if fits else np.uint64))
        except OverflowError:
            raise InputError(
                f"{name}: column {column!r} holds whole numbers that do not fit into 64 bits: convert them to text"
            ) from None
    if kind == "string":
        return np.asarray(ids.to_numpy(dtype=object))
    hint = "ids that became decimal numbers may be damaged: read them again as whole numbers or text"
    raise InputError(
        f"{name}: column {column!r} holds {kind} values, but ids must be whole numbers or text: "
        f"{hint if 'float' in kind else 'convert it'}"
    )


def require(frame: pd.DataFrame, column: str, name: str) -> None:
    """Check that a frame has a column exactly once.

    Raises:
        InputError: The column is missing, or there are several of its name.
    """
    if column not in frame:
        present = [str(other) for other in frame.columns]
        raise InputError(f"{name}: column {column!r} is missing; {did_you_mean(column, present)}")
    if frame.columns.tolist().count(column) > 1:
        raise InputError(f"{name}: column {column!r} occurs more than once: keep one of them")


def _numbers(frame: pd.DataFrame, column: str, user: Array, name: str) -> Array:
    """Return a column of finite numbers [n]: float32 as they are, int64 from 2^53 on, else float64."""
    import pandas as pd

    require(frame, column, name)
    values = frame[column]
    if not pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_complex_dtype(values.dtype):
        raise InputError(f"{name}: column {column!r} holds {values.dtype} values, not numbers: convert it")
    dtype = np.float32 if values.dtype == "float32" else np.float64
    value: Array = values.to_numpy(dtype=dtype, **({"na_value": np.nan} if values.hasnans else {}))
    finite = np.isfinite(value)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"{name}: the {column} of user {shown_id(user[row])} in row {row + 1} is {value[row]}: every {column} must "
            "be a finite number: correct the row or drop it"
        )
    if values.dtype.kind in "iu" and (np.abs(value) >= 2**53).any():
        if (value >= 2**63).any():
            raise InputError(
                f"{name}: column {column!r} holds numbers from 2^63 on, which would merge: make them smaller"
            )
        return np.asarray(values.to_numpy(dtype=np.int64))
    return value


def shown_id(raw: Any) -> str:
    """Return a raw id as messages show it."""
    return repr(raw.item() if isinstance(raw, np.generic) else raw)
