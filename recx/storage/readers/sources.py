"""A file of named columns, or several, and the columns of one that is delimited text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from recx.core.clock import NANOSECONDS
from recx.core.errors import InputError, did_you_mean
from recx.core.room import OF_TEXT, say_if_short_of_memory
from recx.storage.readers.columnar import typed
from recx.storage.readers.columns import LARGEST_ID, MISSING
from recx.storage.readers.content import content
from recx.storage.readers.delimited import Delimited
from recx.storage.readers.in_blocks import in_blocks
from recx.storage.readers.marks import MARKS, by_header, header_of, usual, with_one_mark
from recx.storage.readers.numerals import LARGEST, whole_numbers
from recx.storage.readers.text_bytes import refuse_nul


@dataclass
class Texts:
    """Columns of a delimited text.

    Attributes:
        columns: Name -> its texts or, by the kind of column, the numbers that all of them are.
        n_headers: How many rows were left out because they repeat the header.
        last: Whether a column is taken out when it is read, so that its memory is free once it is converted.
    """

    columns: dict[str, pa.ChunkedArray] = field(default_factory=dict)
    n_headers: int = 0
    last: bool = True


@dataclass(frozen=True)
class Source:
    """A file of named columns, or several.

    Attributes:
        path: The file; of several, what names them.
        delimiter: The text between columns; None: derived from the file's name or else from its first line.
        names: The columns of a file without a header; further columns are an error.
        setting: The setting that gives the delimiter, for errors.
        data: Its bytes, where they have been read already.
        parts: The files, if they are several: sources with the same columns.
    """

    path: Path
    delimiter: str | None = None
    names: tuple[str, ...] | None = None
    setting: str = ""
    data: memoryview | None = None
    parts: tuple[Source, ...] = ()

    @property
    def files(self) -> tuple[Source, ...]:
        """Each of the files."""
        return self.parts or (self,)

    def bytes(self) -> memoryview:
        """Return the content (raises like ``content``)."""
        return content(self.path) if self.data is None else self.data

    @cached_property
    def text(self) -> Delimited:
        """The delimited text, whose delimiter is known."""
        data, mark = with_one_mark(self.path, self.bytes(), str(self.delimiter))
        return Delimited(self.path, data, mark, self.names)

    @cached_property
    def kept(self) -> Texts:
        """Its columns that have been parsed already (see ``parse``)."""
        return Texts()


def parse(source: Source, kinds: Mapping[str, str]) -> None:
    """Parse columns of delimited text and keep them, so that the text is not parsed again each time they are read.

    Raises:
        InputError: A row has another number of columns than the header, or a column is not text in UTF-8.
    """
    for part in source.files:
        if typed(part.path, part.bytes()) is None:
            names = require_columns(part.path, kinds, part.text.names)
            texts = _parsed(part.text, {name: kinds[name] for name in names})
            part.kept.columns, part.kept.n_headers, part.kept.last = texts.columns, texts.n_headers, False


def release(source: Source, names: Collection[str]) -> None:
    """Let the next reading take kept columns out, so that their memory is free once they are converted.

    Args:
        source: The table.
        names: The columns that it reads; others are let go at once.
    """
    for part in source.files:
        part.kept.last = True
        for name in part.kept.columns.keys() - set(names):
            del part.kept.columns[name]


def text_columns(
    source: Source, data: memoryview, kinds: Mapping[str, str], notes: dict[str, int] | None
) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Yield each column; the text is parsed at once."""
    text = delimited(source, data, kinds)
    if not {name for name, kind in kinds.items() if not kind.endswith("?")} <= set(text.names):
        _refuse_untitled(source, text.names, kinds)
    names = require_columns(source.path, kinds, text.names, _hint(source, text))
    texts = source.kept
    if not texts.columns.keys() >= set(names):
        texts = _parsed(text, {name: kinds[name] for name in names})
    if texts.n_headers and notes is None:
        raise repeated(source.path, texts.n_headers)
    if texts.n_headers and notes is not None:
        notes["repeated_headers"] = notes.get("repeated_headers", 0) + texts.n_headers
    for name in names:
        column = texts.columns.pop(name) if texts.last else texts.columns[name]
        yield name, column
        del column
        pa.default_memory_pool().release_unused()


def _parsed(text: Delimited, kinds: Mapping[str, str]) -> Texts:
    columns = in_blocks(text, kinds)
    return _read_whole(text, kinds) if columns is None else Texts(columns)


def _read_whole(text: Delimited, kinds: Mapping[str, str]) -> Texts:
    refuse_nul(text.path, text.data)
    say_if_short_of_memory(f"reading {text.path.name}", len(text.data) * OF_TEXT)
    ids = [name for name, kind in kinds.items() if kind.removesuffix("?") == "id"]
    table, n_headers = text.read(list(kinds), nulls=MISSING, ids=ids)
    texts = Texts(n_headers=n_headers)
    for name, kind in kinds.items():
        column, table = table.column(name), table.drop_columns([name])
        no_text = kind.removesuffix("?").split()[-1] in ("id", "whole", *NANOSECONDS)
        whole = whole_numbers(column, LARGEST_ID if name in ids else LARGEST) if no_text else None
        texts.columns[name] = column if whole is None else whole
    return texts


def delimited(source: Source, data: memoryview, kinds: Mapping[str, str]) -> Delimited:
    """Return the text with its delimiter: the one that is set, or the usual one, or the only one that fits."""
    if source.delimiter:
        return source.text
    path, header = source.path, header_of(source.path, data)
    needed = {name for name, kind in kinds.items() if not kind.endswith("?")}
    mark = usual(path, header) if source.names else by_header(path, header, needed)
    return replace(source, delimiter=mark, data=data).text


def _refuse_untitled(source: Source, names: list[str], kinds: Mapping[str, str]) -> None:
    wanted = ", ".join(kinds)
    if source.names is not None:
        return
    if names[0][:1] in ("{", "["):
        raise InputError(f"{source.path} holds JSON, not a table: write one object a line, with the keys {wanted}")
    names = names if len(names) > 1 else names[0].split()
    if any(re.fullmatch(r"-?\d+(\.\d*)?|\d{4}-\d\d-\d\d.*", name) for name in names):
        shown = ", ".join(names[:4])
        way_out = f"put one first that names {wanted}"
        if source.setting:
            way_out += ", or set dataset.header=false and name its columns by number, from 0"
        raise InputError(f"{source.path} seems to have no header ({shown}): {way_out}")


def _hint(source: Source, text: Delimited) -> str:
    """Return what may be the reason if a column is missing."""
    header = header_of(source.path, text.data)
    others = [mark for mark in MARKS if mark in header and text.delimiter not in header]
    hint = f" and the header is not separated by {text.delimiter!r} but, it seems, by {others[0]!r}" if others else ""
    return hint + (f" (set {source.setting}={others[0]!r})" if others and source.setting else "")


def require_columns(path: Path, kinds: Mapping[str, str], present: list[str], hint: str = "") -> list[str]:
    """Return those columns that are present.

    Raises:
        InputError: A column that is needed is missing, or one occurs twice.
    """
    for name, kind in kinds.items():
        if name not in present and not kind.endswith("?"):
            raise InputError(f"{path}: column {name!r} is missing{hint}; {did_you_mean(name, present)}")
        if present.count(name) > 1:
            times = present.count(name)
            raise InputError(f"{path}: column {name!r} occurs {times} times in the header: keep one of them")
    return [name for name in kinds if name in present]


def repeated(path: Path, n: int) -> InputError:
    """Return the error on rows that repeat the header."""
    return InputError(f"{path}: {n} of its rows repeat the header: remove them")
