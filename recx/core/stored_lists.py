"""Lists that are made block by block, and kept as arrays or in temporary files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from recx.core.mapped import Column
from recx.core.notes import merged
from recx.core.ragged import indptr_of
from recx.core.types import Array, RankedLists


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
    _rows: dict[str, Column] = field(default_factory=lambda: {"item": Column(), "score": Column()})
    _columns: dict[str, Column] = field(default_factory=dict)

    def add(self, lists: RankedLists) -> None:
        """Write the lists of the next block; all blocks have the columns of the first."""
        if not self._users:
            self._columns = {name: Column() for name in lists.columns}
        self._users.append(lists.user)
        self._lengths.append(lists.lengths)
        self._rows["item"].add(lists.item)
        self._rows["score"].add(lists.score)
        for name, column in self._columns.items():
            column.add(lists.columns[name])
        self.notes = merged(self.notes, lists.notes)

    def lists(self) -> RankedLists:
        """Return all lists so far."""
        columns = {name: column.array() for name, column in self._columns.items()}
        rows = {name: column.array() for name, column in self._rows.items()}
        user, lengths = np.concatenate(self._users), np.concatenate(self._lengths)
        return RankedLists(user, indptr_of(lengths), **rows, columns=columns, notes=self.notes)
