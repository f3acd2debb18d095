"""Reads files of samples: a row has a task, a tool, a label, and features. CSV, Parquet, Arrow, JSON or JSON lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from recx.core.errors import InputError
from recx.core.types import Array, Doubles
from recx.parts.dataset.events import text_array
from recx.parts.dataset.files import refuse_first
from recx.parts.dataset.sample_columns import Named, features_in, roles_of
from recx.parts.dataset.sample_features import Place, checked, features_of, features_of_column, numbers_of
from recx.storage.readers.columns import convert
from recx.storage.readers.content import content
from recx.storage.readers.file_sets import FileSet
from recx.storage.readers.json import parsed, read_json, shown
from recx.storage.readers.json_rows import is_json
from recx.storage.readers.opened import Layout, opened
from recx.storage.readers.raw_columns import raw_columns
from recx.storage.readers.tables import layouts

Column = Any
"""A column of a table (``pa.ChunkedArray``), or the values of a key of JSON (a list)."""
NEEDED = ("task", "tool", "trace", "node")
"""Roles whose values must be there."""
_ODD = {bool: "a truth value", list: "a list", dict: "an object", float: "a number with a fraction"}


@dataclass(frozen=True, eq=False)
class Samples:
    """The rows of files.

    Attributes:
        words: ``tool``, and those of ``task``, ``trace``, ``node``, ``text`` and ``part`` that there are -> what each
            row says, "" if it says nothing [n].
        label: 1 if the tool is right, 0 if not, NaN if it is unknown [n].
        features: Name -> its values [n].
        place: Returns the place of a row.
    """

    words: Mapping[str, Array]
    label: Doubles
    features: Mapping[str, Doubles]
    place: Place


def read_samples(files: FileSet, named: Mapping[str, Named], notes: dict[str, int]) -> Samples:
    """Return the rows of files.

    Args:
        files: The files, of one format.
        named: ``task``, ``tool``, ``label``, ``features`` -> the column that a setting names, or the columns of single
            features; None: it is found by its name.
        notes: Receives ``repeated_headers``.

    Raises:
        InputError: A file cannot be read, a column is missing or could be one of several, or a value is missing or not
            of its kind.
    """
    first_file = files.paths[0]
    named_so = any(ending in (".json", ".jsonl", ".ndjson") for ending in first_file.suffixes)
    table = _Json.of(files) if named_so or is_json(content(first_file)) else _Table(files, notes)
    where, names = str(files.name), table.names
    roles = roles_of(names, named, where)
    single = features_in(names, named.get("features"), list(roles.values()), where)
    columns = table.columns([*dict.fromkeys([*roles.values(), *single])])
    if not len(columns[roles["tool"]]):
        raise InputError(f"{where}: it has no rows: give a file with at least one sample")
    words = {role: _words(columns[name], role, table.place) for role, name in roles.items() if role != "label"}
    label = _label(columns[roles["label"]], where, table.place)
    first = columns[single[0]]
    if len(single) == 1 and _is_packed(first):
        features = (features_of if isinstance(first, list) else features_of_column)(first, table.place)
    else:
        features = {name: _numbers(columns[name], name, where, table.place) for name in single}
    return Samples(words, label, features, table.place)


@dataclass(frozen=True)
class _Table:
    """Delimited text, Parquet or Arrow; ``notes`` receives counts."""

    files: FileSet
    notes: dict[str, int]

    @property
    def names(self) -> list[str]:
        return max(layouts(self.files.paths[0]).values(), key=len)

    def columns(self, names: Sequence[str]) -> Mapping[str, Column]:
        return raw_columns(opened(self.files, Layout(stage=""), names), names, self.notes)

    def place(self, row: int) -> str:
        return f"{self.files.name}, row {row + 1}"


@dataclass(frozen=True, eq=False)
class _Json:
    """Objects, in a list or one a line, each with its place."""

    rows: list[tuple[str, dict[str, Any]]]

    @classmethod
    def of(cls, files: FileSet) -> _Json:
        return cls([row for path in files.paths for row in _rows(path)])

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for _, row in self.rows for name in row))

    def columns(self, names: Sequence[str]) -> Mapping[str, Column]:
        return {name: [row.get(name) for _, row in self.rows] for name in names}

    def place(self, row: int) -> str:
        return self.rows[row][0]


def _rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of a file of JSON, of a list, of the list under ``samples``, or one a line, and their places."""
    data = bytes(content(path)).removeprefix(b"\xef\xbb\xbf")
    lines = [(f"{path}, line {at}", line) for at, line in enumerate(data.splitlines(), start=1) if line.strip()]
    found: list[tuple[str, Any]]
    if lines[0][1].lstrip()[:1] == b"{" and (lines[0][1].strip() != b"{" or len(lines) == 1):
        found = [(place, parsed(line, place)) for place, line in lines]
    else:
        found = [(str(path), read_json(path))]
    if len(found) == 1:
        document = found[0][1]
        if isinstance(document, dict) and "samples" in document:
            document = document["samples"]
        if isinstance(document, list):
            found = [(f"{path}, entry {at}", row) for at, row in enumerate(document, start=1)]
    if not found:
        raise InputError(f"{path}: it has no rows: give a file with at least one sample")
    for place, row in found:
        if not isinstance(row, dict):
            raise InputError(f"{place}: it is {shown(row)}, and must be an object: a sample")
    return found


def _words(values: Column, role: str, place: Place) -> Array:
    """Return ids or texts [n], all of one type."""
    texts = values if isinstance(values, list) else values.to_pylist()
    for at, text in enumerate(texts):
        if type(text) in _ODD:
            raise InputError(f"{place(at)}: its {role} is {_ODD[type(text)]}, and must be text or a whole number")
        if role in NEEDED and (text is None or not str(text).strip()):
            raise InputError(f"{place(at)}: its {role} is missing: fill it in")
    kinds = [type(text) for text in texts if text is not None]
    if len(set(kinds)) > 1:
        at = next(at for at, text in enumerate(texts) if text is not None and type(text) is not kinds[0])
        raise InputError(
            f"{place(at)}: its {role} is {texts[at]!r}, and those before are of another type: write one form"
        )
    return text_array("" if text is None else str(text).strip() for text in texts)


def _label(values: Column, where: str, place: Place) -> Doubles:
    if not isinstance(values, list) and pa.types.is_string(values.type):
        words = {str(word).strip().lower() for word in values.unique().to_pylist()}
        if words <= {"true", "false"}:
            values = [str(word).strip().lower() == "true" for word in values.to_pylist()]
    if isinstance(values, list):
        label = numbers_of(values, "label", place, may_lack=True)
    else:
        column = values.cast(pa.int64()) if pa.types.is_boolean(values.type) else values
        label = convert(column, "double?", f"{where}: the label")
    refuse_first(
        ~(np.isnan(label) | (label == 0) | (label == 1)),
        lambda row: f"{place(row)}: its label is {label[row]:g}, and must be 1 (right) or 0: write it so",
    )
    return label


def _is_packed(values: Column) -> bool:
    """Return whether a column holds all features of each row: a list, an object, or either as JSON."""
    first = values[0] if isinstance(values, list) else values[0].as_py()
    return isinstance(first, list | dict) or (isinstance(first, str) and first.lstrip()[:1] in ("[", "{"))


def _numbers(values: Column, name: str, where: str, place: Place) -> Doubles:
    if isinstance(values, list):
        return numbers_of(values, name, place)
    column = values.cast(pa.int64()) if pa.types.is_boolean(values.type) else values
    return checked(convert(column, "double?", f"{where}: the column {name!r}"), name, place)
