"""Reads lists and ground truth from files: CSV, TSV, Parquet and the formats of TREC, BEIR and MS MARCO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recx.core.errors import InputError
from recx.core.precision import is_inexact
from recx.core.types import Array
from recx.storage.readers.content import content
from recx.storage.readers.names import GRADES, ITEMS, RANKS, USERS, WEIGHTS, recognised
from recx.storage.readers.tables import Source, layouts, read_texts
from recx.storage.readers.tables import read as read_columns
from recx.storage.readers.untitled import TREC, read_untitled

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "recommendations": {"user": "id", "item": "id", "score": "double?", "rank": "double?"},
    "relevance": {"user": "id", "item": "id", "grade": "double?"},
    "history": {"user": "id", "item": "id"},
    "items": {"item": "id", "category": "id?"},
}
"""Table -> its columns and their kinds (see ``recx.storage.readers.columns``)."""

QUERY_ID = ("query_id", "qid", "query-id")
DOCUMENT_ID = ("document_id", "doc_id", "docid", "docno", "corpus-id", "pid")
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


def read(path: Path, name: str) -> pd.DataFrame:
    """Return a table of a file, with the columns by whose names it could mean something else (see ``TELLING``).

    ``attrs["text"]`` is true if it was a text file, ``attrs["notes"]`` counts the rows that were left out.

    Args:
        path: The file.
        name: The table (see ``COLUMNS``).

    Raises:
        InputError: The file cannot be read, a column is missing, a value is not of its column's kind, or it could be
            read in two ways.
    """
    import pandas as pd

    data = content(path)
    found = layouts(path, data)
    fitting = ((mark, roles_of(names, name)) for mark, names in found.items())
    mark, called = next((pair for pair in fitting if pair[1]), (None, None))
    if not called and name in TREC and (frame := read_untitled(path, data, name)) is not None:
        frame.attrs = {"text": True, "notes": {}}
        return frame
    called = called or {role: role for role in COLUMNS[name]}  # those that are missing are then named
    notes: dict[str, int] = {}
    kinds = {column: COLUMNS[name][role] for role, column in called.items()}
    source = Source(path, mark, data=data)
    columns = read_columns(source, kinds, notes=notes)
    for column in (column for column, kind in kinds.items() if kind == "double?" and column in columns):
        columns[column] = _exact(source, column, columns[column])
    frame = pd.DataFrame({role: columns[column] for role, column in called.items() if column in columns})
    if name in TELLING and "grade" not in frame and "rank" not in frame:
        others = [other for other in found.get(mark, ()) if other not in columns]
        for column in recognised(TELLING[name], others):
            frame[column] = _numbers_or_texts(source, column)
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


def _named_otherwise(names: Sequence[str], table: str) -> dict[str, str]:
    """Return column -> its name where one says user and one item in other words, such as ``userId`` and ``movieId``."""
    found = {role: recognised(words, names) for role, words in {"user": USERS, "item": ITEMS}.items()}
    numbers = {role: [name for name in names if name.partition(":")[0] == role] for role in ("score", "rank", "grade")}
    return {role: same[0] for role, same in {**found, **numbers}.items() if role in COLUMNS[table] and len(same) == 1}


def roles_of(names: Sequence[str], table: str) -> dict[str, str] | None:
    """Return column -> its name in a header of a table (see ``COLUMNS``); None: it lacks a column that is needed."""
    if "user" in names or "item" in names:
        chosen = {role: role for role in COLUMNS[table] if role in names}
    else:
        known = {role: next((name for name in SEARCH.get(role, ()) if name in names), None) for role in COLUMNS[table]}
        chosen = {role: name for role, name in known.items() if name}
        chosen = chosen if "user" in chosen or "item" in chosen else _named_otherwise(names, table)
    return chosen if all(role in chosen for role, kind in COLUMNS[table].items() if kind == "id") else None
