"""Lists that are made block by block, and kept as arrays or in temporary files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from recx.core.errors import RecxError
from recx.core.mapped import Column
from recx.core.notes import merged
from recx.core.ragged import indptr_of
from recx.core.types import Array, Notes, RankedLists


@dataclass
class StoredLists:
    """Takes lists block by block; what it gives back are ``RankedLists`` whose rows are read from files.

    Memory holds the users and the borders of the lists; items, scores and columns are in temporary files (see
    ``recx.core.mapped``).

    Attributes:
        notes: The merged notes of all blocks.
    """

    notes: Mapping[str, float] = field(default_factory=dict)
    _users: list[Array] = field(default_factory=list)
    _lengths: list[Array] = field(default_factory=list)
    _n: int = 0
    _item: Column = field(default_factory=Column)
    _score: Column = field(default_factory=Column)
    _columns: dict[str, Column] = field(default_factory=dict)

    def add(self, lists: RankedLists) -> None:
        """Write the lists of the next block.

        Where this fails, as on a full disk, it can be called again with the same lists.

        Raises:
            RecxError: The block has rows, and other columns than those before.
        """
        if not self._n:
            self._columns = {name: Column() for name in lists.columns}
        elif len(lists) and lists.columns.keys() != self._columns.keys():
            names, before = (", ".join(columns) or "none" for columns in (lists.columns, self._columns))
            raise RecxError(
                f"a part returned lists with these columns for some requests: {before}; and for others: {names}: let "
                "all its lists have the same, with NaN where there is no value"
            )
        self._item.write(lists.item, self._n)
        self._score.write(lists.score, self._n)
        for name, column in self._columns.items() if len(lists) else ():
            column.write(lists.columns[name], self._n)
        self._n += len(lists)
        self._users.append(lists.user)
        self._lengths.append(lists.lengths)
        self.notes = merged(self.notes, lists.notes)

    def lists(self) -> RankedLists:
        """Return all lists so far."""
        user, lengths = np.concatenate(self._users), np.concatenate(self._lengths)
        columns = {name: column.array(self._n) for name, column in self._columns.items()}
        item, score = self._item.array(self._n), self._score.array(self._n)
        return RankedLists(user, indptr_of(lengths), item, score, columns, self.notes)


def concat(parts: Iterable[RankedLists]) -> RankedLists:
    """Return all lists, with the columns of the first part and merged notes; parts held by nobody are freed."""
    notes: Notes = {}
    kinds = {"user": np.int32, "lengths": np.int64, "item": np.int32, "score": np.float32}
    found: dict[str, list[Array]] = {name: [np.zeros(0, kind)] for name, kind in kinds.items()}
    columns: dict[str, list[Array]] = {}
    for at, part in enumerate(parts):
        for name, arrays in found.items():
            arrays.append(getattr(part, name))
        for name in columns if at else part.columns:
            columns.setdefault(name, []).append(part.columns[name])
        notes = merged(notes, part.notes)
    user, lengths, item, score = (np.concatenate(found.pop(name)) for name in kinds)
    joined = {name: np.concatenate(columns.pop(name)) for name in list(columns)}
    return RankedLists(user, indptr_of(lengths), item, score, joined, notes)
