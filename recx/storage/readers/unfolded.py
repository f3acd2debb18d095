"""Tables with one row a user, whose items stand in a list, as tables with one row an item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.errors import InputError
from recx.storage.readers.columnar import Typed

PLACE = "rank"
"""The column of an item's place in its list, where the lists have no numbers of their own."""


def unfolded(
    table: Typed, roles: Mapping[str, str], kept: Sequence[str], ordered: bool, apart: bool, path: Path
) -> pa.Table:
    """Return a table of a row for each item, with the roles as names of its columns.

    Args:
        table: The table; its column of items holds lists.
        roles: Role -> its column.
        kept: Further columns.
        ordered: Whether the order of a list counts, if there are no scores or ranks.
        apart: Whether the further columns tell the rows of a user apart.
        path: The file, for errors.

    Raises:
        InputError: A user has two rows, or numbers are not in lists as long as those of the items.
    """
    columns = {
        role: table.column(name, "list" if name in table.nested else "").combine_chunks()
        for role, name in roles.items()
    }
    columns |= {name: table.column(name).combine_chunks() for name in kept}
    items = columns.pop("item")
    lengths = _lengths(items)
    row = np.repeat(np.arange(len(lengths)), lengths)
    _refuse_two_rows({name: columns[name] for name in ("user", *(kept if apart else ()))}, roles["user"], path)
    flat = {"item": _elements(items)}
    for name, column in columns.items():
        if name in ("user", *kept):
            flat[name] = column.take(pa.array(row))
            continue
        where = f"{path}: the column {roles[name]!r}"
        if roles[name] not in table.nested:
            raise InputError(f"{where} has one value for a list of items: write a list of them, one for each item")
        if (odd := _lengths(column) != lengths).any():
            at = int(np.argmax(odd))
            raise InputError(f"{where}, row {at + 1}: its list is not as long as that of the items ({lengths[at]})")
        flat[name] = _elements(column)
    if ordered and not {"score", PLACE} & set(flat):
        starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
        flat[PLACE] = pa.array(np.arange(len(row)) - starts + 1)
    _refuse_unread(table, roles, lengths, path)
    return pa.table(flat)


def _plain(column: pa.Array) -> pa.Array:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _lengths(lists: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(pc.list_value_length(lists).fill_null(0), dtype=np.int64)


def _elements(lists: pa.Array) -> pa.Array:
    found = lists.flatten()
    return found if not pa.types.is_null(found.type) else found.cast(pa.int64())


def _refuse_two_rows(columns: Mapping[str, pa.Array], user_column: str, path: Path) -> None:
    keys = pa.table({name: _plain(column) for name, column in columns.items()})
    counts = keys.group_by(list(columns)).aggregate([([], "count_all")])
    twice = counts.filter(pc.greater(counts["count_all"], 1))
    if len(twice):
        user = twice["user"][0].as_py()
        raise InputError(
            f"{path}: the user {user!r} has two rows, which could be two lists or one list in two pieces: write one "
            f"row with one list for each {user_column}, or name the column that says which system made it (by)"
        )


def _refuse_unread(table: Typed, roles: Mapping[str, str], lengths: Sequence[int] | np.ndarray, path: Path) -> None:
    """Refuse further lists of numbers that are as long as those of the items, which could be their scores or grades."""
    for name in table.nested:
        if name in roles.values():
            continue
        lists = table.column(name, "list").combine_chunks()
        kind = lists.type.value_type
        is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind)
        if is_number and np.array_equal(_lengths(lists), lengths) and np.any(lengths):
            raise InputError(
                f"{path}: the column {name!r} has a number for each item of the lists, which could be its score or "
                "grade: call it so (or say it by columns), or drop it"
            )
