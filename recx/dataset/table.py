"""Any file of interactions whose columns are named by the user: the general door."""

from __future__ import annotations

from dataclasses import dataclass

from recx.dataset.events import Duplicates, check_choice, check_time_unit, interactions_of, require_path
from recx.errors import InputError
from recx.reading import Source, read
from recx.types import Interactions


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
    time_unit: str = "ms"
    delimiter: str | None = None
    duplicates: Duplicates = "drop"

    def __post_init__(self) -> None:
        check_time_unit(self.time_unit)
        check_choice("dataset.duplicates", self.duplicates, ("drop", "keep"))
        if not self.user or not self.item:
            raise InputError("dataset.user and dataset.item must name columns, such as dataset.user=user_id")
        if self.delimiter is not None and not self._is_mark(self.delimiter):
            raise InputError(
                f"dataset.delimiter={self.delimiter}: it must be one character (ASCII, no quote), '\\t' or '::'"
            )
        used: dict[str, str] = {}
        for role, name in (("user", self.user), ("item", self.item), ("time", self.time), ("weight", self.weight)):
            if name is not None and used.setdefault(name, role) != role:
                raise InputError(f"dataset.{role}={name}: dataset.{used[name]} names this column already: name another")

    @staticmethod
    def _is_mark(delimiter: str) -> bool:
        return delimiter in ("\\t", "::") or (len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n')

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
