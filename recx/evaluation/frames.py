"""Converts tables of lists and of truth into arrays: numbers the ids, groups rows by user and sorts the lists.

Rows that are already grouped by user, and lists that are already sorted, are recognised and not moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recx.core.errors import InputError, did_you_mean
from recx.core.ragged import indptr_of, position_of_rows, rises, rows_by_group, sorted_in_groups
from recx.core.types import Array, Ints, Longs
from recx.evaluation.telling_columns import ranks_of, telling
from recx.storage.readers.names import GRADES, WEIGHTS, column_of_grades

if TYPE_CHECKING:
    import pandas as pd

Order = Literal["auto", "score", "rank", "given"]


@dataclass(frozen=True, eq=False)
class Grouped:
    """Rows grouped by user.

    Attributes:
        users: Raw ids [n_users], by first appearance.
        indptr: [n_users + 1].
        item: Raw ids [n].
        value: The score (of lists) or grade (of truth) of each row [n].
    """

    users: Array
    indptr: Longs
    item: Array
    value: Array

    @property
    def lengths(self) -> Longs:
        return np.diff(self.indptr)


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
    user, item = ids_of(frame, "user", name), ids_of(frame, "item", name)
    if order == "given":
        lists = _grouped(user, item, user)
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
    return _best_first(_grouped(user, item, values[0]))


def _best_first(lists: Grouped) -> Grouped:
    value, item = sorted_in_groups(lists.value, lists.indptr, lists.item)
    return replace(lists, item=item, value=value)


def _agreeing(user: Array, item: Array, score: Array, place: Array, names: tuple[str, str]) -> Grouped:
    """Return the lists by score, equal scores by place (the higher, the better); names: of its column, of the frame.

    Raises:
        InputError: An item of a better place has a lower score.
    """
    by_place = _best_first(_grouped(user, np.arange(len(user)), place))
    rows: Longs = by_place.item
    equal = np.flatnonzero(by_place.value[1:] != by_place.value[:-1]) + 1
    equal = np.union1d(equal, by_place.indptr[:-1])  # runs of one place, within which the score decides
    score, rows = sorted_in_groups(score[rows], np.append(equal, len(rows)), rows)
    rising = rises(score, by_place.indptr)
    if rising.any():
        last = int(np.argmax(rising))
        pair = (
            f"the item {shown_id(item[row])} has {names[0]} {-place[row]:g} and score {score[row]:g}"
            for row in rows[[last - 1, last]]
        )
        raise InputError(
            f"{names[1]}: the columns {names[0]} and score contradict each other: for user "
            f'{shown_id(user[rows[last]])}, {" and ".join(pair)}: set order="rank" (--order rank)'
            f'{"" if names[0] == "rank" else " and call the column rank"}, or order="score" if the highest is best'
        )
    return replace(by_place, item=item[rows], value=score)


def truth_of(frame: pd.DataFrame, name: str = "relevance") -> Grouped:
    """Return the targets of a frame with columns user, item and, optionally, one of grades (default: 1).

    Raises:
        InputError: A column is missing or of the wrong type, a grade is not finite, or it is not clear which column
            holds the grades.
    """
    user, item = ids_of(frame, "user", name), ids_of(frame, "item", name)
    grade: str | None = "grade"
    if grade not in frame:
        others = telling(frame, f"{GRADES}|{WEIGHTS}")
        grade = column_of_grades(others, lambda other: bool((frame[other] == 1).all()), name)
    return _grouped(user, item, np.ones(len(item)) if grade is None else _numbers(frame, grade, user, name))


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


def number(columns: Mapping[str, Array], what: str) -> tuple[list[Ints], Array]:
    """Number the ids of several columns together.

    Whole numbers that are close together are numbered by a table, all others by hashing, so that large or sparse ids
    cost no memory.

    Args:
        columns: The name of each column in messages -> its raw ids.
        what: ``user`` or ``item``.

    Returns:
        The codes of each column (int32), and the ids [n_ids].

    Raises:
        InputError: Some columns hold whole numbers and others text.
    """
    import pandas as pd

    kinds = {name: "int" if column.dtype.kind in "iu" else "str" for name, column in columns.items() if len(column)}
    if len(set(kinds.values())) > 1:
        listed = ", ".join(f"{kind} in {name}" for name, kind in kinds.items())
        raise InputError(
            f"the {what} ids differ in type ({listed}), so none would ever match: convert one side, such as "
            f'frame["{what}"] = frame["{what}"].astype(str)'
        )
    filled = [column for column in columns.values() if len(column)]
    if len({column.dtype for column in filled}) > 1:
        filled = [column.astype(object) for column in filled]  # together int64 and uint64 would become floats
    if filled and filled[0].dtype.kind in "iu":
        least, most = min(int(column.min()) for column in filled), max(int(column.max()) for column in filled)
        if most - least < max(1_000_000, 4 * sum(len(column) for column in filled)):
            return _number_by_table(columns.values(), least, most - least + 1, filled[0].dtype)
    codes, ids = pd.factorize(np.concatenate(filled) if filled else np.zeros(0, dtype=np.int64))
    borders = np.cumsum([len(column) for column in columns.values()])[:-1]
    return [part.astype(np.int32) for part in np.split(codes, borders)], np.asarray(ids)


def _number_by_table(columns: Iterable[Array], least: int, width: int, kind: np.dtype[Any]) -> tuple[list[Ints], Array]:
    offsets = [(column - column.dtype.type(least)).astype(np.int32) for column in columns]
    present = np.zeros(width, dtype=bool)
    for offset in offsets:
        present[offset] = True
    ids = np.flatnonzero(present).astype(kind) + kind.type(least)
    if len(ids) == width:
        return offsets, ids
    code = (np.cumsum(present) - 1).astype(np.int32)
    return [code[offset] for offset in offsets], ids


def _grouped(user: Array, item: Array, value: Array) -> Grouped:
    users, indptr, rows = _group(user)
    return Grouped(users, indptr, item, value) if rows is None else Grouped(users, indptr, item[rows], value[rows])


def _group(user: Array) -> tuple[Array, Longs, Longs | None]:
    """Return the users by first appearance, indptr, and the rows in order of the users (None: already in order)."""
    import pandas as pd

    if user.dtype.kind not in "iu":
        codes, users = pd.factorize(user)
        number_of, indptr, rows = _group(codes.astype(np.int64))
        return np.asarray(users)[number_of], indptr, rows
    starts = np.flatnonzero(user[1:] != user[:-1]) + 1
    starts = np.concatenate([np.zeros(min(1, len(user)), dtype=np.int64), starts])
    codes, users = pd.factorize(user[starts])
    if len(users) == len(starts):
        return np.asarray(users), np.append(starts, len(user)), None
    codes = np.repeat(codes, np.diff(np.append(starts, len(user)))).astype(np.int32)
    return np.asarray(users), indptr_of(np.bincount(codes, minlength=len(users))), rows_by_group(codes)


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
