"""Joins the tables of items and users with the events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from recx.core.entities import UNKNOWN_TIME, ClassLists, Entities
from recx.core.errors import InputError
from recx.core.progress import say
from recx.core.ragged import indptr_of, rows_of_groups
from recx.core.types import Array, Floats, Interactions, Ints, Longs
from recx.parts.dataset.own_ids import alike
from recx.storage.readers.attributes import Attributes, id_column, is_birth, read_attributes
from recx.storage.readers.file_sets import files_of
from recx.storage.readers.names import recognised
from recx.storage.readers.opened import Layout, opened

CATEGORIES = "category|categories|class|genre|section|topic|department"
"""What the column is called that becomes ``category``."""

MEANT = ("category", "created_at", "text")
"""Names of columns whose meaning is fixed: the main class, the creation time, and all texts."""


class Describing(Protocol):
    """What can be read as a table of items or users."""

    @property
    def whose(self) -> str:
        """``items`` or ``users``."""

    def read(self) -> Attributes:
        """Return the table."""


@dataclass(frozen=True)
class Description:
    """A table of items or users.

    Attributes:
        whose: ``items`` or ``users``.
        paths: The file, or several; None: there is none.
        id_name: The column of ids, if it is set.
        usual: The column of ids in the events.
        kinds: Column -> kind, where it is set (see ``recx.storage.readers.attributes``).
        vectors: A ``.npy`` file with a vector for each row, if there is one.
    """

    whose: str
    paths: str | Sequence[str] | None
    id_name: str | None
    usual: str
    kinds: Mapping[str, str] | None = None
    vectors: str | None = None

    def read(self) -> Attributes:
        """Return the table, and say of which kinds its columns are.

        Raises:
            InputError: The file cannot be used.
        """
        setting = f"dataset.{self.whose}"
        files = files_of(self.paths or (), setting)
        source = opened(files, Layout(stage=""), [self.id_name or self.usual])
        name = self.id_name or id_column(source, self.usual, self.whose, f"{setting}_id")
        found = read_attributes(source, name, self.kinds or {}, f"{setting}_as")
        if not len(found.ids):
            raise InputError(f"{source.path} has a header but no rows: give a file that describes the {self.whose}")
        kinds = {"number": found.numbers, "class": found.classes, "classes": found.lists, "text": found.texts}
        shown = [
            f"{_plain(column)} ({kind})" for kind, named in {**kinds, "time": found.times}.items() for column in named
        ]
        say(f"  {source.path.name}: {', '.join(shown) or 'ids alone'}; otherwise: {setting}_as={{COLUMN: KIND}}")
        return with_vectors(found, self.vectors) if self.vectors else found


def described(events: Interactions, tables: Sequence[Describing]) -> Interactions:
    """Return events with what tables say of their items and users.

    Items that are described without having events are items too.

    Raises:
        InputError: A table cannot be used, or describes none of the items or users.
    """
    for table in tables:
        known = table.read()
        if table.whose == "users":
            users, counts = described_users(events.users, known, "dataset.users")
            events = replace(events, users=users)
        else:
            items, counts = described_items(events.items.ids, known, "dataset.items")
            events = replace(events, item=_places(events.items.ids, items.ids)[events.item], items=items)
        left_out = {name: events.notes.get(name, 0) + n for name, n in known.notes.items()}
        events = replace(events, notes={**events.notes, **counts, **left_out})
    return events


def _places(ids: Array, among: Array) -> Ints:
    import pandas as pd

    places: Ints = pd.Index(among).get_indexer(pd.Index(ids)).astype(np.int32)
    return places


def described_items(clicked: Array, table: Attributes, where: str) -> tuple[Entities, dict[str, float]]:
    """Return the items of the events and of the table, sorted by id, and counts.

    Args:
        clicked: The ids of the items of the events.
        table: The table.
        where: Its name, for errors.

    Raises:
        InputError: The table describes none of the items.
    """
    known, odd = alike(table.ids, clicked)
    ids = np.unique(np.concatenate([clicked, known[~odd]])) if clicked.dtype != object else _sorted(clicked, known)
    row = _rows(ids, known, odd)
    _refuse_none(row[np.isin(ids, clicked)], where, "items", clicked, table.ids)
    notes: dict[str, float] = {
        "items": len(ids),
        "items_without_events": len(ids) - len(clicked),
        "items_not_described": int((row < 0).sum()),
        "item_rows_repeated": len(known) - int(odd.sum()) - len(set(known[~odd].tolist())),
        "item_rows_of_other_ids": int(odd.sum()),
    }
    return _entities(Entities(ids), table, row), notes


def described_users(users: Entities, table: Attributes, where: str) -> tuple[Entities, dict[str, float]]:
    """Return the users of the events with what the table says of them, and counts (raises like ``described_items``)."""
    known, odd = alike(table.ids, users.ids)
    row, different = _rows(users.ids, known, odd), set(known[~odd].tolist())
    _refuse_none(row, where, "users", users.ids, table.ids)
    notes: dict[str, float] = {
        "users_not_described": int((row < 0).sum()),
        "user_rows_without_events": len(different) - int((row >= 0).sum()) + int(odd.sum()),
        "user_rows_repeated": len(known) - int(odd.sum()) - len(different),
    }
    return _entities(users, table, row), notes


def with_vectors(table: Attributes, path: str) -> Attributes:
    """Return a table of items with the embedding of a ``.npy`` file, a vector for each of its rows.

    Raises:
        InputError: The file cannot be used, or has another number of rows.
    """
    (file,) = files_of(path, "dataset.items_embedding").paths
    try:
        vectors = np.load(file, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{file} is not an array of NumPy ({error}): write one with numpy.save") from error
    n = len(table.ids)
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or len(vectors) != n:
        raise InputError(
            f"{file} holds {vectors.dtype} of shape {vectors.shape}, and must hold decimal numbers with one row for "
            f"each of the {n:,} rows of dataset.items: write it again"
        )
    return replace(table, embedding=vectors.astype(np.float32))


def _plain(name: str) -> str:
    return name.partition(":")[0]


def _free(name: str, kind: str) -> str:
    """Return the name of a column, with its kind where the name stands for another kind of column."""
    plain = _plain(name)
    return f"{plain}_{kind}" if plain in MEANT else plain


def _sorted(clicked: Array, known: Array) -> Array:
    ids: Array = np.array(sorted({*clicked.tolist(), *known.tolist()}), dtype=object)
    return ids


def _rows(ids: Array, known: Array, odd: Array) -> Longs:
    """Return the row of each id, the first of several; -1: it is not described."""
    import pandas as pd

    rows = np.flatnonzero(~odd)
    index = pd.Index(known[rows])
    first = ~index.duplicated()
    found: Longs = pd.Index(known[rows][first]).get_indexer(pd.Index(ids)).astype(np.int64)
    return np.where(found >= 0, rows[first][found], -1)


def _refuse_none(row: Longs, where: str, whose: str, ids: Array, described: Array) -> None:
    if (row < 0).all():
        raise InputError(
            f"{where} describes none of the {whose} of the events, whose ids are such as {ids.tolist()[0]!r} and "
            f"there {described.tolist()[0]!r}: name the file that does, or set dataset.{whose}_id to its column of "
            "such ids"
        )


def _entities(bare: Entities, table: Attributes, row: Longs) -> Entities:
    columns: dict[str, Array] = {}
    for name, numbers in table.numbers.items():
        columns[_free(name, "number")] = _aligned(numbers, row, np.nan)
    named = recognised(CATEGORIES, table.classes)
    category = next((name for name in named if _plain(name) == "category"), named[0] if named else None)
    for name, codes in table.classes.items():
        columns["category" if name == category else _free(name, "class")] = _aligned(codes, row, -1)
    births = [name for name in table.times if is_birth(name)]
    for name, times in table.times.items():
        born = births == [name] or _plain(name) == "created_at"
        columns["created_at" if born else _free(name, "time")] = _aligned(times, row, UNKNOWN_TIME)
    if table.texts:
        texts = [_aligned(words, row, "") for words in table.texts.values()]
        columns["text"] = np.array([" ".join(filter(None, some)) for some in zip(*texts, strict=True)], dtype=object)
    embedding: Floats | None = None
    if table.embedding is not None:
        embedding = _aligned(table.embedding, row, np.nan)
        embedding[np.isnan(embedding).any(axis=1)] = np.nan
    lists = {_plain(name): _aligned_lists(classes, row) for name, classes in table.lists.items()}
    return replace(bare, table=columns, embedding=embedding, lists=lists)


def _aligned(values: Array, row: Longs, missing: object) -> Array:
    aligned = np.full((len(row), *values.shape[1:]), missing, dtype=values.dtype)
    aligned[row >= 0] = values[row[row >= 0]]
    return aligned


def _aligned_lists(lists: ClassLists, row: Longs) -> ClassLists:
    known = np.flatnonzero(row >= 0)
    lengths = np.zeros(len(row), dtype=np.int64)
    lengths[known] = np.diff(lists.indptr)[row[known]]
    return ClassLists(indptr_of(lengths), lists.code[rows_of_groups(lists.indptr, row[known])])
