"""The files that a prediction reads: who asks, which items may be shown, and the events of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Array, Bools, Interactions
from recx.experiment import build
from recx.experiment.model.folder import Kept
from recx.experiment.model.population import numbers_of
from recx.parts.dataset.own_ids import WHOLE
from recx.parts.dataset.table import Table
from recx.parts.dataset.table_columns import AUTO
from recx.storage.readers.columns import ids_of
from recx.storage.readers.content import content
from recx.storage.readers.names import ITEMS, USERS, recognised
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import columns_of, layouts, read

OF_OTHERS = {"user": USERS, "item": ITEMS}
"""Column -> words by which a column of the same kind is recognised that has another name."""
BESIDE = ("valid", "test", "fold", "slates", "items", "items_as", "items_embedding", "users", "users_as")
"""Settings of a table of what a history lacks: the model knows its items, and holds nothing out."""


@dataclass(frozen=True, eq=False)
class Ids:
    """Ids that were given.

    Attributes:
        ids: The distinct ones [n], in the order in which they first occur, of the type of the model's.
        repeated: How many were given again.
        unlike: How many cannot be ids of the model: texts, where its ids are whole numbers.
    """

    ids: Array
    repeated: int = 0
    unlike: int = 0


def read_ids(path: Path, column: str) -> Array:
    """Return the ids of a file [n]: of a table's column, or one per line.

    Args:
        path: The file.
        column: ``user`` or ``item``.

    Raises:
        InputError: The file cannot be read, has no such column, or could be read in two ways.
    """
    data = content(path)
    found = layouts(path, data)
    mark = next((mark for mark, names in found.items() if column in names), "")
    if mark != "":
        source = Source(path, mark, data=data)
        ids = read(source, {column: "id"}, may_be_empty=True, notes={})[column]
    elif None in found:
        raise InputError(f"{path} has no column {column!r} (its columns: {', '.join(found[None][:8])}): name it so")
    else:
        _refuse_table(path, column, found)
        ids = read(Source(path, ",", names=(column,), data=data), {column: "id"}, may_be_empty=True)[column]
    if not len(ids):
        raise InputError(f"{path} names no {column}: write at least one, or leave the file out")
    return ids


def _refuse_table(path: Path, column: str, found: Mapping[str | None, list[str]]) -> None:
    """Raise InputError if a file without the column could be a table, since its first line would be read as an id."""
    for mark, names in found.items():
        if len(names) > 1:
            raise InputError(
                f"{path}: its first line has {len(names)} columns separated by {mark!r}, and none is called "
                f"{column!r}: call the column of ids {column}, or write one id per line"
            )
    [name] = next(iter(found.values()))
    if recognised(OF_OTHERS[column], [name]):
        raise InputError(
            f"{path}: its first line, {name!r}, could be an id or the name of a column: write {column} there if it is "
            f"a column, and otherwise put a line with the word {column} before it"
        )


def alike(ids: Array, known: Entities) -> Ids:
    """Return ids as the model writes its own: whole numbers, or texts.

    Args:
        ids: Raw ids [n], whole numbers or texts.
        known: The users or items of the model.
    """
    import pandas as pd

    distinct = np.asarray(pd.unique(pd.Series(ids)))
    repeated = len(ids) - len(distinct)
    numbers, theirs = (array.dtype.kind in "iu" for array in (distinct, known.ids))
    if numbers == theirs or not len(known):
        return Ids(distinct, repeated)
    if numbers:
        return Ids(distinct.astype(str).astype(object), repeated)
    whole = _are_whole(distinct)
    return Ids(distinct[whole].astype(np.int64), repeated, int((~whole).sum()))


def all_alike(ids: Array, known: Entities, where: str, what: str = "user") -> Ids:
    """Return the same of ids of which none may be left out, such as users, each of whom gets a list.

    Raises:
        InputError: The model's ids are whole numbers, and one of these is a text.
    """
    found = alike(ids, known)
    if found.unlike:
        odd = ids[np.argmin(_are_whole(ids))]
        raise InputError(
            f"{where}: {odd!r} is no {what} of the model, whose ids are whole numbers such as {known.ids[0]}: correct "
            "or remove it"
        )
    return found


def named(users: Sequence[str]) -> Array:
    """Return the ids that a person typed [n]."""
    return ids_of(list(users), "--user")


def _are_whole(texts: Array) -> Bools:
    return np.array([WHOLE.fullmatch(str(text)) is not None for text in texts.tolist()], dtype=bool)


def read_events(path: Path, kept: Kept) -> tuple[Interactions, int]:
    """Return the events of a file by the model's items, and how many were of other items, which are left out.

    Args:
        path: The file (see ``table_of_events``).
        kept: The model.

    Raises:
        InputError: The file cannot be used.
    """
    table = table_of_events(path, build.experiment(kept.config).dataset, kept.card, "--history")
    try:
        events = table.load()
    except InputError as error:
        raise InputError(f"--history: {error}   (FILE is read with the settings of the run's dataset)") from error
    return _among(events, kept.chain.items)


def table_of_events(path: Path, dataset: Any, card: Mapping[str, Any], where: str) -> Table:
    """Return the table of a file of events in the form of a run's data.

    Args:
        path: The file: of a run of ``dataset=table``, with the columns that its settings name; otherwise with the
            columns user, item, time (if the run's data has times) and weight (if there is one).
        dataset: The dataset of the run.
        card: Its protocol card.
        where: The flag that names the file, for errors.

    Raises:
        InputError: The file has a column of times, and the run's data has none.
    """
    if isinstance(dataset, Table):
        unset: dict[str, Any] = dict.fromkeys(BESIDE)
        return replace(dataset, path=str(path), **unset)
    present = columns_of(Source(path), ["user", "item"])
    timed = card["steps"]["fold"]["first_request"] is not None
    if "time" in present and not timed:
        raise InputError(
            f"{where}: {path} has a column 'time', and the run's data has no times: sort the rows of each user, "
            "oldest first, and leave the column out"
        )
    return Table(
        time="time" if timed else None,
        weight="weight" if "weight" in present else AUTO,
        path=str(path),
        time_unit=getattr(dataset, "time_unit", "ms"),
        relative_times=getattr(dataset, "relative_times", False),
        order="auto" if timed else "given",
        duplicates=getattr(dataset, "duplicates", "drop"),
    )


def _among(events: Interactions, items: Entities) -> tuple[Interactions, int]:
    """Return events by the numbers of the model's items, and how many were of other items, which are left out."""
    ids = events.items.ids
    found = alike(ids, items)
    place = numbers_of(found.ids, items, "items")
    number = np.full(len(ids), -1, dtype=np.int64)
    number[_are_whole(ids) if found.unlike else np.ones(len(ids), dtype=bool)] = place
    known = number[events.item] >= 0
    of_model = replace(events, item=number[events.item].astype(np.int32), items=items)
    return of_model.keep(known), int((~known).sum())
