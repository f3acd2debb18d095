"""Lists from a log with a row for each list: its items in one column, what was clicked in another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.errors import InputError
from recx.core.ragged import distinct, group_of_rows, indptr_of, position_of_rows, repeats, sum_of_groups
from recx.core.types import Array, Bools, Longs
from recx.evaluation.ab.lists import Lists
from recx.evaluation.ab.settings import Settings
from recx.evaluation.grouped import Numbered, number, numbered
from recx.evaluation.log_columns import quoted, refuse_any
from recx.storage.readers.columns import convert


@dataclass(frozen=True, eq=False)
class Nested:
    """The rows that count, in the order of the file.

    Attributes:
        path: The file, for errors.
        named: Role -> its column.
        row: The row of the file that each is, from 0 [n_lists].
        user: The number of each row's user [n_lists].
        shown: The items of each list, from the top: lists, or texts of a delimited file [n_lists].
        clicked: The items that were clicked, or a 0 or 1 for each item shown [n_lists].
    """

    path: str
    named: Mapping[str, str]
    row: Longs
    user: Longs
    shown: pa.ChunkedArray
    clicked: pa.ChunkedArray

    def lists(self, settings: Settings) -> Lists:
        """Return the lists.

        Raises:
            InputError: A column holds no lists, a list shows an item twice, or a click is on an item that is not shown.
        """
        indptr, items = self._flat(self.shown, "shown")
        of_clicks, clicks = self._flat(self.clicked, "clicked")
        numbers = numbered(items)
        self._refuse(
            self._of_rows(repeats(numbers.codes, indptr), indptr),
            "shown",
            lambda at: f"the list shows the item {_first_twice(items[indptr[at] : indptr[at + 1]])} twice",
            "keep one of them",
        )
        flags = _flags(clicks) if np.array_equal(indptr, of_clicks) else None
        if settings.clicked_as == "flags" and flags is None:
            self._refuse_flags(indptr, of_clicks)
        if flags is not None and settings.clicked_as is None and self._may_be_items(numbers, indptr, clicks, of_clicks):
            raise InputError(
                f"{self.path}: column {self.named['clicked']!r}: its numbers 0 and 1 could say of each item shown "
                "whether it was clicked, or be the items that were: set --clicked-as flags or --clicked-as items "
                '(clicked_as="flags")'
            )
        if flags is not None and settings.clicked_as != "items":
            return self._made(indptr, np.flatnonzero(flags), {})
        return self._made(indptr, *self._places(numbers, indptr, clicks, of_clicks, settings))

    def _made(self, indptr: Longs, clicked: Longs, notes: dict[str, int]) -> Lists:
        """Return the lists, of which some elements were clicked (their numbers, rising)."""
        lengths, flags = np.diff(indptr), np.zeros(int(indptr[-1]))
        flags[clicked] = 1.0
        of_list = group_of_rows(indptr)[clicked]
        reciprocal = np.zeros(len(lengths))
        # Backwards, so that the topmost click of a list is written last.
        reciprocal[of_list[::-1]] = 1 / (position_of_rows(indptr)[clicked][::-1] + 1)
        return Lists(self.user, lengths, sum_of_groups(flags, indptr).astype(np.int64), reciprocal, notes)

    def _places(
        self, items: Numbered, indptr: Longs, clicks: Array, of_clicks: Longs, settings: Settings
    ) -> tuple[Longs, dict[str, int]]:
        """Return which elements of the lists were clicked, rising, and counts of odd clicks."""
        if not len(clicks):
            return np.zeros(0, dtype=np.int64), {}
        place = self._sought(items, indptr, clicks, of_clicks)
        strange, of_list = place < 0, group_of_rows(of_clicks)
        if settings.clicks_not_shown == "refuse":
            self._refuse(
                self._of_rows(strange, of_clicks),
                "clicked",
                lambda at: (
                    f"the item {quoted(clicks, int(np.flatnonzero(strange & (of_list == at))[0]))} was "
                    f"clicked and not shown (such clicks: {int(strange.sum()):,})"
                ),
                "the click could be of another list, or the list shown was cut: correct the log, or leave such clicks "
                'out by --clicks-not-shown drop (clicks_not_shown="drop")',
            )
        found = distinct(place[~strange])
        counts = {"clicks_not_shown": int(strange.sum()), "repeated_clicks": int((~strange).sum()) - len(found)}
        return found, {name: n for name, n in counts.items() if n}

    def _may_be_items(self, items: Numbered, indptr: Longs, clicks: Array, of_clicks: Longs) -> bool:
        """Return whether flags may be items as well: each of them is in its list, and none is there twice."""
        if items.ids.dtype.kind not in "iu":
            return False
        place = self._sought(items, indptr, clicks, of_clicks)
        return bool((place >= 0).all()) and len(distinct(place)) == len(place)

    def _sought(self, items: Numbered, indptr: Longs, clicks: Array, of_clicks: Longs) -> Longs:
        """Return the element of its list that each click is on; -1: none."""
        columns = {"shown": Numbered(items.codes.copy(), items.ids), "clicked": numbered(clicks)}
        (of_shown, of_clicked), ids = number(columns, "item")
        if not len(of_shown):
            return np.full(len(clicks), -1, dtype=np.int64)
        keys = group_of_rows(indptr) * len(ids) + of_shown
        order = np.argsort(keys, kind="stable")
        sought = group_of_rows(of_clicks) * len(ids) + of_clicked
        place = order[np.minimum(np.searchsorted(keys, sought, sorter=order), len(keys) - 1)]
        return np.where(keys[place] == sought, place, -1)

    def _flat(self, column: pa.ChunkedArray, role: str) -> tuple[Longs, Array]:
        """Return the borders of the lists of a column [n_lists + 1], and their elements."""
        lists = self._parsed(column, role).combine_chunks()
        lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)
        elements = lists.flatten()
        indptr = indptr_of(lengths)
        if pa.types.is_boolean(elements.type):
            elements = elements.cast(pa.int64())
        missing = np.asarray(pc.is_null(elements, nan_is_null=True))
        self._refuse(self._of_rows(missing, indptr), role, lambda _: "an item is missing in the list", "correct it")
        where = f"{self.path}: column {self.named[role]!r}, the items of its lists one after the other"
        return indptr, convert(pa.chunked_array([elements]), "id", where)

    def _parsed(self, column: pa.ChunkedArray, role: str) -> pa.ChunkedArray:
        """Return a column of lists; texts are JSON, or items separated by blanks or by |."""
        kind = column.type
        if any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)):
            return column
        if pa.types.is_null(kind):
            return column.cast(pa.list_(pa.int64()))
        texts = pc.utf8_trim_whitespace(pc.fill_null(self._texts(column, role), ""))
        if role == "shown" and pc.all(pc.is_in(texts, pa.array(["0", "1"]))).as_py():
            raise self._no_lists(role, "0 and 1, as if they said whether an item was shown")
        if pc.any(pc.starts_with(texts, "["), min_count=0).as_py():
            return self._of_json(texts, role)
        piped, blank = (np.asarray(pc.match_substring_regex(texts, pattern)) for pattern in (r"\|", r"\s"))
        if piped.any():
            self._refuse(
                blank if (piped & blank).any() else np.zeros(1, dtype=bool),
                role,
                lambda at: f"the items of {quoted(np.asarray(texts), at)} could be separated by | or by blanks",
                'write lists as JSON (["a", "b"]), or in Parquet',
            )
        pattern = r"\s*\|\s*" if piped.any() else r"\s+"
        lists = pc.split_pattern_regex(texts, pattern)
        return pc.if_else(pc.equal(texts, ""), pa.scalar(None, lists.type), lists)

    def _texts(self, column: pa.ChunkedArray, role: str) -> pa.ChunkedArray:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise self._no_lists(role, f"values of type {kind}")
        return column.cast(pa.string())

    def _no_lists(self, role: str, what: str) -> InputError:
        return InputError(
            f"{self.path}: column {self.named[role]!r} holds {what}, not lists of items: write a list for each row, or "
            "a row for each item shown, with its position"
        )

    def _of_json(self, texts: pa.ChunkedArray, role: str) -> pa.ChunkedArray:
        values: list[Any] = []
        for at, text in enumerate(texts.to_pylist()):
            try:
                value = json.loads(text) if text else []
            except ValueError:
                value = None
            if not isinstance(value, list):
                raise InputError(
                    f"{self.path}: column {self.named[role]!r}, row {self.row[at] + 1}: {text[:40]!r} is no list in "
                    'JSON, as in other rows: write ["a", "b"]'
                )
            values.append(value)
        try:
            return pa.chunked_array([pa.array(values)])
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputError(
                f"{self.path}: column {self.named[role]!r}: its lists hold values of several types ({error}): write "
                "all items as numbers, or all as text"
            ) from error

    def _refuse_flags(self, indptr: Longs, of_clicks: Longs) -> NoReturn:
        self._refuse(
            np.diff(indptr) != np.diff(of_clicks),
            "clicked",
            lambda at: f"its list is not as long as that of the items ({indptr[at + 1] - indptr[at]})",
            'write a 0 or 1 for each item shown, or set --clicked-as items (clicked_as="items")',
        )
        raise InputError(
            f"{self.path}: column {self.named['clicked']!r} holds more than 0 and 1: correct it, or set --clicked-as "
            'items (clicked_as="items")'
        )

    def _of_rows(self, bad: Bools, indptr: Longs) -> Bools:
        """Return which lists have a bad element."""
        found = np.zeros(len(indptr) - 1, dtype=bool)
        found[group_of_rows(indptr)[bad]] = True
        return found

    def _refuse(self, bad: Bools, role: str, what: Any, way_out: str) -> None:
        refuse_any(self.path, self.named[role], bad, what, way_out, self.row)


def _flags(clicks: Array) -> Bools | None:
    """Return clicks as flags; None: they hold something else than 0 and 1."""
    if clicks.dtype.kind not in "iu" or not len(clicks) or not np.isin(clicks, (0, 1)).all():
        return None
    flags: Bools = clicks == 1
    return flags


def _first_twice(items: Array) -> str:
    seen: set[Any] = set()
    for at, item in enumerate(items.tolist()):
        if item in seen:
            return quoted(items, at)
        seen.add(item)
    return ""
