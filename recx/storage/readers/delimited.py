"""Parses delimited text. What a quotation mark means is decided from the whole file, and no row is lost.

A field may stand in quotes as in RFC 4180, over several lines too, and a mark in it is doubled. Where a mark that opens
a field is not closed at the end of one, all marks are part of the text. A file whose rows have the right number of
columns both ways, and differ, is refused.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from recx.core.errors import InputError
from recx.storage.readers.headers import has_row_names, may_hold_headers, repeated_headers
from recx.storage.readers.text_bytes import from_header, holds, line_of, matched

TEXT = pa.string()
_BLOCKS = (1 << 20, 1 << 26, (1 << 31) - 1)
"""Bytes that Arrow parses at once; a row must fit into one block."""
_LINE = re.compile(rb"[^\r\n]*+")


@dataclass(frozen=True)
class Delimited:
    """A text in columns.

    Attributes:
        path: The file, for errors.
        data: Its bytes.
        delimiter: One ASCII character.
        given: The columns of a file without a header; None: the first line that is not empty names them.
        short: Accept rows without their last columns: these are empty, and the row comes last.
    """

    path: Path
    data: memoryview
    delimiter: str
    given: tuple[str, ...] | None = None
    short: bool = False

    @cached_property
    def body(self) -> memoryview:
        """The bytes from the header, or first row, on."""
        return from_header(self.data)

    @cached_property
    def in_utf8(self) -> bool:
        """Whether all of it is text in UTF-8, not only the columns that are read."""
        ends = pa.py_buffer(np.array([0, len(self.body)]))
        whole = pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(self.body)])
        try:
            whole.validate(full=True)
        except pa.ArrowInvalid:
            return False
        return True

    @cached_property
    def marked(self) -> bool:
        """Whether there is a quotation mark."""
        return holds(self.body, b'"')

    @cached_property
    def unpaired(self) -> int | None:
        """Where the body has a mark that opens a field, but does not close it at the end of one; None: nowhere."""
        if not self.marked:
            return None
        end = matched(_record(self.delimiter, b"", b""), self.body)
        return None if end == len(self.body) else end

    @cached_property
    def quoted(self) -> bool:
        """Whether fields may stand in quotes.

        Raises:
            InputError: Both readings are possible, and give different rows.
        """
        if not self.marked or self.unpaired is not None:
            return False
        end = matched(_record(self.delimiter, b"", b"\r\n"), self.body)
        if end == len(self.body):  # no quoted line end, so the rows are the same wherever both readings have n columns
            return self._fits(True) or not self._fits(False)
        if len(self._names(False)) == 1 or not self._fits(False):
            return True
        if not self._fits(True):
            return False
        line = line_of(self.body, end)
        raise InputError(
            f"{self.path}, line {line}: a quotation mark opens a field that ends on a later line, or is part of the "
            "text (both give rows of the right number of columns): remove the mark, or write the text in quotes with "
            "each mark in it doubled"
        )

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, without blanks around them."""
        return self._names(self.quoted)

    def read(
        self, names: Sequence[str], *, nulls: tuple[str, ...] = (), ids: Collection[str] = ()
    ) -> tuple[pa.Table, int]:
        """Return columns as texts, and the number of rows left out because they repeat the header.

        Args:
            names: The columns.
            nulls: The texts of missing values.
            ids: Those columns that hold ids.

        Raises:
            InputError: A row has another number of columns than the header, or a column is not text in UTF-8.
        """
        try:
            table = self._parsed(names, self.quoted, nulls)
        except pa.ArrowInvalid:
            table = self._explained(names, nulls)
        if self.marked:
            self._refuse_quoted_ids(table, ids)
        if self.given is None and table.num_rows and may_hold_headers(table, self.names):
            return self._without_headers(table, nulls)
        return table, 0

    @property
    def rows(self) -> memoryview:
        """The bytes behind the header of a text without quotation marks."""
        return self._rows(quoted=False)

    def block(self, rows: memoryview, chosen: Sequence[str], nulls: tuple[str, ...]) -> pa.Table:
        """Return columns of some rows of a text without quotation marks as texts (for the arguments see ``read``).

        Raises:
            pa.ArrowInvalid: A row has another number of columns than the header, or a column is not text in UTF-8.
        """
        names = self._names(quoted=False)
        place, numbered = [str(names.index(name)) for name in chosen], [str(at) for at in range(len(names))]
        reading = pacsv.ReadOptions(use_threads=False, block_size=len(rows), column_names=numbered)
        parsing = pacsv.ParseOptions(delimiter=self.delimiter, quote_char=False)
        data = pa.BufferReader(pa.py_buffer(rows))
        return pacsv.read_csv(data, reading, parsing, _converting(place, TEXT, nulls)).rename_columns(list(chosen))

    def _refuse_quoted_ids(self, table: pa.Table, ids: Collection[str]) -> None:
        """Check that no id would keep its quotes, for a mark elsewhere that is not closed or a blank before them."""
        reason, blanks = "a blank stands before them: remove it", " +"
        if self.unpaired is not None:
            line = line_of(self.body, self.unpaired)
            reason, blanks = f"the quotation mark on line {line} is not closed at the end of a field: correct it", " *"
        for name in ids:
            words = pc.unique(table[name])
            if pc.any(pc.match_substring_regex(words, f'^{blanks}".*" *$')).as_py():
                raise InputError(f"{self.path}: the column {name!r} holds values in quotes, but {reason}")

    def _without_headers(self, table: pa.Table, nulls: tuple[str, ...]) -> tuple[pa.Table, int]:
        whole = self._explained([name for name in self.names if name], nulls)
        same = repeated_headers(whole, self.path)
        n = int(same.sum())
        return (whole.filter(pa.array(~same)).select(table.column_names), n) if n else (table, 0)

    def _explained(self, names: Sequence[str], nulls: tuple[str, ...]) -> pa.Table:
        """Return columns, read by one thread: an error names the row."""
        try:
            return self._parsed(names, self.quoted, nulls, careful=True)
        except pa.ArrowInvalid as error:
            raise InputError(self._explanation(str(error))) from error

    def _parsed(
        self,
        chosen: Sequence[str],
        quoted: bool,
        nulls: tuple[str, ...] = (),
        *,
        kind: pa.DataType = TEXT,
        careful: bool = False,
    ) -> pa.Table:
        """Return columns of one reading; with ``careful``, an error names the row."""
        names = self._names(quoted)
        place = [str(names.index(name)) for name in chosen]
        rows = self._rows(quoted)
        if not bytes(rows[:4096]).strip() and not bytes(rows).strip():
            return pa.table({name: pa.array([], kind) for name in chosen})
        short: list[str] = []
        pad = self.short and self.unpaired is None  # an open quotation mark would tear rows
        parsing = self._parsing(quoted, short if pad else None)
        converting = _converting(place, kind, nulls)
        for block in _BLOCKS:
            numbered, threads = [str(at) for at in range(len(names))], not (careful or pad)
            reading = pacsv.ReadOptions(use_threads=threads, block_size=block, column_names=numbered)
            try:
                table = pacsv.read_csv(pa.BufferReader(pa.py_buffer(rows)), reading, parsing, converting)
                return self._with_short(table.rename_columns(list(chosen)), short, quoted)
            except pa.ArrowInvalid as error:
                if "straddl" not in str(error) or block == _BLOCKS[-1] or len(rows) < block:
                    raise
        raise AssertionError("the last block either holds the row or raises")

    def _rows(self, quoted: bool) -> memoryview:
        return self.body if self.given else self.body[matched(self._header(quoted), self.body) :]

    def _parsing(self, quoted: bool, short: list[str] | None) -> pacsv.ParseOptions:
        def torn(row: pacsv.InvalidRow) -> str:
            if not row.text.strip():  # a line of blanks
                return "skip"
            if short is None or row.actual_columns > row.expected_columns:
                return "error"
            short.append(row.text)
            return "skip"

        return pacsv.ParseOptions(
            delimiter=self.delimiter,
            quote_char='"' if quoted else False,
            newlines_in_values=quoted,
            invalid_row_handler=torn if self.in_utf8 else None,  # Arrow decodes the row for it
        )

    def _with_short(self, table: pa.Table, rows: list[str], quoted: bool) -> pa.Table:
        if not rows:
            return table
        names, mark = self._names(quoted), self.delimiter
        fields = [next(csv.reader(io.StringIO(row, ""), delimiter=mark)) if quoted else row.split(mark) for row in rows]
        padded = [row + [""] * (len(names) - len(row)) for row in fields]
        more = {name: [row[names.index(name)] for row in padded] for name in table.column_names}
        return pa.concat_tables([table, pa.table(more, table.schema)])

    def _fits(self, quoted: bool) -> bool:
        """Return whether every row has as many columns as the header."""
        try:
            replace(self, short=False)._parsed(self._names(quoted)[:1], quoted, kind=pa.binary())
        except pa.ArrowInvalid:
            return False
        return True

    def _header(self, quoted: bool) -> re.Pattern[bytes]:
        return _record(self.delimiter, b"\r\n", b"") if quoted else _LINE

    def _names(self, quoted: bool) -> list[str]:
        if self.given is not None:
            return list(self.given)
        raw = bytes(self.body[: matched(self._header(quoted), self.body)])
        try:
            header = raw.decode()
        except UnicodeDecodeError as error:
            at = error.start
            raise InputError(f"{self.path} is not text in UTF-8 (byte {at} of its header): save it as UTF-8") from error
        names = names_of(header, self.delimiter, quoted)
        after = bytes(self.body[len(raw) : len(raw) + 4096]) if quoted else b""
        return ["", *names] if has_row_names(after, len(names), self.delimiter) else names

    def _explanation(self, error: str) -> str:
        torn = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", error)
        if torn:
            row, expected, got = (int(number or 0) for number in torn.groups())
            way_out = "correct or remove the row" + (", or name all columns" if (row, got) == (1, expected + 1) else "")
            if self.unpaired is not None:
                way_out += f", or the quotation mark on line {line_of(self.body, self.unpaired)}, which is not closed"
            if got == 1 and row == 1:
                way_out = "it seems to have another delimiter, or another format than its name says: rename it"
            return f"{self.path}, row {row}: {got} columns instead of {expected}: {way_out}"
        bad = re.search(r"column #(\d+): (?:Row #(\d+): )?.*invalid UTF8", error)
        if bad:
            place = f", row {bad.group(2)}" if bad.group(2) else ""
            return f"{self.path}: column {int(bad.group(1)) + 1}{place} is not text in UTF-8: save the file as UTF-8"
        return f"{self.path} cannot be read as a table ({error.splitlines()[0]}): correct the file"


def _converting(place: list[str], kind: pa.DataType, nulls: tuple[str, ...]) -> pacsv.ConvertOptions:
    return pacsv.ConvertOptions(
        column_types=dict.fromkeys(place, kind),
        include_columns=place,
        null_values=list(nulls),
        strings_can_be_null=bool(nulls),
    )


def names_of(header: str, delimiter: str, quoted: bool = True) -> list[str]:
    """Return the names in a header, without blanks around them."""
    names = header.split(delimiter)
    if quoted and len(delimiter) == 1:
        with suppress(csv.Error):  # longer than any header; a missing column is reported later
            names = next(csv.reader(io.StringIO(header, newline=""), delimiter=delimiter), [])
    return [name.strip() for name in names]


def _record(delimiter: str, outside: bytes, inside: bytes) -> re.Pattern[bytes]:
    """Return a pattern of fields, quoted or not, without the characters ``outside`` and ``inside`` quotes."""
    ends = rb"%s\r\n" % re.escape(delimiter.encode())
    opening, closing = rb'(?<![^%s])"' % ends, rb'"(?=[%s]|\Z)' % ends
    fields = rb'(?:[^"%s]++|%s(?:[^"%s]++|"")*+%s|(?<=[^%s])")*+' % (outside, opening, inside, closing, ends)
    return re.compile(fields)
