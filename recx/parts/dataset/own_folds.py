"""Files of train, valid and test events as one table, and rows that are left unread for what a column says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recx.core.errors import InputError
from recx.core.given_folds import GIVEN
from recx.core.types import Array, Bools

SHOWN = 10
"""Values of a column that an error names."""


def joined(tables: Mapping[str, dict[str, Array]]) -> dict[str, Any]:
    """Return the columns of several tables, one after the other, and a column ``fold`` that says where a row is from.

    Ids that are whole numbers in one table and text in another become text, as in one table with both.

    Args:
        tables: Fold -> its columns, the same for all. They are taken out, so that their memory is free again.
    """
    import pandas as pd

    codes = [GIVEN.index(fold) for fold in tables]
    lengths = [len(columns["user"]) for columns in tables.values()]
    found: dict[str, Any] = {}
    for name in list(next(iter(tables.values()))):
        parts = [columns.pop(name) for columns in tables.values()]
        if name in ("user", "item") and not all(part.dtype.kind in "iu" for part in parts):
            parts = [np.array([str(one) for one in part.tolist()], dtype=object) for part in parts]
        found[name] = np.concatenate(parts)
    found["fold"] = pd.Categorical.from_codes(np.repeat(codes, lengths), categories=list(GIVEN))
    return found


def rows_where(
    columns: Mapping[str, Array], where: Mapping[str, Sequence[str]], path: str, *, may_lack: bool = False
) -> Bools:
    """Return which rows [n] have, in every column, one of the values that are asked for.

    Args:
        columns: The columns, as texts.
        where: Column -> the values.
        path: The file, for errors.
        may_lack: Whether a column may lack a value, as in the second of several files.

    Raises:
        InputError: A value does not occur in its column, so that it may be misspelt.
    """
    import pandas as pd

    rows = np.ones(len(next(iter(columns.values()))), dtype=bool)
    for name, wanted in where.items():
        numbers, words = pd.factorize(columns[name])  # -1: it is missing
        bare = [_bare(word) for word in words]  # some may differ in blanks only
        known = list(dict.fromkeys(bare))
        for value in wanted:
            if value not in known and not may_lack:
                shown = ", ".join(known[:SHOWN]) + (", …" if len(known) > SHOWN else "")
                raise InputError(
                    f"{path}: the column {name!r} never holds {value!r}, which dataset.where asks for: it holds {shown}"
                )
        rows &= np.isin(numbers, [number for number, word in enumerate(bare) if word in wanted])
    return rows


def values_of(where: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the setting ``dataset.where`` with a tuple of texts for every column.

    Raises:
        InputError: A column is asked for no value, or for something that is no value.
    """
    found = {}
    for name, wanted in where.items():
        values = tuple(wanted) if isinstance(wanted, list | tuple) else (wanted,)
        if not values or any(value is None or isinstance(value, dict | list) for value in values):
            raise InputError(
                f"dataset.where.{name}={wanted}: it must be a value of the column, or a list of some, such as "
                "dataset.where={event:[purchase]}"
            )
        found[str(name)] = tuple(map(_bare, values))
    return found


def _bare(value: Any) -> str:
    """Return a value as text without blanks around it; True and TRUE are true."""
    text = str(value).strip()
    return text.lower() if text.lower() in ("true", "false") else text
