"""The users and the items: their raw ids and what is known about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recx.core.errors import InputError, did_you_mean
from recx.core.graphs import Graphs
from recx.core.ragged import indptr_of, rows_of_groups

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN_TIME = np.iinfo(np.int64).max
"""An unknown time in a time column of ``Entities.table``: later than every request."""


@dataclass(frozen=True, eq=False)
class ClassLists:
    """Classes of which each entity may have any number, such as genres.

    Attributes:
        indptr: Borders of the entities' classes [n + 1].
        code: The classes of all entities, codes from 0; none twice for one entity.
    """

    indptr: npt.NDArray[np.int64]
    code: npt.NDArray[np.int32]

    def take(self, numbers: npt.NDArray[np.int64]) -> ClassLists:
        """Return the classes of some entities, in the given order; none for the number -1."""
        known = numbers[numbers >= 0]
        lengths = np.zeros(len(numbers), dtype=np.int64)
        lengths[numbers >= 0] = np.diff(self.indptr)[known]
        return ClassLists(indptr_of(lengths), self.code[rows_of_groups(self.indptr, known)])


@dataclass(frozen=True, eq=False)
class Entities:
    """The users or the items: raw ids and what is known about each.

    Attributes:
        ids: Raw ids [n], unique, integers or strings.
        table: Column name -> [n]. Times are int64 ms (``UNKNOWN_TIME`` if missing), classes int32 codes (-1 if
            missing), numbers float32 or float64 (NaN if missing), texts strings ("" if missing).
        embedding: Vectors [n, d], a row of NaN for an entity without one; or None.
        graphs: A graph of tools for each entity, or None.
        names: The names used in the files [n], for people to read, if ``ids`` must not reveal them. The parts of a
            chain never see it: ``Experiment.run`` removes it.
        lists: Column name -> the classes of each entity, where it may have several.
        context: Columns of the table that describe an entity's first event. They are unknown in a history without this
            event, which may be the one to predict (see ``Interactions.keep``).
    """

    ids: npt.NDArray[Any]
    table: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    embedding: npt.NDArray[np.float32] | None = None
    graphs: Graphs | None = None
    names: npt.NDArray[Any] | None = None
    context: tuple[str, ...] = ()
    lists: Mapping[str, ClassLists] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def shown(self) -> npt.NDArray[Any]:
        """What to show a person for each entity [n]: its name, or its id if it has no name."""
        return self.ids if self.names is None else self.names

    @cached_property
    def has_embedding(self) -> npt.NDArray[np.bool_]:
        """Which entities have an embedding [n]."""
        if self.embedding is None:
            return np.zeros(len(self.ids), dtype=bool)
        return ~np.isnan(self.embedding[:, 0])

    def take(self, numbers: npt.NDArray[np.int64]) -> Entities:
        """Return some of the entities, in the given order.

        Args:
            numbers: Their numbers [m].
        """
        return replace(
            self,
            ids=self.ids[numbers],
            table={name: column[numbers] for name, column in self.table.items()},
            embedding=None if self.embedding is None else self.embedding[numbers],
            graphs=None if self.graphs is None else self.graphs.take(numbers),
            names=None if self.names is None else self.names[numbers],
            lists={name: of.take(numbers) for name, of in self.lists.items()},
        )

    def renumbered(self, numbers: npt.NDArray[Any], ids: npt.NDArray[Any]) -> Entities:
        """Return entities with these ids [n], of which nothing else is known where the number is -1.

        Args:
            numbers: The number of each among the entities [n]; -1: it is none of them.
            ids: Their raw ids [n].
        """
        known = numbers >= 0

        def chosen(column: npt.NDArray[Any], unknown: Any) -> npt.NDArray[Any]:
            found = np.full((len(numbers), *column.shape[1:]), unknown, dtype=column.dtype)
            found[known] = column[numbers[known]]
            return found

        return Entities(
            ids,
            {name: chosen(column, unknown_in(column)) for name, column in self.table.items()},
            None if self.embedding is None else chosen(self.embedding, np.nan),
            context=self.context,
            lists={name: of.take(numbers) for name, of in self.lists.items()},
        )


def without_context(users: Entities, indptr: npt.NDArray[Any], kept: npt.NDArray[np.bool_]) -> Entities:
    """Return the users with the context unknown of those whose first event is not kept.

    Args:
        users: The users.
        indptr: Borders of their events [n_users + 1], oldest first.
        kept: Which events are kept [n].
    """
    active = np.flatnonzero(np.diff(indptr)) if users.context else np.zeros(0, dtype=np.int64)
    lost = active[~kept[indptr[active]]]
    if not len(lost):
        return users
    table = {name: column.copy() if name in users.context else column for name, column in users.table.items()}
    for name in users.context:
        table[name][lost] = unknown_in(table[name])
    return replace(users, table=table)


def unknown_in(column: npt.NDArray[Any]) -> Any:
    """Return the value that stands for an unknown one in such a column of ``Entities.table``."""
    if column.dtype.kind in "iu":
        return UNKNOWN_TIME if column.dtype == np.int64 else -1
    return np.nan if column.dtype.kind == "f" else ""


def check_columns(columns: Mapping[str, Any]) -> None:
    """Check the columns of events: a misspelt ``time`` would silently leave the events without times.

    Raises:
        InputError: A column is missing or unknown.
    """
    known = ("user", "item", "time", "weight", "fold")
    for name in known[:2]:
        if name not in columns:
            raise InputError(f"the events have no column {name!r}: rename theirs, {', '.join(map(str, columns))}")
    for name in columns:
        if name not in known:
            near = did_you_mean(str(name), known)
            raise InputError(f"the events have a column {name!r}: leave it out, since nothing reads it; {near}")


def refuse_headers(columns: Mapping[str, pd.Series[Any]] | pd.DataFrame, where: str) -> None:
    """Check that no row repeats the names of the columns, as where files were joined.

    Raises:
        InputError: A row does.
    """
    named = list(columns.items())
    again = np.full(1, len(named) > 0)
    for title, column in named:
        if not again.any() or column.dtype.kind != "O":
            return
        name = str(title)
        forms = {name, name.lower(), name.upper(), name.capitalize()}
        again = again & column.isin(forms | {f"\ufeff{form}" for form in forms}).to_numpy(dtype=bool)
    if again.any():
        raise InputError(
            f"{where}, row {int(np.argmax(again)) + 1}: it repeats the names of the columns: drop the row, and convert "
            "numbers that became texts for it"
        )
