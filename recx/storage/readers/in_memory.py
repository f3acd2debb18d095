"""Data frames in memory, read like files: settings hold a frame's name where they would hold a path.

A frame of any library is taken by its Arrow stream (``__arrow_c_stream__``), which pandas, Polars and PyArrow have. Its
name holds the hash of its content, which is the same whichever library has it, so that the name is a key of the content
(see ``recx.storage.cache.keys``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from recx.core.errors import InputError
from recx.storage.readers.table_hash import table_hash

IN_MEMORY = "data frame in memory"
"""How the names begin."""
LAZY = "collect"
"""The method of a lazy frame that computes it."""


class Frame(Protocol):
    """A table of pandas, Polars, PyArrow or another library with Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table as a stream."""


@dataclass(frozen=True, eq=False)
class HeldFrame:
    """A frame as a file of Arrow's format for streams.

    Attributes:
        name: What stands in settings and errors.
        data: The bytes of the file.
    """

    name: str
    data: memoryview

    @classmethod
    def of(cls, frame: Frame, argument: str) -> HeldFrame:
        """Return a frame to be read (raises like ``arrow_table``); it has at least one row."""
        table = arrow_table(frame, argument)
        if not table.num_rows:
            raise InputError(f"{argument}: the data frame has no rows: give one with at least one")
        return cls(f"{IN_MEMORY}, {table.num_rows:,} rows, {table_hash(table)}", as_stream(table))


def as_stream(table: pa.Table) -> memoryview:
    """Return the bytes of a file of Arrow's format for streams."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


_held: ContextVar[Mapping[str, HeldFrame]] = ContextVar("held", default={})  # noqa: B039  nobody writes into it


@contextmanager
def held(frames: Iterable[HeldFrame]) -> Iterator[None]:
    """Make frames known by their names."""
    token = _held.set({**_held.get(), **{frame.name: frame for frame in frames}})
    try:
        yield
    finally:
        _held.reset(token)


def is_in_memory(name: object) -> bool:
    """Return whether a setting is the name of a frame, at hand or not."""
    return isinstance(name, str) and name.startswith(f"{IN_MEMORY}, ")


def held_frame(path: str | Path) -> HeldFrame | None:
    """Return the frame of a name; None: it is a path.

    Raises:
        InputError: The frame is not at hand, as in a later process.
    """
    name = str(path)
    if not is_in_memory(name):
        return None
    if name not in _held.get():
        raise InputError(
            f"{name}: it was given from Python and is not at hand here: give it to recx.run again, write it into a "
            "file (to_parquet) and name that, or keep the events with the model (model=full)"
        )
    return _held.get()[name]


def arrow_table(frame: Any, argument: str) -> pa.Table:
    """Return a frame as a table; levels of a pandas index that have names are columns, others are left out.

    Args:
        frame: The frame.
        argument: What it was given as, for errors.

    Raises:
        InputError: It is no data frame, or a column cannot be a column of Arrow.
    """
    if not hasattr(frame, "__arrow_c_stream__"):
        if hasattr(frame, LAZY):
            raise InputError(f"{argument} is a lazy frame, which holds no rows yet: give {argument}.{LAZY}()")
        raise InputError(
            f"{argument} is of type {type(frame).__name__}: give a data frame of pandas, Polars or PyArrow; a file is "
            f"named by its path in a setting (dataset.path=clicks.csv)"
        )
    try:
        table = pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise InputError(f"{argument}: {_reason(frame, error)}") from error
    for field in table.schema:
        if isinstance(field.type, pa.BaseExtensionType) and field.type.extension_name.startswith("pandas."):
            kind = field.type.extension_name.removeprefix("pandas.")
            raise InputError(
                f"{argument}: the column {field.name!r} holds values of type {kind}, which no file has: convert it to "
                "times, numbers or texts (of periods, .dt.to_timestamp()), or drop it"
            )
    unnamed = [name for name in table.column_names if name.startswith("__index_level_")]
    return table.drop_columns(unnamed).replace_schema_metadata(None)


def _reason(frame: Any, error: Exception) -> str:
    """Return why a frame is no table: the column that is at fault, if one can be found."""
    names = list(map(str, getattr(frame, "columns", ())))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        return f"column {twice!r} occurs {names.count(twice)} times: keep one of them"
    for name in getattr(frame, "columns", ()):
        try:
            pa.table({str(name): pa.array(frame[name], from_pandas=True)})
        except (pa.ArrowException, ValueError, TypeError) as of_column:
            return (
                f"the column {name!r} cannot be read ({str(of_column.args[0]).splitlines()[0]}): write all its values "
                "as one type, such as .astype(str), or drop it"
            )
    return f"it cannot be read ({str(error).splitlines()[0]}): give a data frame, whose columns have names"
