"""Any file of interactions whose columns are named by the user: the general door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Predicate, doc

from recx.core.bounds import check
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.events import Duplicates, interactions_of, require_path
from recx.storage.readers.columns import TimeUnit
from recx.storage.readers.tables import Source, read


def _separates(text: str) -> bool:
    return text in ("\\t", "::") or (len(text) == 1 and text.isascii() and text not in '"\r\n')


Delimiter = Annotated[str, Predicate(_separates), doc("one character (ASCII, no quote), '\\t' or '::'")]


@dataclass(frozen=True)
class Table:
    """One row an event, in CSV, TSV or Parquet, plain or gzipped.

    user, item, time, weight: names of the columns; without time the rows' order is the order of time.
    time_unit: what the times count: ms, s, us, ns or iso (dates; a Parquet timestamp knows its own unit).
    delimiter: what stands between the columns; None: as the file's name or its header says.
    duplicates: ``drop`` or ``keep`` rows that repeat user, item and time.
    """

    path: str | None = None
    user: str = "user"
    item: str = "item"
    time: str | None = None
    weight: str | None = None
    time_unit: TimeUnit = "ms"
    delimiter: Delimiter | None = None
    duplicates: Duplicates = "drop"

    def __post_init__(self) -> None:
        check(self, "dataset")
        if not self.user or not self.item:
            raise InputError("dataset.user and dataset.item must name columns, such as dataset.user=user_id")
        used: dict[str, str] = {}
        for role, name in (("user", self.user), ("item", self.item), ("time", self.time), ("weight", self.weight)):
            if name is not None and used.setdefault(name, role) != role:
                raise InputError(f"dataset.{role}={name}: dataset.{used[name]} names this column already: name another")

    def load(self) -> Interactions:
        """Return the events. Ids stay whole numbers where the whole column is written so, else they are text.

        Raises:
            InputError: no path is set, or the file cannot be used.
        """
        roles = {"user": (str(self.user), "id"), "item": (str(self.item), "id")}
        if self.time is not None:
            roles["time"] = (str(self.time), self.time_unit)
        if self.weight is not None:
            roles["weight"] = (str(self.weight), "number")
        delimiter = "\t" if self.delimiter == "\\t" else self.delimiter  # as a shell hands it over
        source = Source(require_path(self.path, "clicks.csv"), delimiter)
        columns = read(source, dict(roles.values()))
        return interactions_of({role: columns[name] for role, (name, _) in roles.items()}, self.duplicates)
