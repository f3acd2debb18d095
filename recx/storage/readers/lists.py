"""Reads lists and ground truth from files: CSV, TSV, Parquet and the formats of TREC, BEIR and MS MARCO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recx.core.errors import InputError, did_you_mean
from recx.core.precision import is_inexact
from recx.core.types import Array
from recx.storage.readers.columnar import typed
from recx.storage.readers.content import content
from recx.storage.readers.in_memory import as_stream
from recx.storage.readers.names import GRADES, ITEMS, RANKS, SYSTEMS, USERS, WEIGHTS, recognised
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import layouts, read_texts
from recx.storage.readers.tables import read as read_columns
from recx.storage.readers.unfolded import unfolded
from recx.storage.readers.untitled import TREC, read_untitled

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "recommendations": {"user": "id", "item": "id", "score": "double?", "rank": "double?"},
    "relevance": {"user": "id", "item": "id", "grade": "double?"},
    "history": {"user": "id", "item": "id"},
    "items": {"item": "id", "category": "id?", "is_abstain": "flag?"},
}
"""Table -> its columns and their kinds (see ``recx.storage.readers.columns``)."""

QUERY_ID = ("query_id", "qid", "query-id")
DOCUMENT_ID = ("document_id", "doc_id", "docno", "docid", "corpus-id", "pid")
TELLING = {**dict.fromkeys(("relevance", "history"), f"{GRADES}|{WEIGHTS}"), "recommendations": RANKS}
"""Table -> words by which further columns are recognised that it cannot leave unread."""

GRADE = ("grade", "relevance", "rel", "label", "score")
SEARCH: Mapping[str, Sequence[str]] = {
    "user": (*QUERY_ID, "query"),
    "item": (*DOCUMENT_ID, "document"),
    "score": ("score",),
    "rank": ("rank",),
    "grade": GRADE,
}
"""Column -> its names in files of queries and documents, such as BEIR's, which have neither user nor item."""


def read(
    path: Path,
    name: str,
    *,
    columns: Mapping[str, str] | None = None,
    by: str | None = None,
    data: memoryview | None = None,
) -> pd.DataFrame:
    """Return a table of a file, with the columns by whose names it could mean something else (see ``TELLING``).

    ``attrs["text"]`` is true if it was a text file, ``attrs["notes"]`` counts the rows that were left out. A table with
    one row a user, whose items stand in a list, becomes one with one row an item.

    Args:
        path: The file.
        name: The table (see ``COLUMNS``).
        columns: Role -> its column, where that has another name.
        by: A further column that is needed: what made the lists.
        data: Its bytes, where they have been read already.

    Raises:
        InputError: The file cannot be read, a column is missing, a value is not of its column's kind, or it could be
            read in two ways.
    """
    import pandas as pd

    data = content(path) if data is None else data
    found = layouts(path, data)
    if (table := typed(path, data)) is not None and (lists := roles_of_lists(table.names, table.nested, name, columns)):
        kept = [by] if by in table.names else recognised(SYSTEMS, table.names)
        flat = unfolded(table, lists, kept, name == "recommendations", by is not None, path)
        return read(path, name, by=by, data=as_stream(flat))
    fitting = ((mark, roles_of(names, name, columns)) for mark, names in found.items())
    mark, called = next((pair for pair in fitting if pair[1]), (None, None))
    if not called and name in TREC and not columns and (frame := read_untitled(path, data, name)) is not None:
        frame.attrs = {"text": True, "notes": {}}
        return frame
    check_columns(found.get(mark) or next(iter(found.values())), name, columns or {}, str(path))
    called = called or {role: role for role in COLUMNS[name]}  # those that are missing are then named
    notes: dict[str, int] = {}
    kinds = {column: COLUMNS[name][role] for role, column in called.items()}
    source = Source(path, mark, data=data)
    kinds |= {} if by is None else {by: "text"}
    values = read_columns(source, kinds, notes=notes)
    for column in (column for column, kind in kinds.items() if kind == "double?" and column in values):
        values[column] = _exact(source, column, values[column])
    frame = pd.DataFrame({role: values[column] for role, column in called.items() if column in values})
    others = [other for other in found.get(mark, ()) if other not in values]
    if name in TELLING and "grade" not in frame and "rank" not in frame:
        for column in recognised(TELLING[name], others):
            frame[column] = _numbers_or_texts(source, column)
    for column in recognised(SYSTEMS, others) if name == "recommendations" and by is None else ():
        frame[column] = read_columns(source, {column: "text?"}, notes={})[column]
    if by is not None:
        frame[by] = values[by]
    frame.attrs = {"text": None not in found, "notes": notes}
    return frame


def _numbers_or_texts(source: Source, column: str) -> Array:
    with suppress(InputError):
        return read_columns(source, {column: "double?"}, notes={})[column]
    texts = read_columns(source, {column: "id?"}, notes={})[column]
    said = {"true": 1.0, "false": 0.0}
    if {str(text).lower() for text in set(texts.tolist())} <= said.keys():
        return np.array([said[str(text).lower()] for text in texts.tolist()])
    return texts


def _exact(source: Source, column: str, values: Array) -> Array:
    """Return whole numbers from 2^53 on as such, since decimal numbers would merge neighbours.

    Raises:
        InputError: They stand beside other numbers, or have more digits than an int64 can hold.
    """
    if not (np.isfinite(values).all() and (np.abs(values) >= 2**53).any()):
        return values
    with suppress(InputError):
        return read_columns(source, {column: "whole"}, notes={})[column]
    if source.delimiter is not None:
        for text in read_texts(source)[column].to_pylist():
            if is_inexact(text):
                raise InputError(
                    f"{source.path}: the column {column!r} holds the number {text.strip()}, which decimal "
                    "numbers cannot tell from its neighbours: write all its values as whole numbers of up to 18 digits"
                )
    return values


def renamed(names: Sequence[str], table: str, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the name by which each column of a table is known, which is a role or its own -> its own.

    Args:
        names: The columns.
        table: The table (see ``COLUMNS``).
        columns: Role -> its column; a column that has the name of such a role itself is left out.
    """
    role_of = {column: role for role, column in columns.items() if role in COLUMNS[table] and column in names}
    return {role_of.get(name, name): name for name in names if name in role_of or name not in role_of.values()}


def check_columns(names: Sequence[str], table: str, columns: Mapping[str, str], where: str) -> None:
    """Check that a table has the columns of its roles; users and items may also be called so.

    Raises:
        InputError: A column is missing, has two roles, or a role is unknown.
    """
    roles = list(dict.fromkeys(role for of_table in COLUMNS.values() for role in of_table))
    for role, column in columns.items():
        if role not in roles:
            raise InputError(f"columns={{{role!r}: …}}: there is no such role: {did_you_mean(str(role), roles)}")
        if list(columns.values()).count(column) > 1:
            raise InputError(f"columns: {column!r} is given two roles: name another column for one of them")
        if role in COLUMNS[table] and column not in names and not (role in ("user", "item") and role in names):
            raise InputError(f"{where}: column {column!r} ({role}) is missing; {did_you_mean(str(column), names)}")


def _named_otherwise(names: Sequence[str], table: str) -> dict[str, str]:
    """Return column -> its name where one says user and one item in other words, such as ``userId`` and ``movieId``."""
    found = {role: recognised(words, names) for role, words in {"user": USERS, "item": ITEMS}.items()}
    numbers = {role: [name for name in names if name.partition(":")[0] == role] for role in ("score", "rank", "grade")}
    return {role: same[0] for role, same in {**found, **numbers}.items() if role in COLUMNS[table] and len(same) == 1}


def roles_of(names: Sequence[str], table: str, columns: Mapping[str, str] | None = None) -> dict[str, str] | None:
    """Return column -> its name in a header of a table (see ``COLUMNS``); None: it lacks a column that is needed."""
    known = renamed(names, table, columns or {})
    chosen = _roles_of(list(known), table)
    return chosen and {role: known[name] for role, name in chosen.items()}


def roles_of_lists(
    names: Sequence[str], nested: Sequence[str], table: str, columns: Mapping[str, str] | None = None
) -> dict[str, str] | None:
    """Return the same of a table with one row a user, where columns of lists may be in the plural; None: it is none."""
    if table not in ("recommendations", "relevance", "history"):
        return None
    known = renamed(names, table, columns or {})
    plural = {name: name.removesuffix("s") for name in known if known[name] in nested}
    known = {
        plural.get(name, name) if plural.get(name) in COLUMNS[table] else name: column for name, column in known.items()
    }
    chosen = _roles_of(list(known), table)
    return {role: known[name] for role, name in chosen.items()} if chosen and known[chosen["item"]] in nested else None


def _roles_of(names: Sequence[str], table: str) -> dict[str, str] | None:
    if "user" in names or "item" in names:
        chosen = {role: role for role in COLUMNS[table] if role in names}
    else:
        known = {role: next((name for name in SEARCH.get(role, ()) if name in names), None) for role in COLUMNS[table]}
        chosen = {role: name for role, name in known.items() if name}
        chosen = chosen if "user" in chosen or "item" in chosen else _named_otherwise(names, table)
    return chosen if all(role in chosen for role, kind in COLUMNS[table].items() if kind == "id") else None
