"""Finds rows that repeat the header, where files were joined, also in other letters or after a byte order mark."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.errors import InputError
from recx.core.types import Bools
from recx.storage.readers.numerals import whole_numbers


def has_row_names(after: bytes, n_names: int, delimiter: str) -> bool:
    """Return whether each row has its number, in quotes, before the columns that the header names, as R writes it.

    Args:
        after: The text behind the header, or its beginning.
        n_names: The number of columns that the header names.
        delimiter: One character.
    """
    if not after.lstrip(b"\r\n").startswith(b'"1"'):
        return False
    lines = [line for line in after.decode("utf-8", "ignore").splitlines() if line][:20]
    rows = csv.reader(lines if len(lines) < 2 else lines[:-1], delimiter=delimiter)  # the last one may be cut
    return all(len(row) == n_names + 1 and row[0] == str(at) for at, row in enumerate(rows, start=1))


def are_words(names: Sequence[str]) -> bool:
    """Return whether the names of columns are not all whole numbers."""
    return whole_numbers(pa.chunked_array([pa.array([name for name in names if name], pa.string())])) is None


def may_hold_headers(table: pa.Table, names: Sequence[str]) -> bool:
    """Return whether every column that was read, as texts, holds a name of the file's columns."""
    if are_words(names) and any(whole_numbers(column) is not None for column in table.columns):
        return False
    known = pa.array([name.lower() for name in names if name], pa.string())
    return all(pc.any(pc.is_in(_plain(pc.unique(column)), known)).as_py() for column in table.columns)


def repeated_headers(table: pa.Table, path: Path) -> Bools:
    """Return which rows hold the names of all columns [n].

    Args:
        table: All columns of a file, as texts.
        path: The file, for errors.

    Raises:
        InputError: A row holds the same names in another order.
    """
    names = [name.lower() for name in table.column_names]
    same: Bools = np.ones(table.num_rows, dtype=bool)
    named = same.copy()
    for name, column in zip(names, table.columns, strict=True):
        words = _plain(pc.fill_null(column, ""))
        same &= np.asarray(pc.equal(words, name))
        named &= np.asarray(pc.is_in(words, pa.array(names)))
    for row in np.flatnonzero(named & ~same).tolist():
        found = [column[row].as_py() for column in table.columns]
        if sorted(map(str.lower, found)) == sorted(names):
            raise InputError(
                f"{path}, row {row + 1} repeats the header in another order ({', '.join(found)}), as where files with "
                "other columns were joined: join them by the names of the columns"
            )
    return same


def _plain(words: Any) -> Any:
    """Return texts in lower case, without blanks and byte order marks around them."""
    return pc.utf8_lower(pc.utf8_trim(words, " \t\r\n\ufeff"))
