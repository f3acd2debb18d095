"""Parses lines such as ``grade qid:QUERY 1:0.5 7:1``: millions of numbers at once, with errors that name the line."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import numpy as np

from recx.core.errors import InputError
from recx.core.ragged import group_of_rows, indptr_of, position_of_rows
from recx.core.types import Array, Bools, Doubles, Longs
from recx.parts.dataset.judgements import LARGEST

EXACT = 2**53  # whole numbers up to here are exact

_GRADE_AND_QUERY = re.compile(rb"^[ \t]*[^\s:]+[ \t]+qid:", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*")


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a file.

    grade: float64 [n]. query: whole numbers [n], 0 where the lines name none. line: each row's line in the file, from 1
    [n]. row, index, value: of every feature that is written down [n_values]. document: ids [n], or None where the
    comments name none.
    """

    grade: Doubles
    query: Longs
    line: Longs
    row: Longs
    index: Longs
    value: Doubles
    document: Array | None = None

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        """Return the rows of all parts, one behind the other, without documents."""
        starts = indptr_of(np.array([len(rows.grade) for rows in parts]))[:-1]
        return cls(
            grade=np.concatenate([rows.grade for rows in parts]),
            query=np.concatenate([rows.query for rows in parts]),
            line=np.concatenate([rows.line for rows in parts]),
            row=np.concatenate([rows.row + start for rows, start in zip(parts, starts, strict=True)]),
            index=np.concatenate([rows.index for rows in parts]),
            value=np.concatenate([rows.value for rows in parts]),
        )


@dataclass(frozen=True, eq=False)
class Lines:
    """Some whole lines of a file. before: how many lines stand before them."""

    path: Path
    before: int
    raw: bytes

    @cached_property
    def text(self) -> bytes:
        """The lines without comments, a line end behind each."""
        return _COMMENT.sub(b"", self.raw) + b"\n"

    @cached_property
    def has_query(self) -> bool:
        return b"qid:" in self.text

    def rows(self, has_query: bool) -> Rows:
        """Return the rows. has_query: each has to name its query, since some line of the file does.

        Raises:
            InputError: naming the first line that is wrong.
        """
        paired = self.text.replace(b"qid:", b"")
        spaced = paired.replace(b":", b" ")
        n_words, n_pairs = _words_of_lines(spaced), _marks_of_lines(paired)
        filled = n_words > 0
        line, n_pairs = np.flatnonzero(filled) + 1 + self.before, n_pairs[filled]
        if has_query:
            self._check_queries(len(line))
        head = 1 + has_query
        odd = n_words[filled] != head + 2 * n_pairs
        if odd.any():
            self._refuse(line[np.argmax(odd)], "it is no row: write a grade, qid:QUERY and features such as 1:0.5")
        numbers = self._numbers(spaced, int(n_words.sum()))
        start, pairs = indptr_of(head + 2 * n_pairs)[:-1], indptr_of(n_pairs)
        row = group_of_rows(pairs)
        at = start[row] + head + 2 * position_of_rows(pairs)
        query = numbers[start + 1] if has_query else np.zeros(len(start))
        index = numbers[at]
        self._check_whole(query, index, line, row)
        rows = Rows(numbers[start], query.astype(np.int64), line, row, index.astype(np.int64), numbers[at + 1])
        self._check_finite(rows)
        return rows

    def _check_queries(self, n_rows: int) -> None:
        if self.text.count(b"qid:") == n_rows == len(_GRADE_AND_QUERY.findall(self.text)):
            return
        for line, words in enumerate(self.text.split(b"\n"), start=self.before + 1):
            if words.strip() and not (words.count(b"qid:") == 1 and _GRADE_AND_QUERY.match(words)):
                self._refuse(line, "qid:QUERY must stand behind the grade, once in every line: correct it")

    def _numbers(self, spaced: bytes, expected: int) -> Doubles:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a word that is no number, which is told below
            try:
                numbers = np.fromstring(spaced, dtype=np.float64, sep=" ") if expected else np.zeros(0)
            except ValueError:
                numbers = np.zeros(0)
        if len(numbers) != expected:
            for line, words in enumerate(spaced.split(b"\n"), start=self.before + 1):
                for word in words.split():
                    if not _is_number(word):
                        self._refuse(line, f"{word.decode('utf-8', 'replace')!r} is no number: correct it")
        return numbers

    def _check_whole(self, query: Doubles, index: Doubles, line: Longs, row: Longs) -> None:
        bad = ~_whole(query)
        if bad.any():
            self._refuse(line[np.argmax(bad)], "the qid is not a whole number from 0 up: number the queries")
        falling = np.zeros(len(index), dtype=bool)
        falling[1:] = ~(index[1:] > index[:-1]) & (row[1:] == row[:-1])
        bad = ~_whole(index) | falling
        if bad.any():
            said = "the features' numbers must be whole and rise along the line: sort them, each once"
            self._refuse(line[row[np.argmax(bad)]], said)

    def _check_finite(self, rows: Rows) -> None:
        bad = ~(np.abs(rows.grade) <= LARGEST)
        if bad.any():
            at = int(np.argmax(bad))
            self._refuse(rows.line[at], f"the grade is not finite in float32 ({rows.grade[at]}): correct it")
        bad = ~(np.abs(rows.value) <= LARGEST)
        if bad.any():
            at = int(np.argmax(bad))
            row = rows.row[at]
            self._refuse(
                rows.line[row],
                f"feature {rows.index[at]} of query {rows.query[row]} is {rows.value[at]}: every feature must be a "
                "finite number: correct it or leave it out",
            )

    def _refuse(self, line: int, what: str) -> NoReturn:
        raise InputError(f"{self.path}, line {line}: {what}")


def _words_of_lines(text: bytes) -> Longs:
    """Return how many words every line has."""
    black = np.frombuffer(text, dtype=np.uint8) > ord(" ")
    begins = black.copy()
    begins[1:] &= ~black[:-1]
    return _sums_of_lines(begins, text)


def _marks_of_lines(text: bytes) -> Longs:
    """Return how many ``:`` every line has."""
    return _sums_of_lines(np.frombuffer(text, dtype=np.uint8) == ord(":"), text)


def _sums_of_lines(marks: Bools, text: bytes) -> Longs:
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
    return np.diff(np.searchsorted(np.flatnonzero(marks), ends), prepend=0)


def _whole(numbers: Doubles) -> Bools:
    """Return which numbers [n] are whole, not negative, and small enough to be exact."""
    whole: Bools = (numbers >= 0) & (numbers < EXACT) & (numbers == np.floor(numbers))
    return whole


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word
