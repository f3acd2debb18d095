"""Delimited files once more, in plain Python: what tests/laws/test_files.py holds the readers of recx against."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction

TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class Dialect:
    """How a table is written."""

    mark: str = ","
    quoting: str = "minimal"  # all, minimal or none
    end: str = "\n"
    encoding: str = "utf-8"
    last_end: bool = True
    blank_lines: bool = False
    packed: str = ""  # the ending of the file's name: gz, bz2 or zip


def pack(data: bytes, ending: str) -> bytes:
    """Return the bytes of a packed file; without an ending, of a plain one."""
    if ending == "zip":
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("table", data)
        return made.getvalue()
    return {"": lambda data: data, "gz": lambda data: gzip.compress(data, 1), "bz2": bz2.compress}[ending](data)


def unpack(data: bytes, ending: str) -> bytes:
    """Return what ``pack`` packed."""
    if ending == "zip":
        return zipfile.ZipFile(io.BytesIO(data)).read("table")
    return {"": lambda data: data, "gz": gzip.decompress, "bz2": bz2.decompress}[ending](data)


def write(rows: Sequence[Sequence[str]], how: Dialect) -> bytes:
    """Return the bytes of a table whose first row is its header."""

    def cell(value: str) -> str:
        needed = how.quoting == "all" or value == "" or any(c in value for c in f'{how.mark}"\r\n')
        return f'"{value.replace(chr(34), chr(34) * 2)}"' if how.quoting != "none" and needed else value

    lines = [how.mark.join(map(cell, row)) for row in rows]
    if how.blank_lines:
        lines = [line for pair in zip(lines, [""] * len(lines), strict=True) for line in pair]
    data = (how.end.join(lines) + how.end * how.last_end).encode(how.encoding)
    return pack(data, how.packed)


def read(data: bytes, how: Dialect) -> list[dict[str, str]]:
    """Return the rows, all values as text; lines that are empty or repeat the header are no rows."""
    text = unpack(data, how.packed).decode(how.encoding)
    if how.quoting == "none":
        table = [line.split(how.mark) for line in re.split("\r\n|\r|\n", text) if line]
    else:
        table = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=how.mark) if row]
    header = table[0]
    return [dict(zip(header, row, strict=True)) for row in table[1:] if row != header]


def ids(texts: Sequence[str]) -> list[int] | list[str]:
    """Return whole numbers if all are such, else the texts unchanged; 007 is a name, and so are 19 digits."""
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", text.strip()) for text in texts):
        return [int(text) for text in texts]
    return list(texts)


def looks_like_floats(texts: Sequence[str]) -> bool:
    """Return whether a column of ids reads like whole numbers that became decimal numbers, which is refused."""
    floated = [re.fullmatch(r"-?\d+\.0*|-?\d+(\.\d+)?[eE][-+]?\d+", text) for text in texts]
    return any(floated) and all(re.fullmatch(r"\s*-?\d{1,18}\s*", t) or f for t, f in zip(texts, floated, strict=True))


def exact_time(text: str, unit: str) -> Fraction:
    """Return a time in ms, at the file's own resolution."""
    if unit == "iso":
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return Fraction((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1), 1_000)
    return Fraction(text) * 1_000 / TICKS[unit]
