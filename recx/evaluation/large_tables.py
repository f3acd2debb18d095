"""Reads lists or truth from a large Parquet file, a column and a block of rows at a time.

Numbers take the place of ids, and every row goes to where its list is, as it is read: the raw ids of all rows are never
held, and their values only once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recx.core.compiled import compiled
from recx.core.errors import InputError
from recx.core.id_table import IdTable
from recx.core.ragged import ROWS_AT_ONCE, blocks, blocks_of_groups, in_order, order_in_groups
from recx.core.row_order import write_borders
from recx.core.system.threads import side_by_side
from recx.core.types import Array, Doubles, Ints, Longs
from recx.evaluation.grouped import Grouped
from recx.storage.readers.content import refuse_bomb
from recx.storage.readers.lists import roles_of
from recx.storage.readers.names import GRADES, RANKS, SYSTEMS, WEIGHTS, recognised

ROWS = 1 << 20
"""Rows that are read at a time; a smaller file is read whole."""
VALUE = {"recommendations": "score", "relevance": "grade"}
LEAST = {"recommendations": 3, "relevance": 2}
"""Number of columns that are needed: grades are optional."""
BUFFER = 1 << 22
"""Bytes that are read from the file at a time."""


def lists_of(path: Path, order: str) -> Grouped | None:
    """Return the lists of a file, best first, as ``frames.lists_of`` does of a frame.

    Args:
        path: The file.
        order: See ``recx.evaluate``.

    Returns:
        The lists; None if the file is none of Parquet, is small, or is not one of whole numbers sorted by a score.

    Raises:
        InputError: An id is missing, or a score is missing or not finite.
    """
    telling = {"auto": f"{RANKS}|{SYSTEMS}", "score": SYSTEMS}
    lists = _grouped(path, "recommendations", telling[order]) if order in telling else None
    if lists is not None:
        _sort(lists.value, lists.indptr, lists.item)
    return lists


def truth_of(path: Path) -> Grouped | None:
    """Return the targets of a file as ``frames.truth_of`` does of a frame; None and errors as in ``lists_of``."""
    return _grouped(path, "relevance", f"{GRADES}|{WEIGHTS}")


def _starts(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark


def _named(schema: pa.Schema, table: str, telling: str | None) -> list[str] | None:
    """Return the columns of users, items and values (there may be no grades).

    Args:
        schema: The columns of the file.
        table: ``recommendations`` or ``relevance``.
        telling: Words by which further columns are recognised that may not be left unread; None: there are none.

    Returns:
        None: ids are not whole numbers, values not decimal numbers, or a further column says more of the rows.
    """
    roles = roles_of(schema.names, table) or {}
    named = [roles[role] for role in ("user", "item", VALUE[table]) if role in roles]
    others = [name for name in schema.names if name not in named]
    if len(named) < LEAST[table] or (telling and recognised(telling, others)):
        return None
    kinds = [schema.field(name).type if schema.names.count(name) == 1 else pa.null() for name in named]
    whole = all(pa.types.is_integer(kind) and kind != pa.uint64() for kind in kinds[:2])
    return named if whole and set(kinds[2:]) <= {pa.float32(), pa.float64()} else None


class _File:
    """An open file, of which one column is read after the other."""

    def __init__(self, path: Path, file: pq.ParquetFile, n_rows: int) -> None:
        self.path, self.n_rows, self._file = path, n_rows, file

    def fill(self, name: str, values: Array, convert: Callable[[Array, Array], None], place: Ints | None) -> None:
        """Read a column.

        Args:
            name: The column.
            values: The converted values [n_rows]: is written.
            convert: Writes the converted values of some rows into another array.
            place: Where each row goes [n_rows]; None: they stay in their order.
        """
        start = 0
        for batch in self._file.iter_batches(ROWS, columns=[name]):
            column = batch.column(0)
            rows = slice(start, start + len(column))
            if values.dtype == np.int32 and column.null_count:
                row = start + int(np.argmin(np.asarray(column.is_valid()))) + 1
                raise InputError(
                    f"{self.path}: column {name!r}, row {row}: the value is missing: fill it in or remove the row"
                )
            raw = column.cast(pa.int64() if values.dtype == np.int32 else pa.float64())
            found = np.empty(len(raw), dtype=values.dtype)
            convert(raw.to_numpy(zero_copy_only=False), found)
            values[rows if place is None else place[rows]] = found
            start = rows.stop


def _grouped(path: Path, table: str, telling: str | None) -> Grouped | None:
    """Read users, items and values (see ``_named``); without a column of values they are 1."""
    if not path.is_file() or not _starts(path, b"PAR1"):
        return None
    try:
        with pq.ParquetFile(str(path), buffer_size=BUFFER, pre_buffer=False) as file:
            names, n_rows = _named(file.schema_arrow, table, telling), file.metadata.num_rows
            if names is None or not ROWS <= n_rows < 2**31:
                return None
            refuse_bomb(path, file.metadata, len(names))
            return _read(_File(path, file, n_rows), *names)
    except (pa.ArrowInvalid, OSError):
        return None  # who reads it whole says what is wrong with it


def _read(file: _File, user: str, item: str, value: str | None = None) -> Grouped:
    ids, indptr, place = _users(file, user)
    items, codes = IdTable(), np.empty(file.n_rows, dtype=np.int32)
    file.fill(item, codes, items.number, place)
    if value is None:
        return Grouped(ids, indptr, codes, items.ids, np.ones(file.n_rows, dtype=np.float32))
    values = np.empty(file.n_rows)
    file.fill(value, values, _copy, place)
    _refuse_infinite(values, indptr, ids, place, (file.path, value))
    return Grouped(ids, indptr, codes, items.ids, values)


def _users(file: _File, name: str) -> tuple[Longs, Longs, Ints | None]:
    """Return the users by first appearance, the borders of their rows, and where each row goes (see ``_borders``)."""
    users, group = IdTable(), np.empty(file.n_rows, dtype=np.int32)
    file.fill(name, group, users.number, None)
    return users.ids, *_borders(group, len(users))


def _copy(raw: Doubles, values: Doubles) -> None:
    values[:] = raw


def _borders(group: Ints, n_groups: int) -> tuple[Longs, Ints | None]:
    """Return the borders of the groups, and where each row goes (None: they are grouped); overwrites ``group``."""
    changes = group[1:] != group[:-1]
    if np.count_nonzero(changes) + 1 == n_groups:
        return np.concatenate([[0], np.flatnonzero(changes) + 1, [len(group)]]), None
    del changes
    indptr = np.zeros(n_groups + 1, dtype=np.int64)
    _place(group, indptr)
    return indptr, group


@compiled("group", "indptr")
def _place(group: Ints, indptr: Longs) -> None:
    """Write the borders of the groups (zeros before), and in place of each row's group where the row goes."""
    write_borders(group, indptr)
    free = indptr[:-1].copy()
    for row in range(len(group)):
        of = group[row]
        group[row] = free[of]
        free[of] += 1


def _refuse_infinite(values: Doubles, indptr: Longs, users: Longs, place: Ints | None, where: tuple[Path, str]) -> None:
    for start, stop in blocks(len(values), ROWS):
        finite = np.isfinite(values[start:stop])
        if not finite.all():
            at = start + int(np.argmin(finite))
            row = at if place is None else int(np.argmax(place == at))
            user = users[np.searchsorted(indptr, at, side="right") - 1]
            raise InputError(
                f"{where[0]}: the {where[1]} of user {user} in row {row + 1} is {values[at]}: every {where[1]} must be "
                "a finite number: correct the row or drop it"
            )


def _sort(value: Doubles, indptr: Longs, item: Ints) -> None:
    """Sort the rows of each group in place, the largest value first, ties in their order."""

    def sort(block: tuple[int, int]) -> None:
        borders = indptr[block[0] : block[1] + 1] - indptr[block[0]]
        rows = slice(int(indptr[block[0]]), int(indptr[block[1]]))
        if not in_order(value[rows], borders):
            order = order_in_groups(value[rows], borders)
            value[rows], item[rows] = value[rows][order], item[rows][order]

    side_by_side(sort, blocks_of_groups(indptr, ROWS_AT_ONCE))
