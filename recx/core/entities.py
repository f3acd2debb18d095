"""The users and the items: their raw ids and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recx.core.errors import InputError
from recx.core.graphs import Graphs

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN_TIME = np.iinfo(np.int64).max
"""Stands in a time column of ``Entities.table`` where the time is not known: later than every request."""


@dataclass(frozen=True, eq=False)
class Entities:
    """The users or the items: raw ids and what is known of each one.

    ids: raw ids [n], unique, whole numbers or strings.
    table: column name -> [n]. A time column is int64 ms (``UNKNOWN_TIME`` where missing), a class column is int32
        codes (-1 where missing), a number is float32 (NaN where missing), a text is a string ("" where missing).
    embedding: float32 [n, d], a row of NaN where an entity has none; or None.
    graphs: a graph of tools for each entity, or None.
    names: what the files call each one [n], where ``ids`` must not tell; for people to read. The parts of a chain never
        see it: ``Experiment.run`` takes it away.
    """

    ids: npt.NDArray[Any]
    table: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    embedding: npt.NDArray[np.float32] | None = None
    graphs: Graphs | None = None
    names: npt.NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def shown(self) -> npt.NDArray[Any]:
        """What to show a person for each one [n]: its name, or its id where that is all."""
        return self.ids if self.names is None else self.names

    @cached_property
    def has_embedding(self) -> npt.NDArray[np.bool_]:
        """Which entities have an embedding [n]."""
        if self.embedding is None:
            return np.zeros(len(self.ids), dtype=bool)
        return ~np.isnan(self.embedding[:, 0])


def numbered(
    column: pd.Series[Any], name: str, known: Entities | None, *, sort: bool
) -> tuple[npt.NDArray[np.int32], Entities]:
    """Return the number of every id of a column [n] (by first appearance, or in sorted order), and the entities.

    Raises:
        InputError: an id is missing, or is not among the known entities.
    """
    import pandas as pd

    if known is None:
        codes, ids = pd.factorize(column, sort=sort)
        known = Entities(ids=np.asarray(ids))
    else:
        codes = pd.Index(known.ids).get_indexer(pd.Index(column))
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise InputError(f"column {name!r}, row {row + 1}: the id {column.tolist()[row]!r} is missing or unknown")
    return codes.astype(np.int32), known
