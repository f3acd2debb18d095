"""Finds what separates the columns of a text: from its header or, without one, from its first rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from recx.core.errors import InputError
from recx.storage.readers.delimited import names_of
from recx.storage.readers.text_bytes import from_header

UNIT = "\x1f"
"""What stands for a mark of several characters, since Arrow takes one."""
BLANKS = "blanks"
"""Runs of blanks and tabs."""
MARKS = ("\t", ",", ";", "|")
ALL = (*MARKS, "::", BLANKS)
PACKED = (".gz", ".bz2", ".zst", ".zip")
_OF_NAMES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".inter": "\t", ".item": "\t", ".user": "\t", ".data": "\t"}
_WORDS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "'|'", "::": "'::'", BLANKS: "blanks", " ": "a blank"}
_ROWS, _BYTES = 1_000, 1 << 18
_RUNS = re.compile(rb"\A[ \t]|[ \t]\Z|[ \t][ \t\r\n]|[\r\n][ \t]|\t")


def header_of(path: Path, data: memoryview) -> str:
    """Return the first line that is not empty.

    Raises:
        InputError: It is not UTF-8.
    """
    try:
        return re.split(rb"[\r\n]", bytes(from_header(data)[: 1 << 20]), maxsplit=1)[0].decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start} of its header): save it as UTF-8") from error


def of_name(path: Path) -> str | None:
    """Return the mark that the ending of a file's name stands for."""
    name = path.name
    for ending in PACKED:
        name = name.removesuffix(ending)
    return _OF_NAMES.get(Path(name).suffix.lower())


def usual(path: Path, header: str) -> str:
    """Return the mark of the file's name, or else the first one in its header."""
    return of_name(path) or next((mark for mark in MARKS if mark in header), ",")


def by_header(path: Path, header: str, needed: Collection[str]) -> str:
    """Return the usual mark, or the only one by which the header names the needed columns."""
    mark = usual(path, header)
    if set(needed) <= set(fields_of(header, mark)):
        return mark
    fitting = [mark for mark in (*MARKS, "::", " ") if set(needed) <= set(fields_of(header, mark))]
    if fitting in ([], [" "]) and set(needed) <= set(header.split()) and "" in header.split(" "):
        return BLANKS
    return fitting[0] if len(fitting) == 1 else mark


def fields_of(line: str, mark: str, quoted: bool = True) -> list[str]:
    """Return the fields of a line without blanks around them."""
    return line.split() if mark == BLANKS else names_of(line, mark, quoted)


def by_rows(
    path: Path, data: memoryview, columns: Sequence[int], setting: str, given: str | None = None
) -> tuple[str, int]:
    """Return the mark of a file without a header, and the number of its columns.

    A mark fits if it gives all of the first rows one number of columns, and the needed ones are among them. Of several
    that fit, one is clear if the first two of these columns, those of the ids, hold none of the others.

    Args:
        path: The file, for errors.
        data: Its bytes.
        columns: The columns that are needed, counted from 0, those of the ids first.
        setting: The setting that gives the delimiter, for errors.
        given: The mark, where it is set.

    Raises:
        InputError: No mark fits, or several do.
    """
    lines = _first_lines(path, data)
    if given is not None:
        return given, _width(path, lines[0], given, max(columns), setting)
    found = {mark: rows for mark in ALL if (rows := _table(lines, mark, max(columns)))}
    if {"\t", BLANKS} <= set(found):  # the blanks stand within fields, or around them
        padded = any(field != field.strip() for line in lines for field in line.split("\t"))
        found.pop("\t" if padded and found["\t"] == found[BLANKS] else BLANKS)
    if found:
        return _only(path, lines, found, columns, setting)
    mark = usual(path, lines[0])
    mark = mark if mark in lines[0] else BLANKS
    width = len(fields_of(lines[0], mark))
    if width > max(columns) and len(lines) > 1:
        return mark, width  # the reader names the row that has other columns
    raise InputError(
        f"{path}: no delimiter gives its rows the column {max(columns)} (counted from 0; the first is "
        f"{lines[0][:60]!r}): correct the number, or set {setting}"
    )


def _only(
    path: Path, lines: list[str], found: dict[str, list[list[str]]], columns: Sequence[int], setting: str
) -> tuple[str, int]:
    """Return the only clear mark of those that fit, and the number of columns by it."""
    clear = [mark for mark, rows in found.items() if not _holds_marks(rows, columns[:2], set(found) - {mark})]
    named = of_name(path)
    if len(clear) != 1 and named in found and set(found) == {named, BLANKS}:
        clear = [str(named)]  # the blanks stand within texts
    if len(clear) != 1 and len(found) > 1:
        raise _both(path, found, setting)
    mark = clear[0] if len(found) > 1 else next(iter(found))
    width = len(found[mark][0])
    single = mark == BLANKS and all(len(line.split(" ")) == width and "\t" not in line for line in lines)
    return " " if single else mark, width


def _width(path: Path, line: str, mark: str, last: int, setting: str) -> int:
    """Return the number of columns of the first row by the mark that is set."""
    width = len(fields_of(line, mark))
    if width <= last:
        raise InputError(
            f"{path}: there is no column {last} (counted from 0) by {setting}={typed(mark)}; the first row is "
            f"{line[:60]!r}: correct the number or the delimiter"
        )
    return width


def _both(path: Path, found: dict[str, list[list[str]]], setting: str) -> InputError:
    (one, rows), (other, more) = list(found.items())[:2]
    return InputError(
        f"{path} has no header, and its columns could be separated by {_WORDS[one]}, so that the first row is "
        f"{_shown(rows[0])}, or by {_WORDS[other]}, so that it is {_shown(more[0])}: set {setting}={typed(one)} or "
        f"{setting}={typed(other)}"
    )


def _first_lines(path: Path, data: memoryview) -> list[str]:
    body = from_header(data)
    head = bytes(body[:_BYTES])
    if len(body) > _BYTES:
        head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1] or head
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start}): save it as UTF-8") from error
    return [line for line in re.split("\r\n|\r|\n", text) if line.strip()][:_ROWS]


def _table(lines: list[str], mark: str, last: int) -> list[list[str]] | None:
    """Return the rows by a mark; None: they have different numbers of columns, or one or too few of them."""
    rows = [fields_of(line, mark) for line in lines]
    width = len(rows[0])
    return rows if width > max(1, last) and all(len(row) == width for row in rows) else None


def _holds_marks(rows: list[list[str]], columns: Sequence[int], marks: Collection[str]) -> bool:
    """Return whether some of the columns hold a mark."""
    shown = [" " if mark == BLANKS else mark for mark in marks]
    return any(mark in row[column] for row in rows for column in columns for mark in shown)


def _shown(row: list[str]) -> str:
    return " and ".join(repr(field[:30]) for field in row[:3]) + (" …" if len(row) > 3 else "")


def typed(mark: str) -> str:
    r"""Return a mark as a person types it for a setting, such as '\t'."""
    return mark if mark == BLANKS else repr(mark)


def described(mark: str) -> str:
    """Return a mark in words."""
    return _WORDS.get(mark, repr(mark))


def with_one_mark(path: Path, data: memoryview, mark: str) -> tuple[memoryview, str]:
    """Return a text, and its mark as one character.

    Raises:
        InputError: Blanks separate its columns, and it has quotation marks too.
    """
    if mark == "::":
        return memoryview(bytes(data).replace(b"::", UNIT.encode())), UNIT
    if mark != BLANKS:
        return data, mark
    if not _RUNS.search(data):
        return data, " "
    text = bytes(data)
    if b'"' in text:
        line = len(re.findall(rb"\r\n?|\n", text[: text.index(b'"')])) + 1
        raise InputError(
            f"{path}, line {line}: a quotation mark in a file whose columns are separated by runs of blanks, which "
            "could stand within it: remove the mark, or separate the columns by tabs"
        )
    bare = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=[\r\n]|\Z)", b"", text.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    return memoryview(re.sub(rb"[ \t]+", UNIT.encode(), bare)), UNIT
