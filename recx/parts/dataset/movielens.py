"""MovieLens ratings in their usual formats: u.data, ratings.dat, ratings.csv and RecBole's typed .inter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from recx.core.bounds import checked
from recx.core.errors import InputError, did_you_mean
from recx.core.event_frame import Duplicates
from recx.core.nouns import Nouns
from recx.core.types import Interactions
from recx.parts.dataset.descriptions import described
from recx.parts.dataset.events import interactions_of
from recx.parts.dataset.files import require_path
from recx.parts.dataset.movies import Movies
from recx.storage.readers.content import readable
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import read
from recx.storage.readers.times import TimeUnit, exact_times

NAMES = ("user", "item", "weight", "time")
"""The four columns of every format, in order."""

_RECBOLE = ("user_id:token", "item_id:token", "rating:float", "timestamp:float")
_CSV = ("userId", "movieId", "rating", "timestamp")


@dataclass(frozen=True)
@checked("dataset")
class MovieLens:
    """Ratings with times; the rating is the event's weight. https://grouplens.org/datasets/movielens/

    Attributes:
        path: the file, or a folder that holds one.
        min_rating: ratings below this are left out and counted (``rows_below_min_rating``); None: all are kept.
        time_unit: unit of the times: s as in all of MovieLens, or another (see ``Table``).
        relative_times: the times count the unit from a start of their own, not from 1970.
        duplicates: ``drop`` or ``keep`` rows that repeat user, movie and time.
        items: the films with their titles and genres (see ``recx.parts.dataset.movies``); None: they are not read.
    """

    nouns: ClassVar = Nouns("user", "users", "movie", "movies")
    reads: ClassVar = ("u.data", "ratings.dat", "ratings.csv", "*.inter")
    """The files in a folder that count (see ``recx.storage.cache.keys``)."""
    files: ClassVar = ("items",)

    path: str | None = None
    min_rating: float | None = None
    time_unit: TimeUnit = "s"
    relative_times: bool = False
    duplicates: Duplicates = "drop"
    items: str | None = None

    def load(self) -> Interactions:
        """Return the ratings, times in ms.

        Raises:
            InputError: no path is set, there is no ratings file, or it cannot be used.
        """
        path = _ratings_file(require_path(self.path, "ml-100k/u.data"))
        source, names = _format_of(path)
        notes: dict[str, int] = {}
        clock = exact_times(self.time_unit, self.relative_times)
        table = read(source, dict(zip(names, ("id", "id", "number", clock), strict=True)), notes=notes)
        columns = {role: table.pop(name) for role, name in zip(NAMES, names, strict=True)}
        low = columns["weight"] < (-np.inf if self.min_rating is None else self.min_rating)
        if low.all():
            raise InputError(f"{path}: no rating reaches dataset.min_rating={self.min_rating}: lower it")
        if low.any():
            columns = {role: values[~low] for role, values in columns.items()}
        events = interactions_of(columns, self.duplicates, relative_times=self.relative_times)
        events = replace(events, notes={**events.notes, **notes, "rows_below_min_rating": int(low.sum())})
        return described(events, [Movies(self.items, names[1])] if self.items else [])


def _ratings_file(path: Path) -> Path:
    with readable(path):
        if not path.is_dir():
            return path
        names = sorted(p.name for p in path.iterdir())
    found = [name for name in names if _is_ratings(name.removesuffix(".gz"))]
    if len(found) != 1:
        what = f"several ratings files ({', '.join(found)})" if found else "no ratings file"
        raise InputError(
            f"dataset.path={path}: the folder holds {what}: name one; {did_you_mean('ratings.csv', names)}"
        )
    return path / found[0]


def _is_ratings(name: str) -> bool:
    return name in ("u.data", "ratings.dat", "ratings.csv") or name.endswith(".inter")


def _format_of(path: Path) -> tuple[Source, tuple[str, ...]]:
    match path.name.removesuffix(".gz").rpartition(".")[2]:
        case "inter":
            return Source(path, "\t"), _RECBOLE
        case "csv":
            return Source(path, ","), _CSV
        case ending:
            return Source(path, "::" if ending == "dat" else "\t", NAMES), NAMES
