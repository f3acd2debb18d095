"""Any file of interactions, with the columns that the user names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from annotated_types import Predicate, doc

from recx.core.bounds import NonNegativeInt, Seed, check
from recx.core.errors import InputError, did_you_mean
from recx.core.event_frame import Duplicates
from recx.core.event_order import EventOrder
from recx.core.types import Array, Interactions
from recx.parts.dataset.descriptions import Description, described
from recx.parts.dataset.events import interactions_of
from recx.parts.dataset.files import expand_home, require_files
from recx.parts.dataset.known_files import formats
from recx.parts.dataset.own_folds import joined, rows_where, values_of
from recx.parts.dataset.own_slates import with_slates
from recx.parts.dataset.recognised_files import require_format
from recx.parts.dataset.table_columns import AUTO, later, looked_at, refuse_unread_zeros, times_of, weights_of
from recx.storage.readers.attributes import Kind
from recx.storage.readers.file_sets import FileSet, files_of
from recx.storage.readers.marks import BLANKS
from recx.storage.readers.names import ITEMS, USERS, recognised
from recx.storage.readers.opened import Layout, opened
from recx.storage.readers.sources import Source, parse, release
from recx.storage.readers.tables import columns_of, first_rows, read
from recx.storage.readers.times import TimeUnit, exact_times


def _separates(text: str) -> bool:
    return text in ("\\t", "::", BLANKS) or (len(text) == 1 and text.isascii() and text not in '"\r\n')


Delimiter = Annotated[str, Predicate(_separates), doc("one character (ASCII, no quote), '\\t', '::' or blanks")]
Column = str | NonNegativeInt
"""The name of a column or, without a header, its number from 0."""
Paths = str | tuple[str, ...]

ROLES = ("user", "item", "time", "weight")
FOLD, OFFSET = "fold", "time_offset"
NAMED = (*ROLES, FOLD, OFFSET)
"""The settings that name a column of the events."""
_KINDS = {"user": "id", "item": "id", "time": "whole?", "weight": "number?", FOLD: "text?", OFFSET: "number?"}


@dataclass(frozen=True)
class Table:
    """A table with one row per event: delimited text, JSON lines, Parquet or Arrow, plain or packed.

    Attributes:
        path: the file, a folder of parts, a pattern such as ``logs/*.csv``, or a list of these; all of one format, with
            the same columns.
        user: name of the column of users; without a header its number, from 0.
        item: name (number) of the column of items.
        time: name (number) of the column of times; ``auto``: the one that is called time, timestamp, date or the like;
            None: the rows have no times.
        order: of events without times. ``given``: the rows are in the order of time; ``none``: they have no order, and
            get a random one; ``auto``: ``given``, but an error if they are sorted by item.
        seed: seed of the random order.
        weight: name (number) of the column of weights; ``auto``: one that says what was chosen, such as a label of 0
            and 1; None: 1 for every event. A row with a weight of 0 or less is no event.
        time_unit: unit of the times: d, h, m, s, ms, us or ns; iso (dates), dmy or mdy (dates with the day or the month
            first), or excel (days of a spreadsheet). A Parquet timestamp has its own unit. With ``time=auto`` dates
            show their unit, if none but ms is set.
        time_offset: name (number) of a column of milliseconds to add to the times, such as those since the session
            began where the times are days; None: there is none.
        relative_times: the times count the unit from a start of their own, not from 1970.
        header: whether the first line names the columns; otherwise they are numbered from 0.
        delimiter: separator of the columns, or ``blanks`` for runs of blanks; None: as the file's name or its header
            says or, without one, its first rows.
        duplicates: ``drop`` or ``keep`` rows that repeat user, item and time.
        fold: name (number) of the column that says which rows are train, valid and test, for ``split=given``.
        valid: the file or files of the valid events, in the format of ``path``, which then holds those of train.
        test: the file or files of the test events.
        where: column -> the values whose rows are read, such as ``event: [purchase]``; users and items of other rows
            only are unknown.
        slates: a file of candidate lists, for ``retriever=given`` (see ``recx.parts.dataset.own_slates``).
        items: a table with one row per item: classes, lists of classes, texts, numbers, times and an embedding in
            columns e0, e1 and so on (see ``recx.storage.readers.attributes``); named like ``path``.
        items_id: its column of ids; None: the one named like ``item``, or the only one whose name says so.
        items_as: column -> kind (number, class, classes, text, time, none) of columns that would be read otherwise.
        items_embedding: a ``.npy`` file with a vector for each row of ``items``.
        users: a table with one row per user, like ``items``.
        users_id: its column of ids.
        users_as: column -> kind, like ``items_as``.
        format: the well-known format that the files must have (see ``recx.parts.dataset.known_files``), so that those
            of another are not read by its columns; None: any.
    """

    files: ClassVar = ("path", "valid", "test", "slates", "items", "items_embedding", "users")
    """The settings that name files (see ``recx.storage.cache.keys``)."""

    path: Paths | None = None
    user: Column = "user"
    item: Column = "item"
    time: Column | None = AUTO
    order: EventOrder = "auto"
    seed: Seed = 0
    weight: Column | None = AUTO
    time_unit: TimeUnit = "ms"
    time_offset: Column | None = None
    relative_times: bool = False
    header: bool = True
    delimiter: Delimiter | None = None
    duplicates: Duplicates = "drop"
    fold: Column | None = None
    valid: Paths | None = None
    test: Paths | None = None
    where: Mapping[str, Any] | None = None
    slates: str | None = None
    items: Paths | None = None
    items_id: str | None = None
    items_as: Mapping[str, Kind] | None = None
    items_embedding: str | None = None
    users: Paths | None = None
    users_id: str | None = None
    users_as: Mapping[str, Kind] | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        check(self, "dataset")
        if self.format is not None and self.format not in formats():
            raise InputError(f"dataset.format={self.format}: there is none; {did_you_mean(self.format, formats())}")
        if self.user == "" or self.item == "":
            raise InputError("dataset.user and dataset.item must name columns, such as dataset.user=user_id")
        if self.fold is not None and (self.valid or self.test):
            raise InputError(
                "dataset.fold names a column that says what is train, valid and test, and dataset.valid or "
                "dataset.test a file of its own: give one or the other"
            )
        used: dict[Column, str] = {}
        if self.time_offset is not None and self.time is None:
            raise InputError("dataset.time_offset is added to the times, and dataset.time=null says there are none")
        for role in NAMED:
            name = getattr(self, role)
            if name in (None, AUTO):
                continue
            check_column(role, name, self.header)
            if used.setdefault(name, role) != role:
                raise InputError(f"dataset.{role}={name}: dataset.{used[name]} names this column already: name another")
        for column, role in used.items():
            if str(column) in self._where:
                raise InputError(f"dataset.where.{column}: it is the column of dataset.{role}: choose a filter instead")

    @property
    def _where(self) -> dict[str, tuple[str, ...]]:
        return values_of(self.where or {})

    def load(self) -> Interactions:
        """Return the events. Ids are whole numbers if the whole column is, else text.

        Rows that repeat the header, where files were joined, are left out and counted (``repeated_headers``). So are
        rows with a weight of 0 or less (``rows_of_weight_0``); those of a rating that is not read are counted only
        (``rows_with_unread_weight``). ``files`` and ``files_skipped`` count the parts of a table, and the hidden files
        and marks beside them. ``rows_not_where`` counts the rows that ``where`` leaves unread.

        Raises:
            InputError: no path is set, or the files cannot be used.
        """
        notes: Counter[str] = Counter()
        needed = {role: str(x) for role in NAMED if (x := getattr(self, role)) not in (None, AUTO)}
        source = self._opened(require_files(self.path, "clicks.csv"), needed, notes)
        names, unit = self._found(source, needed, notes)
        clock = exact_times(unit, self.relative_times)
        kinds = dict(zip(NAMED, ("id", "id", clock, "number", "text", "double"), strict=True))
        chosen = {role: (name, kinds[role]) for role, name in names.items()}
        release(source, [*self._where, *names.values()])
        columns = self._read(source, chosen, notes)
        others = {fold: path for fold in ("valid", "test") if (path := getattr(self, fold)) is not None}
        if others:
            tables = {"train": columns}
            for fold, path in others.items():
                other = self._opened(files_of(path, f"dataset.{fold}"), needed, notes)
                tables[fold] = self._read(other, chosen, notes, may_lack=True)
            columns = joined(tables)
        if OFFSET in columns:
            columns["time"] = later(columns["time"], columns.pop(OFFSET))
        try:
            events = interactions_of(
                columns, self.duplicates, order=self.order, seed=self.seed, relative_times=self.relative_times
            )
        except InputError as error:
            raise InputError(f"{source.path}{' and the files beside it' if others else ''}: {error}") from error
        events = described(replace(events, notes={**events.notes, **notes}), self._descriptions())
        return events if self.slates is None else with_slates(events, expand_home(self.slates))

    def _descriptions(self) -> list[Description]:
        if self.items_embedding and not self.items:
            raise InputError("dataset.items_embedding is set, and dataset.items is not: name the table of its rows")
        of_items = Description("items", self.items, self.items_id, str(self.item), self.items_as, self.items_embedding)
        of_users = Description("users", self.users, self.users_id, str(self.user), self.users_as)
        return [table for table in (of_items, of_users) if table.paths]

    def _opened(self, files: FileSet, names: Mapping[str, str], notes: Counter[str]) -> Source:
        if self.format is not None:
            require_format(files.paths, self.format)
        source = opened(files, Layout(self.delimiter, self.header), list(names.values()))
        if len(files.paths) > 1 or files.skipped:
            notes.update({"files": len(files.paths), "files_skipped": files.skipped})
        if not self.header:
            _refuse_header(source, names)
        return source

    def _read(
        self, source: Source, chosen: Mapping[str, tuple[str, str]], notes: Counter[str], *, may_lack: bool = False
    ) -> dict[str, Array]:
        """Return the columns by role, of the rows that are asked for (see ``rows_where``)."""
        counted: dict[str, int] = {}
        columns = read(source, {**dict(chosen.values()), **dict.fromkeys(self._where, "text?")}, notes=counted)
        notes.update(counted)
        by_role = {role: columns[name] for role, (name, _) in chosen.items()}
        if not self._where:
            return by_role
        for name in self._where:
            if name not in columns:
                near = did_you_mean(name, columns_of(source, dict(chosen.values())))
                raise InputError(f"{source.path}: dataset.where names a column {name!r}, and there is none: {near}")
        of_where = {name: columns[name] for name in self._where}
        rows = rows_where(of_where, self._where, str(source.path), may_lack=may_lack)
        notes.update(rows_not_where=int((~rows).sum()))
        return {role: column[rows] for role, column in by_role.items()}

    def _found(self, source: Source, names: dict[str, str], notes: Counter[str]) -> tuple[dict[str, str], str]:
        """Return role -> column, and the unit of the times."""
        unit: str = self.time_unit
        if AUTO not in (self.time, self.weight):
            return names, unit
        present = columns_of(source, names.values())
        if not set(names.values()) <= set(present):
            return names, unit  # an error names the missing one
        others = [name for name in present if name not in (*names.values(), *self._where)]
        kinds = looked_at(others) if self.header else dict.fromkeys(others, "number?")
        kinds |= {name: _KINDS[role] for role, name in names.items()} | dict.fromkeys(self._where, "text?")
        parse(source, {name: kind for name, kind in kinds.items() if present.count(name) == 1})
        time, weight = names.get("time"), names.get("weight")
        if self.time == AUTO:
            time, dated = times_of(source, others, unit, self.relative_times)
            unit = unit if self.relative_times else dated
        if self.weight == AUTO:
            unnamed = [name for name in others if name != time]
            if self.header:
                weight, more = weights_of(source, unnamed)
                notes.update(more)
            else:
                refuse_unread_zeros(source, unnamed)
        return {**names, **{role: name for role, name in (("time", time), ("weight", weight)) if name}}, unit


def check_column(role: str, name: Column, header: bool) -> None:
    """Check that a column is named where a header names it, and numbered where there is none.

    Raises:
        InputError: It is not.
    """
    if header and isinstance(name, int):
        raise InputError(
            f"dataset.{role}={name}: columns are numbered in files without a header: set dataset.header=false, or, if "
            f"the header calls the column so, write \"dataset.{role}='{name}'\""
        )
    if not header and not isinstance(name, int):
        raise InputError(
            f"dataset.{role}={name}: without a header, columns are numbered from 0: set it to a number, such as "
            f"dataset.{role}={NAMED.index(role)}"
        )


def _refuse_header(source: Source, names: Mapping[str, str]) -> None:
    """Refuse a file whose first row names its columns."""
    rows = first_rows(source, 1 << 16)
    if not rows.num_rows:
        return
    user, item = (str(rows.column(names[role])[0].as_py()) for role in ("user", "item"))
    if recognised(USERS, [user]) and recognised(ITEMS, [item]):
        raise InputError(
            f"{source.files[0].path}, row 1: it names the columns ({user}, {item}), and dataset.header=false is for "
            "files whose first row does not: leave it out, and name the columns as the file does"
        )
