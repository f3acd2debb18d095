"""The films of MovieLens, with their genres: u.item, movies.dat and movies.csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from recx.core.errors import InputError
from recx.parts.dataset.descriptions import Description
from recx.parts.dataset.files import expand_home
from recx.storage.readers.attributes import Attributes, read_attributes
from recx.storage.readers.content import content
from recx.storage.readers.in_memory import as_stream
from recx.storage.readers.sources import Source

FLAGS = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy",
    "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)  # fmt: skip
"""The genres of u.item in the order of its last columns, as its README names them."""
NO_GENRES = ("unknown", "(no genres listed)")
_HEADER = ["movieId", "title", "genres"]
_YEAR = re.compile(r"\((\d{4})\)\s*$")
_SCHEMA = pa.schema({"movie": pa.int64(), "title": pa.string(), "year": pa.int64(), "genres": pa.list_(pa.string())})


@dataclass(frozen=True)
class Movies:
    """A table of films: title, genres (a list of classes) and the year that stands behind the title.

    Attributes:
        path: A file that is called ``u.item``, ``movies.dat`` or ``movies.csv``, plain or packed, or any other table
            (see ``recx.parts.dataset.table.Table.items``).
        usual: The column of ids in the ratings.
    """

    whose: ClassVar = "items"

    path: str
    usual: str

    def read(self) -> Attributes:
        """Return the table.

        Raises:
            InputError: The file cannot be used.
        """
        path = expand_home(self.path)
        kind = re.search(r"(^|\.)(u\.item|movies\.dat|movies\.csv)(\.[a-z0-9]+)?$", path.name)
        if kind is None:
            return Description("items", self.path, None, self.usual).read()
        films = list(_films(path, kind[2]))
        if not films:
            raise InputError(f"{path} holds no films: name the file that comes with the ratings")
        columns = dict(zip(_SCHEMA.names, zip(*films, strict=True), strict=True))
        table = pa.table({name: list(values) for name, values in columns.items()}, schema=_SCHEMA)
        return read_attributes(Source(path, data=as_stream(table)), "movie", {}, "dataset.items")


def _films(path: Path, kind: str) -> Iterator[tuple[int, str, int | None, list[str]]]:
    """Yield id, title, year and genres of each film."""
    for line, row in _rows(path, kind):
        genres = _genres(path, line, row, kind)
        if not row[0].strip().isdecimal():
            raise InputError(f"{path}, line {line}: {row[0]!r} is no id of a film, which is a whole number: correct it")
        year = _YEAR.search(row[1])
        yield int(row[0]), row[1].strip(), int(year[1]) if year else None, genres


def _rows(path: Path, kind: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the fields of each line that is not empty, with its number from 1."""
    data = bytes(content(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # that of 100K and 1M
    lines = text.splitlines()
    if kind == "movies.csv":
        rows = csv.reader(lines)
        if (header := next(rows, [])) != _HEADER:
            raise InputError(f"{path}: the first line is {','.join(header)!r}, not {','.join(_HEADER)!r}: correct it")
        yield from ((rows.line_num, row) for row in rows if row)
    else:
        mark = "|" if kind == "u.item" else "::"
        yield from ((at, line.split(mark)) for at, line in enumerate(lines, 1) if line.strip())


def _genres(path: Path, line: int, row: Sequence[str], kind: str) -> list[str]:
    """Return the genres of a row, whose fields are counted."""
    n = 5 + len(FLAGS) if kind == "u.item" else len(_HEADER)
    if len(row) != n:
        raise InputError(f"{path}, line {line}: {len(row)} fields instead of {n}: correct or remove the line")
    if kind != "u.item":
        return [genre for genre in row[2].split("|") if genre and genre not in NO_GENRES]
    if not set(row[5:]) <= {"0", "1"}:
        raise InputError(f"{path}, line {line}: the genres are not all 0 or 1: correct the line")
    return [genre for genre, flag in zip(FLAGS, row[5:], strict=True) if flag == "1" and genre not in NO_GENRES]
