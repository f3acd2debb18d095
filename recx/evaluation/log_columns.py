"""The columns of a log of what was shown and clicked, and faults in its rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.errors import InputError, did_you_mean
from recx.core.types import Array, Bools, Longs
from recx.storage.readers.in_memory import HeldFrame
from recx.storage.readers.names import RANKS, recognised
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import layouts

if TYPE_CHECKING:
    from recx.evaluation.evaluate import Given


def source_of(log: Given) -> Source:
    """Return where a log is read from: a file, or a data frame.

    Raises:
        InputError: It is neither.
    """
    if isinstance(log, str | Path):
        return Source(Path(log))
    held = HeldFrame.of(log, "log")
    return Source(Path(f"{held.name} (log)"), data=held.data)


def column_names(source: Source) -> list[str]:
    """Return the columns of a log, of a text by every delimiter in its header (raises like ``layouts``)."""
    return list(dict.fromkeys(name for found in layouts(source.path, source.data).values() for name in found))


def named(columns: Mapping[str, str], roles: Collection[str]) -> dict[str, str]:
    """Return role -> its column, which is called by its role unless ``columns`` says otherwise.

    Raises:
        InputError: A role is unknown, or a column has two.
    """
    for role, column in columns.items():
        if role not in roles:
            raise InputError(f"columns={{{role!r}: …}}: there is no such role: {did_you_mean(role, roles)}")
        if list(columns.values()).count(column) > 1:
            raise InputError(f"columns: {column!r} is given two roles: name another column for one of them")
    return {role: columns.get(role, role) for role in roles}


def require_positions(source: Source, named: Mapping[str, str], names: Collection[str]) -> None:
    """Check that a log has positions, since the order of its rows could mean something else.

    Raises:
        InputError: It has none.
    """
    if named["position"] not in names:
        like = [name for name in recognised(RANKS, names) if name not in named.values()]
        shown = f'name it (columns={{"position": {like[0]!r}}})' if like else "add the positions, from 1"
        raise InputError(
            f"{source.path}: column {named['position']!r} is missing, and the order of the rows could be that in which "
            f"items were shown or that in which they were logged, which say different things of a click: {shown}"
        )


def refuse_any(
    path: object, column: str, bad: Bools, what: Callable[[int], str], way_out: str, row: Longs | None = None
) -> None:
    """Refuse a log for the first row that is bad.

    Args:
        path: The file.
        column: The column that shows it.
        bad: Which rows are bad [n].
        what: Says what is wrong with a row.
        way_out: What to do about it.
        row: The row of the file that each is, from 0 [n]; None: they are all of its rows.
    """
    if bad.any():
        at = int(np.argmax(bad))
        raise InputError(
            f"{path}: column {column!r}, row {(at if row is None else row[at]) + 1}: {what(at)}: {way_out}"
        )


def quoted(values: Array, row: int) -> str:
    """Return a raw value as messages show it."""
    value: Any = values[row]
    return repr(value.item() if isinstance(value, np.generic) else value)
