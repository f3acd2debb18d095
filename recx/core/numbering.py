"""From raw ids to numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recx.core.compiled import compiled
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import blocks

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Array = npt.NDArray[Any]
ROWS = 1 << 20
"""Rows of a block."""
NARROW = 1 << 20
"""Width of whole numbers up to which a table is small, however few ids there are."""


def numbered(
    column: pd.Series[Any], name: str, known: Entities | None, *, sort: bool
) -> tuple[npt.NDArray[np.int32], Entities]:
    """Return the number of every id of a column [n], and the entities.

    Args:
        column: Raw ids.
        name: The name of the column, for errors.
        known: The entities, if they are known beforehand.
        sort: Number new entities in sorted order rather than by first appearance.

    Raises:
        InputError: An id is missing, is not among the known entities, or differs from another only in blanks around it.
    """
    import pandas as pd

    kind = pd.api.types.infer_dtype(column, skipna=False)
    if kind == "floating" and not column.isna().any():
        column = _whole(column, name)
    if kind == "mixed-integer" and not column.isna().any():
        raise InputError(
            f"column {name!r}: the ids are numbers beside texts, which never meet: make them all numbers or all text"
        )
    if known is None:
        codes, ids = _by_table(column, sort) or pd.factorize(column, sort=sort)
        known = Entities(ids=np.asarray(ids))
        if kind == "string":
            _refuse_blanks(pd.Series(known.ids, dtype=object), name)
    else:
        codes = pd.Index(known.ids).get_indexer(pd.Index(column))
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise InputError(f"column {name!r}, row {row + 1}: the id {column.tolist()[row]!r} is missing or unknown")
    return codes.astype(np.int32, copy=False), known


def _by_table(column: pd.Series[Any], sort: bool) -> tuple[Ints, Array] | None:
    """Return the number of every id [n] and the ids of a column of whole numbers that are close together, else None.

    A table of all numbers in between takes a tenth of the time of hashing. It is never larger than the column.
    """
    if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "iu" or not len(column):
        return None
    least, most = int(column.min()), int(column.max())
    if most - least >= max(NARROW, len(column)) or most > np.iinfo(np.int64).max:
        return None
    table = np.full(most - least + 1, -1, dtype=np.int32)
    codes = np.empty(len(column), dtype=np.int32)
    n_ids = _number(column.to_numpy(dtype=np.int64), least, table, codes)
    found = np.flatnonzero(table >= 0)
    number, ids = table[found], (found + least).astype(column.dtype)
    if not sort:
        ids[number] = ids.copy()
        return codes, ids
    rank = np.empty(n_ids, dtype=np.int32)
    rank[number] = np.arange(n_ids, dtype=np.int32)
    for start, stop in blocks(len(codes), ROWS):
        codes[start:stop] = rank[codes[start:stop]]
    return codes, ids


@compiled("table", "codes")
def _number(raw: Longs, least: int, table: Ints, codes: Ints) -> int:
    """Number whole numbers by first appearance, and return how many differ.

    Args:
        raw: The whole numbers [n].
        least: The smallest of them.
        table: The number of each whole number from ``least`` on, -1 as long as it has none: is written.
        codes: The number of every row [n]: is written.
    """
    n_ids = 0
    for row in range(len(raw)):
        place = raw[row] - least
        if table[place] < 0:
            table[place] = n_ids
            n_ids += 1
        codes[row] = table[place]
    return n_ids


def _whole(column: pd.Series[Any], name: str) -> pd.Series[Any]:
    """Return ids that pandas made floats, as it does beside a missing value, as the whole numbers that they were."""
    numbers = column.to_numpy(dtype=np.float64)
    most = 2.0 ** (24 if column.dtype == np.float32 else 53)
    odd = (numbers != np.floor(numbers)) | (np.abs(numbers) >= most)
    if odd.any():
        raise InputError(
            f"column {name!r}: the id {numbers[odd].tolist()[0]!r} is a decimal number, or has lost digits as one: "
            "convert the ids to whole numbers or to text where they are read"
        )
    return column.astype(np.int64)


def _refuse_blanks(ids: pd.Series[Any], name: str) -> None:
    """Refuse distinct texts that would be one id without the blanks around them."""
    bare = ids.str.strip()
    padded = (bare != ids).to_numpy()
    twice = ids[padded & bare.isin(ids).to_numpy()]
    if len(twice):
        raise InputError(
            f"column {name!r}: the id {twice.iloc[0]!r} differs from another id only in blanks around it: "
            "strip them (column.str.strip()), or rename one of the two"
        )
