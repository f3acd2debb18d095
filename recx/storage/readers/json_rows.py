"""JSON as a table: one object a line, or one list of objects. The keys of the objects are its columns.

Lines are parsed by Arrow, by the types that their first, last and some other rows show. Where a row is of another type,
all are parsed once more by Python, which finds the row, and reads values of any size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pajson

from recx.core.errors import InputError
from recx.storage.readers.json import parsed

_START = re.compile(rb"\s*(?:\{|\[\s*(?:\{|\]|\Z))")
_WINDOW, _WINDOWS = 1 << 16, 16
"""Bytes of a piece of the text, and how many are looked at for keys and types."""
_BLOCK = (1 << 31) - 1
_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def is_json(data: memoryview) -> bool:
    """Return whether a text begins as JSON does: with an object, or a list of them."""
    return _START.match(bytes(data[:4096]).removeprefix(b"\xef\xbb\xbf")) is not None


@dataclass(frozen=True)
class JsonRows:
    """A table of JSON.

    Attributes:
        path: The file, for errors.
        data: Its bytes.
    """

    path: Path
    data: memoryview

    @property
    def names(self) -> list[str]:
        """The keys that the rows have, by first appearance."""
        return list(self._seen)

    @property
    def nested(self) -> list[str]:
        """The keys that hold lists."""
        return [name for name, kinds in self._seen.items() if list in kinds]

    def column(self, name: str, kind: str = "") -> pa.ChunkedArray:
        """Return a column; a row without the key lacks the value.

        Args:
            name: The key.
            kind: The kind of its values (see ``recx.storage.readers.columns``), ``list``, or ``raw?``: values, or lists
                of texts or numbers.

        Raises:
            InputError: The text is not JSON, or a value is an object or, where none is asked for, a list.
        """
        found = self._seen.get(name, set())
        if kind == "list":
            return self._lists(name)
        if not self._is_list and (typed := _type_of(found)) is not None:
            options = pajson.ParseOptions(explicit_schema=pa.schema({name: typed}), unexpected_field_behavior="ignore")
            for block in (1 << 24, _BLOCK):
                reading = pajson.ReadOptions(block_size=block)
                try:
                    column = pajson.read_json(pa.BufferReader(pa.py_buffer(self.data)), reading, options).column(name)
                    column.validate(full=True)
                except (pa.ArrowInvalid, UnicodeDecodeError):
                    continue  # a row may be larger than the block; Python names the row
                return column
        return self._converted(name, kind)

    def first(self) -> pa.Table:
        """Return the first rows, without the columns of lists, objects and very large numbers."""
        rows = [row for _, row in self._rows[:1_000]] if self._is_list else self._samples[:1_000]
        columns = {}
        for name, kinds in self._seen.items():
            if len(kinds) == 1 and (typed := _type_of(kinds)) is not None:
                with suppress(pa.ArrowInvalid, OverflowError):  # of more than 64 bits
                    columns[name] = pa.array([row.get(name) for row in rows], typed)
        return pa.table(columns)

    @cached_property
    def _is_list(self) -> bool:
        return bytes(self.data[:4096]).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")

    @cached_property
    def _rows(self) -> list[tuple[str, dict[str, Any]]]:
        """All rows, each with its place."""
        if self._is_list:
            rows = ((f"entry {at}", row) for at, row in enumerate(parsed(bytes(self.data), str(self.path)), start=1))
        else:
            lines = enumerate(bytes(self.data).removeprefix(b"\xef\xbb\xbf").splitlines(), start=1)
            rows = ((f"line {at}", self._line(line, at)) for at, line in lines if line.strip())
        return [(place, self._checked(row, place)) for place, row in rows]

    def _line(self, line: bytes, at: int) -> Any:
        where = f"{self.path}, line {at}"
        try:
            return parsed(line, where)
        except InputError as error:
            if line.strip() in (b"{", b"[") and at == 1:
                raise InputError(
                    f"{self.path} is one JSON document over several lines, not a list of rows: write one object a line"
                ) from error
            if re.match(rb"\s*\{\s*u?'", line):
                raise InputError(
                    f"{where}: it is written as Python writes it ({line[:30].decode(errors='replace')} …), not as "
                    "JSON, whose texts stand in double quotes: write it again with json.dumps"
                ) from error
            raise

    def _checked(self, row: Any, place: str) -> dict[str, Any]:
        if not isinstance(row, dict):
            raise InputError(f"{self.path}, {place}: it must be an object with a key for each column: correct it")
        return row

    @cached_property
    def _samples(self) -> list[dict[str, Any]]:
        """Rows from the beginning, the end and in between."""
        found, n = [], len(self.data)
        starts = dict.fromkeys(at * max(0, n - _WINDOW) // (_WINDOWS - 1) for at in range(_WINDOWS))
        for start in starts:
            lines = bytes(self.data[start : start + _WINDOW]).splitlines()
            whole = lines[start > 0 : len(lines) - (start + _WINDOW < n)]
            if not whole:  # a line longer than the window
                return [row for _, row in self._rows]
            found += self._parsed(whole)
        return found

    def _parsed(self, lines: Sequence[bytes]) -> list[dict[str, Any]]:
        try:
            rows = [json.loads(line.removeprefix(b"\xef\xbb\xbf")) for line in lines if line.strip()]
        except ValueError:  # Python's reader names the line
            return [row for _, row in self._rows]
        return [row for row in rows if isinstance(row, dict)]

    @cached_property
    def _seen(self) -> dict[str, set[type]]:
        """Key -> the types of its values."""
        found: dict[str, set[type]] = {}
        for row in [row for _, row in self._rows] if self._is_list else self._samples:
            for name, value in row.items():
                found.setdefault(name, set()).update(() if value is None else (type(value),))
        return found

    def _lists(self, name: str) -> pa.ChunkedArray:
        values = [row.get(name) for _, row in self._rows]
        at = next((at for at, value in enumerate(values) if not isinstance(value, list | None)), None)
        if at is not None:
            raise InputError(f"{self.path}, {self._rows[at][0]}: {name!r} is no list, as in other rows: write one")
        try:
            return pa.chunked_array([pa.array(values)])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise InputError(f"{self.path}: the lists {name!r} hold values of several types ({error})") from error

    def _converted(self, name: str, kind: str) -> pa.ChunkedArray:
        values = [row.get(name) for _, row in self._rows]
        kinds = {type(value) for value in values if value is not None}
        elements = [one for value in values if isinstance(value, list) for one in value]
        if kind == "raw?" and kinds == {list} and not any(isinstance(one, list | dict) for one in elements):
            return self._lists(name)
        if kinds & {list, dict}:
            at = next(at for at, value in enumerate(values) if isinstance(value, list | dict))
            raise InputError(
                f"{self.path}, {self._rows[at][0]}: {name!r} is a list or an object: write one value a row, for a list "
                "one row for each of its elements"
            )
        if kind.startswith("id") and str in kinds and len(kinds) > 1:
            at = next(at for at, value in enumerate(values) if not isinstance(value, str | None))
            raise InputError(
                f"{self.path}, {self._rows[at][0]}: {name!r} is the number {values[at]}, and text in other rows, which "
                "never meet: write all as numbers or all as text"
            )
        try:
            return pa.chunked_array([pa.array(values, _type_of(kinds) or pa.string())])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            return pa.chunked_array([pa.array(list(_texts(values)), pa.string())])


def _type_of(kinds: set[type]) -> pa.DataType | None:
    """Return the type of a column; None: its values are of several types, lists or objects."""
    if kinds == {int, float}:
        return pa.float64()
    return _TYPES.get(next(iter(kinds))) if len(kinds) == 1 else pa.null() if not kinds else None


def _texts(values: Iterable[Any]) -> Iterable[str | None]:
    for value in values:
        yield value if value is None or isinstance(value, str) else json.dumps(value)
