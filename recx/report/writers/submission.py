"""A file of guesses for a competition: one row a user, always k different items."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recx.core.bounds import PositiveInt, check
from recx.core.errors import InputError
from recx.core.progress import say
from recx.core.system.atomic import replacing
from recx.core.types import Array, Ints
from recx.experiment.experiment import Result


@dataclass(frozen=True)
class Submission:
    """Writes ``submission.csv``: the user's raw id, then the k best items.

    k: items a row. user: name of the user column. item: what the item columns' names start with (then 1 to k).
    """

    k: PositiveInt = 5
    user: str = "user_id"
    item: str = "article_"

    def __post_init__(self) -> None:
        check(self, "report")

    def write(self, result: Result, folder: Path) -> Path:
        """Write one row for each user that ``to_predict`` names, in its order (each request, where it names none).

        A list shorter than k is filled up with the most clicked items of the history that it lacks.

        Raises:
            InputError: the catalogue has fewer than k items.
        """
        import pandas as pd

        interactions = result.interactions
        if interactions.n_items < self.k:
            raise InputError(
                f"report.k={self.k}: a row needs {self.k} different items, and the catalogue has only "
                f"{interactions.n_items}: choose report.k={interactions.n_items}"
            )
        named = interactions.to_predict if result.experiment.fold == "predict" else None
        users = result.recommendations.user if named is None else named
        shown = self._shown(result, users)
        short = (shown < 0).any(axis=1)
        shown[short] = _filled(shown[short], most_clicked(result.split.fold.history.clicks, self.k))

        table = pd.DataFrame({self.user: interactions.users.ids[users]})
        for place in range(self.k):
            table[f"{self.item}{place + 1}"] = interactions.items.ids[shown[:, place]]
        path = folder / "submission.csv"
        with replacing(path) as temporary:
            table.to_csv(temporary, index=False)
        say(f"{path.name}: {len(users):,} rows, {int(short.sum()):,} of them filled up with the most clicked items")
        return path

    def _shown(self, result: Result, users: Ints) -> Ints:
        """Return the first k items of each user [n, k], -1 where the list is shorter."""
        lists = result.recommendations.top(self.k)
        table = np.full((lists.n_lists + 1, self.k), -1, dtype=np.int32)  # the last row: a user without a list
        table[lists.list_of_row, lists.rank - 1] = lists.item
        place = np.searchsorted(lists.user, users)
        known = np.append(lists.user, -1)[place] == users
        return table[np.where(known, place, lists.n_lists)]


def most_clicked(clicks: Array, k: int) -> Array:
    """Return the k items with the most clicks [k], the lower number first where they are equal."""
    return np.argsort(-clicks, kind="stable")[:k]


def _filled(shown: Ints, popular: Array) -> Ints:
    """Fill the gaps (-1) of short lists [n, k] with the popular items [k] that they lack, in order."""
    there = (shown[:, :, None] == popular).any(axis=1)
    pool = np.concatenate([shown, np.where(there, -1, popular)], axis=1)
    first = np.argsort(pool < 0, axis=1, kind="stable")[:, : shown.shape[1]]
    return np.take_along_axis(pool, first, axis=1).astype(np.int32)
