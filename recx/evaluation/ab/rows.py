"""Lists from a log with a row for each item that was shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from recx.core.ragged import max_of_groups, repeats
from recx.core.types import Array, Bools, Longs
from recx.evaluation.ab.lists import Lists
from recx.evaluation.ab.settings import Settings
from recx.evaluation.grouped import Numbered, numbered
from recx.evaluation.log_columns import quoted, refuse_any


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that count, in the order of the file.

    Attributes:
        path: The file, for errors.
        named: Role -> its column.
        row: The row of the file that each is, from 0 [n].
        user: The user of each row.
        of: Role -> its values [n]: clicked, and of list, item and position those that the log has.
    """

    path: str
    named: Mapping[str, str]
    row: Longs
    user: Numbered
    of: Mapping[str, Array]

    def lists(self, settings: Settings) -> Lists:
        """Return the lists.

        Raises:
            InputError: Positions are not those of whole lists, or a list shows an item twice.
        """
        users, position = self.user.codes.astype(np.int64), self.of.get("position")
        key = users
        if "list" in self.of:
            lists = numbered(self.of["list"])
            key = users * len(lists.ids) + lists.codes
        order = _order(key, position)
        key = key[order]
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        indptr = np.append(starts, len(key))
        place = None
        if position is not None:
            place = self._checked(position - self._first(position, settings) + 1, order, indptr, settings)
        if "item" in self.of:
            codes = numbered(self.of["item"]).codes[order]
            self._refuse(
                self._in_file(order, repeats(codes, indptr)),
                "item",
                lambda at: f"{self._list(at)} shows the item {quoted(self.of['item'], at)} twice",
                self._twice(),
            )
        clicked = self.of["clicked"][order]
        reciprocal = np.full(len(starts), np.nan)
        if place is not None:
            reciprocal = max_of_groups(np.where(clicked, 1 / place, 0.0), indptr)
        clicks = np.add.reduceat(clicked, starts, dtype=np.int64)
        return Lists(users[order[starts]], np.diff(indptr), clicks, reciprocal, self._unnamed(len(starts)))

    def _unnamed(self, n_lists: int) -> dict[str, int]:
        return {} if "list" in self.of else {"lists_without_name": n_lists}

    def _first(self, position: Longs, settings: Settings) -> int:
        """Return the number of the first position."""
        first = 1 if settings.first_position is None else settings.first_position
        way_out = (
            "positions could count from 0, or this one is wrong: set --first-position 0 (first_position=0), or correct "
            "it"
        )
        if settings.first_position is not None:
            way_out = "correct it or remove the row"
        self._refuse(position < first, "position", lambda at: f"the position is {position[at]}", way_out)
        return first

    def _checked(self, place: Longs, order: Longs, indptr: Longs, settings: Settings) -> Longs:
        """Return the position of every row in the order of the lists, from 1 [n]."""
        place, raw = place[order], self.of["position"]
        step = np.diff(place, prepend=0)
        step[indptr[:-1]] = place[indptr[:-1]]  # the first position of a list follows on 0
        self._refuse(
            self._in_file(order, step == 0),
            "position",
            lambda at: f"{self._list(at)} has the position {raw[at]} twice",
            self._twice(),
        )
        if settings.gaps == "refuse":
            self._refuse(
                self._in_file(order, step > 1),
                "position",
                lambda at: f"{self._list(at)} has the position {raw[at]}, not {raw[at] - 1}",
                "a row could be missing from the log, or the item was not in view: log every item shown, or take "
                'positions as they are by --gaps keep (gaps="keep")',
            )
        return place

    def _twice(self) -> str:
        if "list" in self.of:
            return (
                "one impression could have been logged twice, or two lists could have one name: keep one row, or name "
                "the lists apart"
            )
        return (
            f"one impression could have been logged twice, or the user got two lists: keep one row, or add a column "
            f"{self.named['list']!r} that names the lists"
        )

    def _list(self, at: int) -> str:
        user = f"user {quoted(self.user.ids, self.user.codes[at])}"
        return f"the list {quoted(self.of['list'], at)} of {user}" if "list" in self.of else f"the list of {user}"

    def _in_file(self, order: Longs, bad: Bools) -> Bools:
        """Return in the order of the file what is given in that of the lists."""
        found = np.zeros(len(order), dtype=bool)
        found[order] = bad
        return found

    def _refuse(self, bad: Bools, role: str, what: Callable[[int], str], way_out: str) -> None:
        refuse_any(self.path, self.named[role], bad, what, way_out, self.row)


def _order(key: Longs, position: Longs | None) -> Longs:
    """Return the rows sorted by list and position; without positions, in the order given."""
    step = np.diff(key)
    sorted_already = (step > 0) | ((step == 0) & (True if position is None else np.diff(position) >= 0))
    if sorted_already.all():
        return np.arange(len(key))
    return np.argsort(key, kind="stable") if position is None else np.lexsort((position, key))
