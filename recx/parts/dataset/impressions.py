"""A log of impressions of the person's own: what was shown in each list, and what of it was clicked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recx.core.bounds import check
from recx.core.entities import Entities
from recx.core.errors import InputError, did_you_mean
from recx.core.notes import KEPT_WITHOUT_CLICK
from recx.core.nouns import Nouns
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, Longs
from recx.parts.dataset.descriptions import Description, described_items
from recx.parts.dataset.files import require_files
from recx.parts.dataset.judgements import Pairs, WithoutClick, answers, once, slates
from recx.parts.dataset.table import Delimiter, Paths
from recx.parts.dataset.table_columns import AUTO, times_of
from recx.storage.readers.attributes import Kind
from recx.storage.readers.names import RANKS, recognised
from recx.storage.readers.opened import Layout, opened
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import columns_of, read
from recx.storage.readers.times import TimeUnit

HELP = "(python -m recx help predict-clicks)"
NAMED = ("list", "item", "clicked", "position", "time")
"""The settings that name a column."""


@dataclass(frozen=True)
class Impressions:
    """A table with a row for every item that was shown, clicked or not. A user is an impression, a list that was shown.

    Attributes:
        path: the file, a folder of parts, a pattern such as ``logs/*.parquet``, or a list of these.
        list: name of the column that says which list a row is of: an impression, a page, an answer to a query.
        item: name of the column of items.
        clicked: name of the column that says whether the item was clicked: 0 or 1, false or true.
        position: name of the column of places in the list, which then has this order, and the feature ``position``;
            ``auto``: the one that is called position, rank or the like; None: there is none.
        features: names of columns of numbers that were known when the item was shown.
        time: name of the column of times, of which the earliest of a list counts; ``auto``: the one that is called
            time, timestamp, date or the like; None: there is none.
        time_unit: unit of the times, as of ``dataset=table``.
        without_click: whether to ``keep`` lists without a click, as ``evaluator=ctr`` needs it, or to ``drop`` them.
        delimiter: separator of the columns, or ``blanks``; None: as the file's name or its header says.
        items: a table with one row per item, as of ``dataset=table``.
        items_id: its column of ids; None: the one named like ``item``, or the only one whose name says so.
        items_as: column -> kind (number, class, classes, text, time, none) of columns that would be read otherwise.
    """

    nouns: ClassVar = Nouns("impression", "impressions")
    files: ClassVar = ("path", "items")
    """The settings that name files (see ``recx.storage.cache.keys``)."""

    path: Paths | None = None
    list: str = "list"
    item: str = "item"
    clicked: str = "clicked"
    position: str | None = AUTO
    features: tuple[str, ...] = ()
    time: str | None = AUTO
    time_unit: TimeUnit = "ms"
    without_click: WithoutClick = "keep"
    delimiter: Delimiter | None = None
    items: Paths | None = None
    items_id: str | None = None
    items_as: Mapping[str, Kind] | None = None

    def __post_init__(self) -> None:
        check(self, "dataset")
        used: dict[str, str] = {}
        for role, name in [*((role, getattr(self, role)) for role in NAMED), *(("features", x) for x in self.features)]:
            if name in (None, AUTO):
                continue
            if name in used:
                raise InputError(f"dataset.{role}={name}: dataset.{used[name]} names this column already: name another")
            used[name] = role

    def load(self) -> Interactions:
        """Return the clicks as events, and what was shown as slates; a list without a click gets an event of weight 0.

        An item that a list shows twice counts once, as clicked if any of its rows is (``shown_twice``).

        Raises:
            InputError: no path is set, or the file cannot be used.
        """
        import pandas as pd

        names = [self.list, self.item, self.clicked, *self.features]
        source = opened(require_files(self.path, "impressions.csv"), Layout(self.delimiter), names)
        present = columns_of(source, names)
        _require(source, {role: getattr(self, role) for role in NAMED[:3]}, present)
        place, time, unit = self._found(source, [name for name in present if name not in names])
        kinds = {self.list: "id", self.item: "id", self.clicked: "flag", **dict.fromkeys(self.features, "number")}
        kinds |= {name: kind for name, kind in ((place, "number"), (time, unit)) if name is not None}
        notes: dict[str, int] = {}
        rows = read(source, kinds, notes=notes)
        clicked = rows[self.clicked]
        _refuse_one_outcome(source, self.clicked, clicked)
        user, users = pd.factorize(rows[self.list], sort=True)
        items, about = self._items(np.asarray(pd.factorize(rows[self.item], sort=True)[1]))
        columns = {name: rows[name] for name in self.features}
        if place is not None:
            columns["position"] = rows[place]
        pairs, twice = once(
            Pairs(
                user,
                pd.Index(items.ids).get_indexer(pd.Index(rows[self.item])).astype(np.int64),
                clicked.astype(np.float64),
                columns,
                None if place is None else -rows[place],
            )
        )
        silent = np.setdiff1d(np.arange(len(users)), user[clicked])
        kept = self.without_click == "keep"
        events = answers(pairs, silent if kept else silent[:0])
        return Interactions(
            indptr=indptr_of(np.bincount(events.user, minlength=len(users))),
            item=events.item.astype(np.int32),
            time=None if time is None else _earliest(rows[time], user, len(users))[events.user],
            weight=events.grade.astype(np.float32),
            users=Entities(np.asarray(users)),
            items=items,
            slates=slates(pairs, len(users)),
            notes={
                **notes,
                **about,
                "impressions": len(users),
                "impressions_without_click": len(silent),
                **({KEPT_WITHOUT_CLICK: len(silent)} if kept else {}),
                "shown_twice": twice,
            },
        )

    def _found(self, source: Source, others: Iterable[str]) -> tuple[str | None, str | None, str]:
        """Return the columns of positions and of times, None where there is none, and the unit of the times.

        Args:
            source: The table.
            others: The columns that have no other role.
        """
        others = [name for name in others if name not in (self.position, self.time)]
        place, time, unit = self.position, self.time, str(self.time_unit)
        if place == AUTO:
            like = recognised(RANKS, others)
            if len(like) > 1:
                raise InputError(
                    f"{source.path}: the column {' or '.join(map(repr, like))} could hold the positions: set "
                    f"dataset.position to the column, such as dataset.position={like[0]}, or to null {HELP}"
                )
            place = next(iter(like), None)
        if time == AUTO:
            time, unit = times_of(source, [name for name in others if name != place], unit, relative=False)
        return place, time, unit

    def _items(self, shown: Array) -> tuple[Entities, dict[str, float]]:
        """Return the items that were shown, and those that the table of items describes besides, by id; and counts."""
        if self.items is None:
            return Entities(shown), {}
        table = Description("items", self.items, self.items_id, self.item, self.items_as).read()
        return described_items(shown, table, "dataset.items")


def _require(source: Source, named: Mapping[str, str], present: Iterable[str]) -> None:
    present = [*present]
    for role, name in named.items():
        if name not in present:
            raise InputError(
                f"{source.path}: column {name!r} is missing: {did_you_mean(name, present)} Name it by "
                f"dataset.{role}=COLUMN {HELP}"
            )


def _refuse_one_outcome(source: Source, column: str, clicked: Array) -> None:
    if clicked.all() or not clicked.any():
        raise InputError(
            f"{source.path}: column {column!r} is {int(clicked[0])} in every row, so there is nothing to predict: give "
            f"a log of all that was shown, clicked and not {HELP}"
        )


def _earliest(time: Array, user: Longs, n: int) -> Longs:
    """Return the earliest time of each list [n]."""
    found = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(found, user, time)
    return found
