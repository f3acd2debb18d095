"""Any file of interactions, with the columns that the user names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Predicate, doc

from recx.core.bounds import Seed, check
from recx.core.errors import InputError
from recx.core.event_frame import Duplicates
from recx.core.event_order import EventOrder
from recx.core.types import Interactions
from recx.parts.dataset.events import interactions_of
from recx.parts.dataset.files import require_path
from recx.parts.dataset.table_columns import AUTO, times_of, weights_of
from recx.storage.readers.tables import Source, columns_of, read, settled
from recx.storage.readers.times import TimeUnit, exact_times


def _separates(text: str) -> bool:
    return text in ("\\t", "::") or (len(text) == 1 and text.isascii() and text not in '"\r\n')


Delimiter = Annotated[str, Predicate(_separates), doc("one character (ASCII, no quote), '\\t' or '::'")]

ROLES = ("user", "item", "time", "weight")


@dataclass(frozen=True)
class Table:
    """A table with one row per event, in CSV, TSV or Parquet, plain or gzipped.

    Attributes:
        path: the file.
        user: name of the column of users.
        item: name of the column of items.
        time: name of the column of times; ``auto``: the one that is called time, timestamp, date or the like; None: the
            rows have no times.
        order: of events without times. ``given``: the rows are in the order of time; ``none``: they have no order, and
            get a random one; ``auto``: ``given``, but an error if they are sorted by item.
        seed: seed of the random order.
        weight: name of the column of weights; ``auto``: one that says what was chosen, such as a label of 0 and 1;
            None: 1 for every event. A row with a weight of 0 or less is no event.
        time_unit: unit of the times: d, h, m, s, ms, us or ns; iso (dates), dmy or mdy (dates with the day or the month
            first), or excel (days of a spreadsheet). A Parquet timestamp has its own unit. With ``time=auto`` dates
            show their unit, if none but ms is set.
        relative_times: the times count the unit from a start of their own, not from 1970.
        delimiter: separator of the columns; None: as the file's name or its header says.
        duplicates: ``drop`` or ``keep`` rows that repeat user, item and time.
    """

    path: str | None = None
    user: str = "user"
    item: str = "item"
    time: str | None = AUTO
    order: EventOrder = "auto"
    seed: Seed = 0
    weight: str | None = AUTO
    time_unit: TimeUnit = "ms"
    relative_times: bool = False
    delimiter: Delimiter | None = None
    duplicates: Duplicates = "drop"

    def __post_init__(self) -> None:
        check(self, "dataset")
        if not self.user or not self.item:
            raise InputError("dataset.user and dataset.item must name columns, such as dataset.user=user_id")
        used: dict[str, str] = {}
        for role in ROLES:
            name = getattr(self, role)
            if name not in (None, AUTO) and used.setdefault(name, role) != role:
                raise InputError(f"dataset.{role}={name}: dataset.{used[name]} names this column already: name another")

    def load(self) -> Interactions:
        """Return the events. Ids are whole numbers if the whole column is, else text.

        Rows that repeat the header, where files were joined, are left out and counted (``repeated_headers``). So are
        rows with a weight of 0 or less (``rows_of_weight_0``); those of a rating that is not read are counted only
        (``rows_with_unread_weight``).

        Raises:
            InputError: no path is set, or the file cannot be used.
        """
        delimiter = "\t" if self.delimiter == "\\t" else self.delimiter  # as a shell passes it
        source = Source(require_path(self.path, "clicks.csv"), delimiter, setting="dataset.delimiter")
        notes: dict[str, int] = {}
        names, unit = self._found(source, notes)
        clock = exact_times(unit, self.relative_times)
        kinds = dict(zip(ROLES, ("id", "id", clock, "number"), strict=True))
        columns = read(source, {name: kinds[role] for role, name in names.items()}, notes=notes)
        by_role = {role: columns.pop(name) for role, name in names.items()}
        try:
            events = interactions_of(
                by_role, self.duplicates, order=self.order, seed=self.seed, relative_times=self.relative_times
            )
        except InputError as error:
            raise InputError(f"{source.path}: {error}") from error
        return replace(events, notes={**events.notes, **notes})

    def _found(self, source: Source, notes: dict[str, int]) -> tuple[dict[str, str], str]:
        """Return role -> column, and the unit of the times."""
        names: dict[str, str] = {role: name for role in ROLES if (name := getattr(self, role)) not in (None, AUTO)}
        unit: str = self.time_unit
        if AUTO not in (self.time, self.weight):
            return names, unit
        present = columns_of(source, names.values())
        if not set(names.values()) <= set(present):
            return names, unit  # an error names the missing one
        source = settled(source, names.values())
        others = [name for name in present if name not in names.values()]
        time, weight = names.get("time"), names.get("weight")
        if self.time == AUTO:
            time, dated = times_of(source, others, unit, self.relative_times)
            unit = unit if self.relative_times else dated
        if self.weight == AUTO:
            weight, more = weights_of(source, [name for name in others if name != time])
            notes |= more
        return {**names, **{role: name for role, name in (("time", time), ("weight", weight)) if name}}, unit
