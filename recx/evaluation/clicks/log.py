"""Reads a log of impressions: which items were shown at which positions of which lists, and which were clicked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recx.core.errors import InputError
from recx.core.ragged import distinct, group_of_rows, indptr_of, repeats
from recx.core.types import Array, Bools, Ints, Longs
from recx.evaluation.grouped import numbered
from recx.evaluation.log_columns import column_names, named, quoted, refuse_any, require_positions, source_of
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import read as read_columns

if TYPE_CHECKING:
    from recx.evaluation.evaluate import Given

ROLES = {"list": "id", "query": "id", "item": "id", "position": "whole", "clicked": "flag"}
"""Column -> the kind of its values (see ``recx.storage.readers.columns``); query may be absent."""


@dataclass(frozen=True, eq=False)
class ClickLog:
    """Lists as they were shown, and their clicks.

    A *pair* is an item, or a query and an item where the log has queries: what parameters are estimated of.

    Attributes:
        indptr: Borders of the lists [n_lists + 1].
        pair: The pair of each impression, by list and position, int32 [n].
        clicked: Whether it was clicked [n].
        item: The raw id of each pair's item [n_pairs].
        query: That of its query [n_pairs]; None: the log has none.
        name: The file, for errors.
    """

    indptr: Longs
    pair: Ints
    clicked: Bools
    item: Array
    query: Array | None
    name: str

    @cached_property
    def list_of_row(self) -> Longs:
        """The list of each impression [n]."""
        return group_of_rows(self.indptr)

    @cached_property
    def last(self) -> Longs:
        """The impression of each list that was clicked last, the one before its first if none was [n_lists]."""
        last = self.indptr[:-1] - 1
        clicks = np.flatnonzero(self.clicked)
        last[self.list_of_row[clicks]] = clicks  # the last one written stays
        return last


def read_log(log: Given, columns: Mapping[str, str] | None = None, *, one_click: bool = False) -> ClickLog:
    """Read a log with a row for each impression.

    Args:
        log: A data frame or the path of a file with the columns list, item, position (from 1), clicked (0 or 1) and,
            optionally, query.
        columns: Role -> its column, where that has another name.
        one_click: Whether a list can have one click at most, as in the cascade model.

    Raises:
        InputError: It cannot be read, lacks a column, or its rows are not what was shown in whole lists.
    """
    source = source_of(log)
    called = _named(source, columns or {})
    values = read_columns(source, {column: ROLES[role] for role, column in called.items()})
    rows = {role: values[column] for role, column in called.items()}
    return _Rows(str(source.path), called, rows).checked(one_click)


def _named(source: Source, columns: Mapping[str, str]) -> dict[str, str]:
    """Return role -> its column.

    Raises:
        InputError: A role is unknown, or there are no positions.
    """
    names, called = column_names(source), named(columns, ROLES)
    require_positions(source, called, names)
    return {role: name for role, name in called.items() if role != "query" or role in columns or name in names}


@dataclass(frozen=True)
class _Rows:
    """The rows of a log, in the order of the file.

    Attributes:
        path: The file, for errors.
        named: Role -> its column.
        of: Role -> its values [n].
    """

    path: str
    named: Mapping[str, str]
    of: Mapping[str, Array]

    def checked(self, one_click: bool) -> ClickLog:
        """Return the log, with every list sorted by position.

        Raises:
            InputError: The rows are not what was shown in whole lists, or there is no click.
        """
        position, lists = self.of["position"], numbered(self.of["list"])
        self._refuse_any(position < 1, "position", lambda row: f"the position is {position[row]}", _FROM_1)
        rows = np.lexsort((position, lists.codes))
        indptr = indptr_of(np.bincount(lists.codes, minlength=len(lists.ids)))
        step = np.diff(position[rows], prepend=0)
        step[indptr[:-1]] = position[rows[indptr[:-1]]]  # the first position of a list follows on 0
        self._refuse_any(
            self._at(rows, step == 0),
            "position",
            lambda row: f"the list {self._shown('list', row)} has the position {position[row]} twice",
            "one impression could have been logged twice, or two lists could have one name: keep one row, or name the "
            "lists apart",
        )
        self._refuse_any(
            self._at(rows, step > 1),
            "position",
            lambda row: (
                f"the list {self._shown('list', row)} has the position {position[row]}, not {position[row] - 1}"
            ),
            "an item could be missing from the log, or positions could leave some out: log every item shown, or number "
            "them 1, 2, 3 …",
        )
        items = numbered(self.of["item"])
        self._refuse_any(
            self._at(rows, repeats(items.codes[rows], indptr)),
            "item",
            lambda row: f"the list {self._shown('list', row)} shows the item {self._shown('item', row)} twice",
            "keep one of them, or name the lists apart",
        )
        clicked = self.of["clicked"]
        if not clicked.any():
            raise InputError(
                f"{self.path}: column {self.named['clicked']!r} has no click, so nothing can be said of any item: "
                "give a log with clicks"
            )
        if one_click:
            clicks = np.flatnonzero(clicked[rows])
            second = np.zeros(len(rows), dtype=bool)
            of_list = group_of_rows(indptr)[clicks]
            second[clicks[1:][of_list[1:] == of_list[:-1]]] = True
            self._refuse_any(
                self._at(rows, second),
                "clicked",
                lambda row: (
                    f"the list {self._shown('list', row)} has more than one click, which no user of the cascade "
                    "model makes"
                ),
                "use model=dbn or model=sdbn, or keep the first click of each list",
            )
        pair, item, query = items.codes, items.ids, None
        if "query" in self.of:
            pair, item, query = self._pairs(rows, indptr)
        return ClickLog(indptr, pair[rows].astype(np.int32), clicked[rows], item, query, self.path)

    def _pairs(self, rows: Longs, indptr: Longs) -> tuple[Ints, Array, Array]:
        """Return the pair of each row [n], and the items and queries of the pairs."""
        items, queries = numbered(self.of["item"]), numbered(self.of["query"])
        first = np.repeat(queries.codes[rows[indptr[:-1]]], np.diff(indptr))
        self._refuse_any(
            self._at(rows, queries.codes[rows] != first),
            "query",
            lambda row: (
                f"the list {self._shown('list', row)} has the query {self._shown('query', row)} and another one"
            ),
            "name the lists apart, or give all rows of a list one query",
        )
        key = queries.codes * np.int64(len(items.ids)) + items.codes
        keys = distinct(key)
        pair = np.searchsorted(keys, key).astype(np.int32)
        return pair, items.ids[keys % len(items.ids)], queries.ids[keys // len(items.ids)]

    def _at(self, rows: Longs, bad: Bools) -> Bools:
        """Return in the order of the file what is given in that of the lists."""
        found = np.zeros(len(rows), dtype=bool)
        found[rows] = bad
        return found

    def _refuse_any(self, bad: Bools, role: str, what: Callable[[int], str], way_out: str) -> None:
        refuse_any(self.path, self.named[role], bad, what, way_out)

    def _shown(self, role: str, row: int) -> str:
        return quoted(self.of[role], row)


_FROM_1 = "positions could count from 0, or the item may not have been shown: count from 1, and drop what was not shown"
