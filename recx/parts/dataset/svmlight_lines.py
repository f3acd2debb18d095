"""Parsing of lines such as ``grade qid:QUERY 1:0.5 7:1``, in large blocks, with errors that name the line."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from recx.core.errors import InputError
from recx.core.ragged import group_of_rows, indptr_of, position_of_rows
from recx.core.types import Array, Bools, Doubles, Longs
from recx.parts.dataset.files import refuse_first
from recx.parts.dataset.judgements import LARGEST

EXACT = 2**53  # largest float64 up to which all whole numbers are exact

_GRADE_AND_QUERY = re.compile(rb"^[ \t]*[^\s:]+[ \t]+qid:", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*")


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a file.

    Attributes:
        grade: grade of every row [n].
        query: query of every row, a whole number [n]; 0 where the lines have none.
        line: line of every row in the file, from 1 [n].
        row: row of every listed feature [n_values].
        index: number of every listed feature [n_values].
        value: value of every listed feature [n_values].
        document: document ids [n], or None if the comments have none.
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
        """Return the rows of all parts, one after the other, without documents."""
        starts = indptr_of(np.array([len(rows.grade) for rows in parts]))
        moved = [replace(rows, row=rows.row + start) for rows, start in zip(parts, starts, strict=False)]
        names = ("grade", "query", "line", "row", "index", "value")
        return cls(*(np.concatenate([getattr(rows, name) for rows in moved]) for name in names))


@dataclass(frozen=True, eq=False)
class Lines:
    """Some consecutive lines of a file.

    Attributes:
        path: the file.
        before: number of lines before these.
        raw: the lines.
    """

    path: Path
    before: int
    raw: bytes

    @cached_property
    def text(self) -> bytes:
        """The lines without comments, each with a line end."""
        return _COMMENT.sub(b"", self.raw) + b"\n"

    @cached_property
    def has_query(self) -> bool:
        return b"qid:" in self.text

    def rows(self, has_query: bool) -> Rows:
        """Return the rows.

        Args:
            has_query: every line must have a query, since a line of the file has one.

        Raises:
            InputError: a line is not valid.
        """
        paired = self.text.replace(b"qid:", b"")
        spaced = paired.replace(b":", b" ")
        n_words = _words_of_lines(spaced)
        filled = n_words > 0
        line = np.flatnonzero(filled) + 1 + self.before
        n_pairs = _count_by_line(np.frombuffer(paired, dtype=np.uint8) == ord(":"), paired)[filled]
        if has_query:
            self._check_queries(len(line))
        head = 1 + has_query
        odd = n_words[filled] != head + 2 * n_pairs
        self._refuse(odd, line, "it is not a row: write a grade, qid:QUERY and features such as 1:0.5")
        numbers = self._numbers(spaced, int(n_words.sum()))
        start, pairs = indptr_of(head + 2 * n_pairs)[:-1], indptr_of(n_pairs)
        row = group_of_rows(pairs)
        at = start[row] + head + 2 * position_of_rows(pairs)
        query = numbers[start + 1] if has_query else np.zeros(len(start))
        self._refuse(~_whole(query), line, "the qid is not a whole number from 0 up: number the queries")
        index = numbers[at]
        bad = ~_whole(index)
        bad[1:] |= ~(index[1:] > index[:-1]) & (row[1:] == row[:-1])
        refuse_first(
            bad,
            lambda at: (
                f"{self.path}, line {line[row[at]]}: the features' numbers must be whole and rise along the "
                "line: sort them, each once"
            ),
        )
        self._refuse_inexact(numbers, spaced)
        rows = Rows(numbers[start], query.astype(np.int64), line, row, index.astype(np.int64), numbers[at + 1])
        self._check_finite(rows)
        return rows

    def _check_queries(self, n_rows: int) -> None:
        if self.text.count(b"qid:") == n_rows == len(_GRADE_AND_QUERY.findall(self.text)):
            return
        for line, words in enumerate(self.text.split(b"\n"), start=self.before + 1):
            if words.strip() and not (words.count(b"qid:") == 1 and _GRADE_AND_QUERY.match(words)):
                raise InputError(
                    f"{self.path}, line {line}: qid:QUERY must follow the grade, once in every line: correct it"
                )

    def _numbers(self, spaced: bytes, expected: int) -> Doubles:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about a word that is not a number, reported below
            try:
                numbers = np.fromstring(spaced, dtype=np.float64, sep=" ") if expected else np.zeros(0)
            except ValueError:
                numbers = np.zeros(0)
        if len(numbers) != expected:
            for line, words in enumerate(spaced.split(b"\n"), start=self.before + 1):
                for word in words.split():
                    if not _is_number(word):
                        text = word.decode("utf-8", "replace")
                        raise InputError(f"{self.path}, line {line}: {text!r} is not a number: correct it")
        return numbers

    def _refuse_inexact(self, numbers: Doubles, spaced: bytes) -> None:
        """Refuse whole numbers that float64 does not hold: they would become equal to their neighbours."""
        large = np.flatnonzero(np.isfinite(numbers) & (np.abs(numbers) >= EXACT))
        words = spaced.split() if len(large) else []
        for at in large.tolist():
            if re.fullmatch(rb"[-+]?\d+", words[at]) and int(words[at]) != int(numbers[at]):
                line = 1 + self.before + int(np.searchsorted(np.cumsum(_words_of_lines(spaced)), at, side="right"))
                raise InputError(
                    f"{self.path}, line {line}: {words[at].decode()} is a whole number beyond 2^53, which would become "
                    "equal to its neighbours: subtract a constant from the feature"
                )

    def _check_finite(self, rows: Rows) -> None:
        refuse_first(
            ~(np.abs(rows.grade) <= LARGEST),
            lambda at: (
                f"{self.path}, line {rows.line[at]}: the grade is not finite in float32 ({rows.grade[at]}): correct it"
            ),
        )
        refuse_first(
            ~(np.abs(rows.value) <= LARGEST),
            lambda at: (
                f"{self.path}, line {rows.line[rows.row[at]]}: feature {rows.index[at]} of query "
                f"{rows.query[rows.row[at]]} is {rows.value[at]}: every feature must be a finite number: correct it or "
                "leave it out"
            ),
        )

    def _refuse(self, bad: Bools, line: Longs, what: str) -> None:
        refuse_first(bad, lambda at: f"{self.path}, line {line[at]}: {what}")


def _words_of_lines(text: bytes) -> Longs:
    """Return the number of words of every line."""
    black = np.frombuffer(text, dtype=np.uint8) > ord(" ")
    first = black.copy()
    first[1:] &= ~black[:-1]
    return _count_by_line(first, text)


def _count_by_line(marks: Bools, text: bytes) -> Longs:
    """Return the number of marked bytes of every line."""
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
    return np.diff(np.searchsorted(np.flatnonzero(marks), ends), prepend=0)


def _whole(numbers: Doubles) -> Bools:
    """Return which numbers [n] are whole, non-negative and small enough to be exact."""
    return np.asarray((numbers >= 0) & (numbers < EXACT) & (numbers == np.floor(numbers)))


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word
