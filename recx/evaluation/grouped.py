"""Rows of lists and of truth, grouped by user, with numbers in place of the ids of items.

Rows that are already grouped by user are recognised and not moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recx.core.errors import InputError
from recx.core.ragged import blocks, indptr_of, rows_by_group
from recx.core.types import Array, Ints, Longs

ROWS = 1 << 20
"""Rows that are renumbered at a time."""


@dataclass(frozen=True, eq=False)
class Numbered:
    """A column of ids by number.

    Attributes:
        codes: The number of each row's id [n].
        ids: Raw ids [n_ids], distinct.
    """

    codes: Array
    ids: Array


@dataclass(frozen=True, eq=False)
class Grouped:
    """Rows grouped by user.

    Attributes:
        users: Raw ids [n_users], by first appearance.
        indptr: [n_users + 1].
        item: The number of each row's item [n].
        items: Raw ids of the items [n_items].
        value: The score (of lists) or grade (of truth) of each row [n].
    """

    users: Array
    indptr: Longs
    item: Array
    items: Array
    value: Array

    @property
    def lengths(self) -> Longs:
        return np.diff(self.indptr)

    @property
    def numbered(self) -> Numbered:
        """The items of the rows."""
        return Numbered(self.item, self.items)


def numbered(raw: Array) -> Numbered:
    """Number the ids of a column [n]: whole numbers that are close together by a table, all others by hashing."""
    import pandas as pd

    if raw.dtype.kind in "iu" and len(raw):
        least, width = _range([raw])
        if width <= _most_by_table(len(raw)):
            offset = (raw - raw.dtype.type(least)).astype(np.int32)
            present = np.zeros(width, dtype=bool)
            present[offset] = True
            ids = np.flatnonzero(present).astype(raw.dtype) + raw.dtype.type(least)
            return Numbered(offset if len(ids) == width else (np.cumsum(present) - 1).astype(np.int32)[offset], ids)
    codes, ids = pd.factorize(raw)
    return Numbered(codes.astype(np.int32), np.asarray(ids))


def number(columns: Mapping[str, Numbered], what: str) -> tuple[list[Ints], Array]:
    """Number the ids of several columns together: in rising order if they are close together, else as they appear.

    Args:
        columns: The name of each column in messages -> its ids; their numbers are overwritten.
        what: ``user`` or ``item``.

    Returns:
        The codes of each column (int32), and the ids [n_ids].

    Raises:
        InputError: Some columns hold whole numbers and others text.
    """
    import pandas as pd

    every = [one.ids for one in columns.values()]
    kinds = {name: "int" if one.ids.dtype.kind in "iu" else "str" for name, one in columns.items() if len(one.ids)}
    if len(set(kinds.values())) > 1:
        listed = ", ".join(f"{kind} in {name}" for name, kind in kinds.items())
        raise InputError(
            f"the {what} ids differ in type ({listed}), so none would ever match: convert one side, such as "
            f'frame["{what}"] = frame["{what}"].astype(str)'
        )
    filled = [ids for ids in every if len(ids)]
    if len({ids.dtype for ids in filled}) > 1:
        filled = [ids.astype(object) for ids in filled]  # together int64 and uint64 would become floats
    codes, ids = pd.factorize(np.concatenate(filled) if filled else np.zeros(0, dtype=np.int64))
    ids = np.asarray(ids)
    parts = np.split(codes, np.cumsum([len(part) for part in every])[:-1])
    rows = [one.codes for one in columns.values()]
    for of_rows, part in zip(rows, parts, strict=True):
        _renumber(of_rows, part)
    by_value = (
        bool(filled) and filled[0].dtype.kind in "iu" and _range(filled)[1] <= _most_by_table(sum(map(len, rows)))
    )
    order = np.argsort(ids) if by_value else _by_appearance(rows, len(ids))
    rank = np.empty(len(ids), dtype=np.int32)
    rank[order] = np.arange(len(ids))
    for of_rows in rows:
        _renumber(of_rows, rank)
    return rows, ids[order]


def _most_by_table(n_rows: int) -> int:
    return max(1_000_000, 4 * n_rows)


def _range(columns: list[Array]) -> tuple[int, int]:
    """Return the smallest of whole numbers, and how many there are from it to the largest."""
    least = min(int(column.min()) for column in columns)
    return least, max(int(column.max()) for column in columns) - least + 1


def _renumber(codes: Array, number: Array) -> None:
    """Put the number of each code [n_ids] in its place."""
    if not np.array_equal(number, np.arange(len(number))):
        for start, stop in blocks(len(codes), ROWS):
            codes[start:stop] = number[codes[start:stop]]


def _by_appearance(columns: list[Array], n_ids: int) -> Longs:
    """Return the numbers of the ids by their first row [n_ids]; those without a row come last."""
    import pandas as pd

    seen, order = np.zeros(n_ids, dtype=bool), [np.zeros(0, dtype=np.int64)]
    for codes in columns:
        for start, stop in blocks(len(codes), ROWS):
            some = codes[start:stop]
            new = pd.unique(some[~seen[some]])
            seen[new] = True
            order.append(new)
    return np.concatenate([*order, np.flatnonzero(~seen)])


def grouped(user: Array, item: Numbered, value: Array) -> Grouped:
    """Group rows by user.

    Args:
        user: The raw id of each row's user [n].
        item: The item of each row.
        value: The value of each row [n].
    """
    users, indptr, rows = _group(user)
    if rows is None:
        return Grouped(users, indptr, item.codes, item.ids, value)
    return Grouped(users, indptr, item.codes[rows], item.ids, value[rows])


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
