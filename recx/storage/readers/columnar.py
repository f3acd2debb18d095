"""Parquet and Arrow files: tables that know the types of their columns. Each column is read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from recx.core.errors import InputError
from recx.core.room import AN_EVENT, say_if_short_of_memory
from recx.storage.readers.content import ARROW_FILE, ARROW_STREAM, PARQUET, refuse_bomb
from recx.storage.readers.json_rows import JsonRows, is_json
from recx.storage.readers.plain_types import plain, plain_table
from recx.storage.readers.unpacked import refuse_size

_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


class Typed(Protocol):
    """A table that knows the types of its columns."""

    @property
    def names(self) -> list[str]:
        """The names of its columns."""

    @property
    def nested(self) -> list[str]:
        """The columns that hold lists."""

    def column(self, name: str, kind: str = "") -> pa.ChunkedArray:
        """Return a column; ``kind`` is that of its values (see ``recx.storage.readers.columns``), or ``list``."""

    def first(self) -> pa.Table:
        """Return the first rows."""


def typed(path: Path, data: memoryview) -> Typed | None:
    """Return the table of a file; None: it is a delimited text.

    Raises:
        InputError: The file is damaged, or would fill the memory.
    """
    head = bytes(data[:8])
    if head.startswith(PARQUET):
        return ParquetTable(path, data)
    if head.startswith((ARROW_FILE, ARROW_STREAM)):
        return ArrowTable(path, data)
    return JsonRows(path, data) if is_json(data) else None


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file.

    Attributes:
        path: The file, for errors.
        data: Its bytes.
    """

    path: Path
    data: memoryview

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self._file.schema_arrow.names)

    @property
    def nested(self) -> list[str]:
        """The columns that hold lists."""
        return _of_lists(self._file.schema_arrow)

    def column(self, name: str, kind: str = "") -> pa.ChunkedArray:
        """Return a column.

        Raises:
            InputError: The file is damaged, or the column would fill the memory.
        """
        metadata = self._file.metadata
        refuse_bomb(self.path, metadata, 1)
        say_if_short_of_memory(f"reading {self.path.name}", metadata.num_rows * AN_EVENT)
        with _whole(self.path, "Parquet"):
            return plain(self._file.read(columns=[name]).column(name), f"{self.path}: column {name!r}")

    def first(self) -> pa.Table:
        """Return the first rows."""
        with _whole(self.path, "Parquet"):
            batches = list(islice(self._file.iter_batches(1_000), 1))
            return plain_table(pa.Table.from_batches(batches, self._file.schema_arrow), str(self.path))

    @cached_property
    def _file(self) -> pq.ParquetFile:
        with _whole(self.path, "Parquet"):
            return pq.ParquetFile(pa.py_buffer(self.data))


@dataclass(frozen=True)
class ArrowTable:
    """A file of Arrow's format for files (Feather version 2) or for streams.

    Attributes:
        path: The file, for errors.
        data: Its bytes.
    """

    path: Path
    data: memoryview

    @cached_property
    def names(self) -> list[str]:
        """The names of its columns."""
        with _whole(self.path, "Arrow"):
            return list(self._schema.names)

    @property
    def nested(self) -> list[str]:
        """The columns that hold lists."""
        return _of_lists(self._schema)

    def column(self, name: str, kind: str = "") -> pa.ChunkedArray:
        """Return a column.

        Raises:
            InputError: The file is damaged or not complete, or the column would fill the memory.
        """
        at = self.names.index(name)
        with _whole(self.path, "Arrow"):
            chunks, size = [], 0
            for batch in self._batches([at]):
                size += batch.nbytes
                refuse_size(self.path, size)
                chunks.append(batch.column(0))
            column = pa.chunked_array(chunks, self._schema.field(at).type)
            column.validate(full=True)
            return plain(column, f"{self.path}: column {name!r}")

    def first(self) -> pa.Table:
        """Return the first rows."""
        with _whole(self.path, "Arrow"):
            table = pa.Table.from_batches(list(islice(self._batches(None), 1)), self._schema)
            return plain_table(table.slice(0, 1_000), str(self.path))

    @property
    def _is_stream(self) -> bool:
        return bytes(self.data[:4]) == ARROW_STREAM

    @cached_property
    def _schema(self) -> pa.Schema:
        buffer = pa.py_buffer(self.data)
        return (pa.ipc.open_stream if self._is_stream else pa.ipc.open_file)(buffer).schema

    def _batches(self, columns: list[int] | None) -> Iterator[pa.RecordBatch]:
        buffer = pa.py_buffer(self.data)
        options = pa.ipc.IpcReadOptions(included_fields=columns)
        if self._is_stream:
            if bytes(self.data[-8:]) != _END_OF_STREAM:
                raise pa.ArrowInvalid("the end of the stream is missing")
            yield from pa.ipc.open_stream(buffer, options=options)
        else:
            file = pa.ipc.open_file(buffer, options=options)
            yield from (file.get_batch(at) for at in range(file.num_record_batches))


def _of_lists(schema: pa.Schema) -> list[str]:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return [field.name for field in schema if any(test(field.type) for test in kinds)]


@contextmanager
def _whole(path: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} is a damaged {kind} file ({reason}): fetch or write it again") from error
