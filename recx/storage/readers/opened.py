"""Opens the files of a table: their format, delimiter and columns, which must be the same in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recx.core.errors import InputError
from recx.core.progress import say
from recx.storage.readers.columnar import typed
from recx.storage.readers.content import ARROW_FILE, ARROW_STREAM, PARQUET, content
from recx.storage.readers.file_sets import FileSet
from recx.storage.readers.json_rows import is_json
from recx.storage.readers.marks import by_rows, described, of_name
from recx.storage.readers.marks import typed as as_typed
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import columns_of, settled


@dataclass(frozen=True)
class Layout:
    """What settings say about the files of a table.

    Attributes:
        delimiter: The text between columns; None: it is found.
        header: Whether the first line names the columns; otherwise they are numbered from 0.
        stage: What the settings begin with, such as ``dataset``, for errors; empty if there are none.
    """

    delimiter: str | None = None
    header: bool = True
    stage: str = "dataset"


def opened(files: FileSet, layout: Layout, needed: Sequence[str]) -> Source:
    """Return the table of some files.

    Args:
        files: The files.
        layout: What is known about them.
        needed: The columns that are needed, those of the ids first.

    Raises:
        InputError: A file is missing, damaged or empty, the files differ in format or columns, or the delimiter is
            ambiguous.
    """
    mark = "\t" if layout.delimiter == "\\t" else layout.delimiter  # as a shell passes it
    setting = f"{layout.stage}.delimiter" if layout.stage else ""
    parts = [Source(path, mark, setting=setting, data=content(path)) for path in files.paths]
    _refuse_two_formats(parts)
    if layout.header:
        parts = [settled(part, needed) for part in parts]
    else:
        parts = [_numbered(part, needed, layout) for part in parts]
    _refuse_other_columns(parts, needed)
    _say_delimiter(parts[0], layout)
    if len(parts) == 1:
        return parts[0]
    say(f"  {files.name.parent}: {len(parts)} files are read as one table")
    return replace(parts[0], path=files.name, data=None, parts=tuple(parts))


def _numbered(part: Source, needed: Sequence[str], layout: Layout) -> Source:
    """Return a file without a header, its columns named by their numbers."""
    data = part.bytes()
    if typed(part.path, data) is not None:
        raise InputError(
            f"{part.path}: {layout.stage}.header=false is for delimited text, and this is {_format(data)}, whose "
            f"columns have names: leave {layout.stage}.header out"
        )
    columns = [int(name) for name in needed]
    mark, width = by_rows(part.path, data, columns, part.setting, part.delimiter)
    return replace(part, delimiter=mark, names=tuple(map(str, range(width))))


def _format(data: memoryview) -> str:
    head = bytes(data[:8])
    if head.startswith(PARQUET):
        return "Parquet"
    if head.startswith((ARROW_FILE, ARROW_STREAM)):
        return "Arrow"
    return "JSON" if is_json(data) else "delimited text"


def _refuse_two_formats(parts: Sequence[Source]) -> None:
    found: dict[str, Path] = {}
    for part in parts:
        found.setdefault(_format(part.bytes()), part.path)
    if len(found) > 1:
        (one, path), (other, second), *_ = found.items()
        raise InputError(
            f"{path} is {one}, and {second} is {other}: the files of a table have one format, so name those of one "
            f"only, such as '{path.parent}/*{path.suffix}'"
        )


def _refuse_other_columns(parts: Sequence[Source], needed: Sequence[str]) -> None:
    """Refuse files with other columns than the first; those of JSON, where a row may lack a key, need those needed."""
    first = columns_of(parts[0], needed)
    if is_json(parts[0].bytes()):
        first = [name for name in needed if name in first]
    for part in parts[1:]:
        names = columns_of(part, needed)
        names = [name for name in names if name in first] if is_json(part.bytes()) else names
        if part.delimiter != parts[0].delimiter:
            marks = " and ".join(described(str(one.delimiter)) for one in (parts[0], part))
            raise InputError(
                f"{parts[0].path} and {part.path} are separated by {marks}: the files of a table have one delimiter, "
                "so write one of them again, or name one"
            )
        if sorted(names) != sorted(first):
            only = next((name for name in [*first, *names] if (name in first) != (name in names)), "")
            has, lacks = (parts[0], part) if only in first else (part, parts[0])
            raise InputError(
                f"{has.path} has the column {only!r}, and {lacks.path} does not: the files of a table have the same "
                "columns, so name those that have"
            )


def _say_delimiter(part: Source, layout: Layout) -> None:
    """Say what separates the columns, if neither a setting nor the name of the file does."""
    if layout.delimiter is None and part.delimiter is not None and part.delimiter != of_name(part.path):
        way_out = f" (otherwise: {part.setting}={as_typed(',' if part.delimiter != ',' else ';')})" * bool(part.setting)
        say(f"  {part.path.name}: columns are separated by {described(part.delimiter)}{way_out}")
