"""Reads the log of an online test: which lists were shown to the users of both arms, and what was clicked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from recx.core.errors import InputError, did_you_mean
from recx.core.types import Array, Longs
from recx.evaluation.ab.assignment import Assignment, assigned
from recx.evaluation.ab.lists import Lists
from recx.evaluation.ab.nested import Nested
from recx.evaluation.ab.rows import Rows
from recx.evaluation.ab.settings import Settings
from recx.evaluation.grouped import Numbered, numbered
from recx.evaluation.log_columns import column_names, named, quoted, refuse_any, require_positions, source_of
from recx.storage.readers.names import recognised
from recx.storage.readers.raw_columns import raw_columns
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import read as read_columns

if TYPE_CHECKING:
    from recx.evaluation.evaluate import Given

WHO = {"user": "id", "arm": "text?"}
OF_ITEMS = {"list": "id", "item": "id", "position": "whole", "clicked": "flag"}
"""Role -> the kind of its values in a log with a row for each item shown (see ``recx.storage.readers.columns``)."""
OF_LISTS = ("shown", "clicked")
"""The roles of a log with a row for each list."""
ARMS = "arms?|variants?|groups?|buckets?|treatment|cell|experiment|branch|condition"
"""What the column of arms may be called."""


@dataclass(frozen=True, eq=False)
class Log:
    """The lists of both arms.

    Attributes:
        assignment: Who is in which arm.
        lists: The lists, of users by number.
        notes: Counts of what was left out, or is odd.
    """

    assignment: Assignment
    lists: Lists
    notes: Mapping[str, int]


def read_log(log: Given, columns: Mapping[str, str], metrics: Sequence[str], settings: Settings) -> Log:
    """Read a log.

    Args:
        log: A data frame or the path of a file.
        columns: Role -> its column, where that has another name.
        metrics: The metrics that it must allow to compute.
        settings: How it is to be read.

    Raises:
        InputError: It cannot be read, lacks a column, or can be read in two ways.
    """
    source = source_of(log)
    names, called = column_names(source), named(columns, [*WHO, *OF_ITEMS, "shown"])
    nested = _is_nested(source, called, columns, names)
    _require_arm(source, called, names)
    if nested:
        kinds = WHO | ({"list": "id"} if called["list"] in names or "list" in columns else {})
        who = read_columns(source, {called[role]: kind for role, kind in kinds.items()})
        assignment, user = _assigned(source, called, who, settings)
        raw = raw_columns(source, [called[role] for role in OF_LISTS], {})
        for role in OF_LISTS:
            if called[role] not in raw:
                raise _missing(source, called[role], names)
        shown, clicked = (_taken(raw[called[role]], assignment.rows) for role in OF_LISTS)
        users = user.codes[assignment.rows].astype(np.int64)
        if "list" in kinds:
            _refuse_twice(source, called["list"], who[called["list"]], assignment.rows, users)
        lists = Nested(str(source.path), called, assignment.rows, users, shown, clicked).lists(settings)
    else:
        kinds = {**WHO, **_needed(source, called, columns, names, metrics)}
        values = read_columns(source, {called[role]: kind for role, kind in kinds.items()})
        assignment, user = _assigned(source, called, values, settings)
        of = {role: values[called[role]][assignment.rows] for role in kinds if role not in WHO}
        codes = Numbered(user.codes[assignment.rows], user.ids)
        lists = Rows(str(source.path), called, assignment.rows, codes, of).lists(settings)
    if not lists.clicks.any():
        raise InputError(
            f"{source.path}: column {called['clicked']!r} has no click in either arm, so nothing can be said of their "
            "difference: give a log with clicks"
        )
    return Log(assignment, lists, {**assignment.notes, **lists.notes})


def _is_nested(source: Source, called: Mapping[str, str], columns: Mapping[str, str], names: Sequence[str]) -> bool:
    """Return whether a row is a list, not an item.

    Raises:
        InputError: It could be both, or a column is given that such a log does not have.
    """
    nested = called["shown"] in names
    of_items = [role for role in ("item", "position") if called[role] in names]
    if nested and of_items:
        raise InputError(
            f"{source.path}: the column {called['shown']!r} could hold the items of a list, a row a list, or say "
            f"whether the item of a row was shown, since there is a column {called[of_items[0]]!r} too: drop one of "
            "them (and rows that were not shown)"
        )
    if nested and (unused := [role for role in columns if role in ("item", "position")]):
        raise InputError(f"columns={{{unused[0]!r}: …}}: a log with a row a list has no such column: leave it out")
    if not nested and "shown" in columns:
        raise _missing(source, called["shown"], names)
    return nested


def _refuse_twice(source: Source, column: str, raw: Array, rows: Longs, user: Longs) -> None:
    """Refuse a log in which two rows that count have one user and one name of a list."""
    lists = numbered(raw[rows])
    key = user * len(lists.ids) + lists.codes
    order = np.argsort(key, kind="stable")
    again = np.zeros(len(key), dtype=bool)
    again[order[1:]] = key[order[1:]] == key[order[:-1]]
    refuse_any(
        source.path,
        column,
        again,
        lambda at: f"a user has two rows of the list {quoted(lists.ids, lists.codes[at])}",
        "it could have been logged twice, or two lists could have one name: keep one row, or name the lists apart",
        rows,
    )


def _require_arm(source: Source, called: Mapping[str, str], names: Sequence[str]) -> None:
    if called["arm"] not in names:
        like = [name for name in recognised(ARMS, names) if name not in called.values()]
        if len(like) == 1:
            raise InputError(
                f"{source.path}: column {called['arm']!r} is missing; if {like[0]!r} says in which arm a user is, name "
                f'it by --columns arm={like[0]} (columns={{"arm": {like[0]!r}}})'
            )
        raise _missing(source, called["arm"], names)


def _needed(
    source: Source, called: Mapping[str, str], columns: Mapping[str, str], names: Sequence[str], metrics: Sequence[str]
) -> dict[str, str]:
    """Return role -> kind of the columns to read of a log with a row for each item.

    Raises:
        InputError: Positions, or the lists, are missing where a metric needs them.
    """
    there = {role for role in OF_ITEMS if called[role] in names or role in columns}
    if "position" not in there and "mrr" in metrics:
        require_positions(source, called, names)
    if not {"position", "list"} & there and set(metrics) != {"ctr"}:
        raise InputError(
            f"{source.path}: column {called['list']!r} is missing, and the rows of a user could be one list or "
            "several: add it, or compute what needs no lists (--metrics ctr)"
        )
    return {role: kind for role, kind in OF_ITEMS.items() if role in there or role == "clicked"}


def _assigned(
    source: Source, called: Mapping[str, str], values: Mapping[str, Array], settings: Settings
) -> tuple[Assignment, Numbered]:
    user = numbered(values[called["user"]])
    columns = (called["user"], called["arm"])
    return assigned(user, values[called["arm"]], source.path, columns, settings), user


def _taken(column: pa.ChunkedArray, rows: Longs) -> pa.ChunkedArray:
    return column if len(rows) == len(column) else column.take(pa.array(rows))


def _missing(source: Source, column: str, names: Sequence[str]) -> InputError:
    return InputError(f"{source.path}: column {column!r} is missing; {did_you_mean(column, names)}")
