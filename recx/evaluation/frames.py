"""From tables of lists and of truth to arrays: ids are numbered, rows grouped by user and lists put in order.

Rows that are grouped by user already, and lists that are in order already, are recognised and left where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recx.core.errors import InputError, did_you_mean
from recx.core.ragged import in_order, indptr_of, order_in_groups, position_of_rows, rows_by_group
from recx.core.types import Array, Ints, Longs

if TYPE_CHECKING:
    import pandas as pd

Order = Literal["score", "given"]
OTHER_NAMES = ("relevance", "rating", "rel", "label", "value", "gain")
"""What else a column of grades may be called, so that it is not passed over in silence."""


@dataclass(frozen=True, eq=False)
class Grouped:
    """Rows grouped by user. users: raw ids [n_users], by first appearance. indptr [n_users + 1]. item: raw ids [n].

    value: what stands beside each item: scores of lists, grades of truth [n].
    """

    users: Array
    indptr: Longs
    item: Array
    value: Array

    @property
    def lengths(self) -> Longs:
        return np.diff(self.indptr)


def lists_of(frame: pd.DataFrame, order: Order = "score", name: str = "recommendations") -> Grouped:
    """Return the lists of a frame with columns user, item and, for ``order="score"``, score or rank, best first.

    order: ``score`` sorts each list by falling score (or rising rank), ties in the order given; ``given`` takes the
        rows as they stand, and the value of a row is then minus its place in the list.

    Raises:
        InputError: a column is missing or of the wrong kind, or a score is not finite.
    """
    user, item = ids_of(frame, "user", name), ids_of(frame, "item", name)
    score = None if order == "given" else _scores(frame, user, name)
    users, indptr, rows = _group(user)
    if score is None:
        return Grouped(
            users, indptr, item if rows is None else item[rows], -position_of_rows(indptr).astype(np.float64)
        )
    if rows is not None:
        item, score = item[rows], score[rows]
    if not in_order(score, indptr):
        best_first = order_in_groups(score, indptr)
        item, score = item[best_first], score[best_first]
    return Grouped(users, indptr, item, score)


def truth_of(frame: pd.DataFrame, name: str = "relevance") -> Grouped:
    """Return the targets of a frame with columns user, item and, if it has one, grade (1 where it has none).

    Raises:
        InputError: a column is missing or of the wrong kind, or a grade is not finite.
    """
    user, item = ids_of(frame, "user", name), ids_of(frame, "item", name)
    other = [column for column in OTHER_NAMES if column in frame] if "grade" not in frame else []
    if other:
        raise InputError(
            f"{name}: there is no column grade but a column {other[0]}: call it grade, or leave it out, by which every "
            "row counts 1"
        )
    grade = _numbers(frame, "grade", name) if "grade" in frame else np.ones(len(item))
    _refuse_not_finite(grade, user, "grade", name)
    users, indptr, rows = _group(user)
    return Grouped(users, indptr, item if rows is None else item[rows], grade if rows is None else grade[rows])


def events_of(frame: pd.DataFrame, name: str = "history") -> Grouped:
    """Return the events of a frame with columns user and item, grouped by user; every value is 1.

    Raises:
        InputError: a column is missing or of the wrong kind.
    """
    return truth_of(frame[[column for column in frame.columns if column in ("user", "item")]], name)


def number(columns: Mapping[str, Array], what: str) -> tuple[list[Ints], Array]:
    """Number the ids of several columns together; return each column's codes (int32) and the ids [n_ids].

    columns: what each is called in errors -> raw ids. what: ``user`` or ``item``.

    Whole numbers that lie close together are numbered by a table, all others by hashing, so that large or sparse ids
    cost no memory.

    Raises:
        InputError: some columns hold whole numbers and others text.
    """
    import pandas as pd

    kinds = {name: _kind_of(column) for name, column in columns.items() if len(column)}
    if len(set(kinds.values())) > 1:
        told = ", ".join(f"{kind} in {name}" for name, kind in kinds.items())
        raise InputError(
            f"the {what} ids differ in type ({told}), so none would ever match: convert one side, such as "
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


def _group(user: Array) -> tuple[Array, Longs, Longs | None]:
    """Return the users by first appearance, indptr, and the rows in order of the users (None: they stand so)."""
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
    """Return a column of ids [n] as whole numbers (int64, or uint64 where they are too large) or as strings.

    Raises:
        InputError: the column is missing, an id is missing, or they are neither whole numbers nor text.
    """
    import pandas as pd

    require(frame, column, name)
    ids = frame[column]
    missing = ids.isna()
    if missing.any():
        row = int(np.argmax(missing.to_numpy()))
        raise InputError(f"{name}: column {column!r}, row {row + 1}: the id is missing: fill it in or drop the row")
    if isinstance(ids.dtype, pd.CategoricalDtype):
        ids = ids.astype(ids.dtype.categories.dtype)
    kind = pd.api.types.infer_dtype(ids, skipna=False)
    if kind == "integer":
        fits = not len(ids) or ids.max() < 2**63
        try:
            return np.asarray(ids.to_numpy(dtype=np.int64 if fits else np.uint64))
        except OverflowError:
            raise InputError(
                f"{name}: column {column!r} holds whole numbers that do not fit into 64 bits: make them text"
            ) from None
    if kind == "string":
        return np.asarray(ids.to_numpy(dtype=object))
    hint = "ids that became decimal numbers may be damaged: read them again as whole numbers or text"
    raise InputError(
        f"{name}: column {column!r} holds {kind} values, and ids are whole numbers or text: "
        f"{hint if 'float' in kind else 'convert it'}"
    )


def require(frame: pd.DataFrame, column: str, name: str) -> None:
    """Refuse a frame that lacks a column, or has two of its name.

    Raises:
        InputError: see above.
    """
    if column not in frame:
        present = [str(other) for other in frame.columns]
        raise InputError(f"{name}: column {column!r} is missing; {did_you_mean(column, present)}")
    if frame.columns.tolist().count(column) > 1:
        raise InputError(f"{name}: column {column!r} stands there more than once: keep one of them")


def _scores(frame: pd.DataFrame, user: Array, name: str) -> Array:
    """Return what to sort by, largest first: the score or, where there is none, minus the rank [n]."""
    column = "score" if "score" in frame or "rank" not in frame else "rank"
    if column not in frame:
        raise InputError(
            f'{name}: there is neither a column score nor rank to order the lists by: give one, or say order="given"'
        )
    value = _numbers(frame, column, name)
    _refuse_not_finite(value, user, column, name)
    return value if column == "score" else -value


def _numbers(frame: pd.DataFrame, column: str, name: str) -> Array:
    """Return a column of numbers [n]: float32 and float64 as they are, all others as float64."""
    import pandas as pd

    require(frame, column, name)
    values = frame[column]
    if not pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_complex_dtype(values.dtype):
        raise InputError(f"{name}: column {column!r} holds {values.dtype} values, not numbers: convert it")
    dtype = np.float32 if values.dtype == "float32" else np.float64
    return np.asarray(values.to_numpy(dtype=dtype, na_value=np.nan) if values.hasnans else values.to_numpy(dtype=dtype))


def _refuse_not_finite(value: Array, user: Array, column: str, name: str) -> None:
    if np.isfinite(value).all():
        return
    row = int(np.argmax(~np.isfinite(value)))
    raise InputError(
        f"{name}: the {column} of user {_shown(user[row])} in row {row + 1} is {value[row]}: every {column} must be a "
        "finite number: correct the row or drop it"
    )


def _kind_of(ids: Array) -> str:
    return "int" if ids.dtype.kind in "iu" else "str"


def _shown(user: Any) -> str:
    return repr(user.item() if isinstance(user, np.generic) else user)
