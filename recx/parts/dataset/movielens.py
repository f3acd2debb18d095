"""MovieLens ratings in the formats that go round: u.data, ratings.dat, ratings.csv and RecBole's typed .inter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from recx.core.bounds import check
from recx.core.errors import InputError, did_you_mean
from recx.core.types import Interactions
from recx.parts.dataset.events import Duplicates, interactions_of, require_path
from recx.storage.readers.columns import TimeUnit
from recx.storage.readers.tables import Source, read, readable

NAMES = ("user", "item", "weight", "time")
"""What every format's four columns are, in order."""

_RECBOLE = ("user_id:token", "item_id:token", "rating:float", "timestamp:float")
_CSV = ("userId", "movieId", "rating", "timestamp")


@dataclass(frozen=True)
class MovieLens:
    """Ratings with times; the rating is the event's weight. https://grouplens.org/datasets/movielens/

    path: the file, or a folder that holds one.
    min_rating: ratings below this are left out, counted in ``rows_below_min_rating``; None: all are kept.
    time_unit: what the times count: s as in all of MovieLens, ms, us, ns or iso (dates).
    duplicates: ``drop`` or ``keep`` rows that repeat user, movie and time.
    """

    path: str | None = None
    min_rating: float | None = None
    time_unit: TimeUnit = "s"
    duplicates: Duplicates = "drop"

    def __post_init__(self) -> None:
        check(self, "dataset")

    def load(self) -> Interactions:
        """Return the ratings, times in ms.

        Raises:
            InputError: no path is set, there is no ratings file, or it cannot be used.
        """
        path = _ratings_file(require_path(self.path, "ml-100k/u.data"))
        source, names = _format_of(path)
        kinds = dict(zip(names, ("id", "id", "number", self.time_unit), strict=True))
        table = read(source, kinds)
        columns = {role: table[name] for role, name in zip(NAMES, names, strict=True)}
        low = np.zeros(len(columns["user"]), bool) if self.min_rating is None else columns["weight"] < self.min_rating
        if low.all():
            raise InputError(f"{path}: no rating reaches dataset.min_rating={self.min_rating}: lower it")
        events = interactions_of({role: values[~low] for role, values in columns.items()}, self.duplicates)
        return replace(events, notes={**events.notes, "rows_below_min_rating": int(low.sum())})


def _ratings_file(path: Path) -> Path:
    with readable(path):
        if not path.is_dir():
            return path
        names = sorted(p.name for p in path.iterdir())
    found = [name for name in names if _is_ratings(name)]
    if len(found) != 1:
        what = f"several ratings files ({', '.join(found)})" if found else "no ratings file"
        raise InputError(
            f"dataset.path={path}: the folder holds {what}: name one; {did_you_mean('ratings.csv', names)}"
        )
    return path / found[0]


def _is_ratings(name: str) -> bool:
    plain = name.removesuffix(".gz")
    return plain in ("u.data", "ratings.dat", "ratings.csv") or plain.endswith(".inter")


def _format_of(path: Path) -> tuple[Source, tuple[str, ...]]:
    plain = path.name.removesuffix(".gz")
    if plain.endswith(".inter"):
        return Source(path, "\t"), _RECBOLE
    if plain.endswith(".csv"):
        return Source(path, ","), _CSV
    return Source(path, "::" if plain.endswith(".dat") else "\t", NAMES), NAMES
