"""What every dataset does with its columns: number the ids, order the events, count and drop exact duplicates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Array, Interactions

Duplicates = Literal["drop", "keep"]


def require_path(path: str | None, example: str) -> Path:
    """Return the path of a dataset that cannot do without one.

    Raises:
        InputError: no path is set.
    """
    if not path:
        raise InputError(f"dataset.path is not set: name the file, such as dataset.path={example}")
    return at_home(path)


def at_home(path: str) -> Path:
    """Return the path with a leading ``~`` filled in.

    Raises:
        InputError: the system does not know that home.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(f"dataset.path={path}: there is no such home folder: write the path in full") from error


def interactions_of(columns: dict[str, Array], duplicates: Duplicates, items: Entities | None = None) -> Interactions:
    """Return the events of the columns user, item and, where there are, time (ms) and weight, [n] each.

    Rows of the same user, item and time are one event told twice: the first is kept, ``duplicate_rows`` counts the
    others. Without times nothing is a duplicate.
    """
    import pandas as pd

    interactions = Interactions.from_frame(pd.DataFrame(columns), items=items)
    if interactions.time is None or duplicates == "keep":
        return interactions
    twice = _duplicates(interactions)
    kept = interactions.keep(~twice) if twice.any() else interactions
    return replace(kept, notes={**kept.notes, "duplicate_rows": int(twice.sum())})


def _duplicates(interactions: Interactions) -> Array:
    """Return which events repeat an earlier row [n], looking only at rows that share user and time with a neighbour."""
    user, item, time = interactions.user, interactions.item, interactions.time
    assert time is not None
    twice = np.zeros(len(item), dtype=bool)
    tied = (user[1:] == user[:-1]) & (time[1:] == time[:-1])
    rows = np.flatnonzero(np.append(tied, False) | np.insert(tied, 0, False))
    rows = rows[np.lexsort((item[rows], time[rows], user[rows]))]
    same = (user[rows][1:] == user[rows][:-1]) & (time[rows][1:] == time[rows][:-1])
    twice[rows[1:][same & (item[rows][1:] == item[rows][:-1])]] = True
    return twice
