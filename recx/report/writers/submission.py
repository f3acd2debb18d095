"""A file of predictions for a competition: one row per user, always k different items."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recx.core.bounds import PositiveInt, checked
from recx.core.errors import InputError
from recx.core.progress import say
from recx.core.system.atomic import replacing
from recx.core.types import Array, Ints
from recx.experiment.experiment import Result


@dataclass(frozen=True)
@checked("report")
class Submission:
    """Writes ``submission.csv``: the user's raw id, then the k best items.

    Attributes:
        k: Items per row.
        user: Name of the user column.
        item: Prefix of the item columns, which are numbered from 1 to k.
    """

    k: PositiveInt = 5
    user: str = "user_id"
    item: str = "article_"

    def write(self, result: Result, folder: Path) -> Path:
        """Write one row per user of ``to_predict``, in its order (without it, one per request).

        A list shorter than k is filled up with the most clicked items of the history that are not in it.

        Args:
            result: The run.
            folder: Where to write.

        Returns:
            Path of the file.

        Raises:
            InputError: The catalogue has fewer than k items.
        """
        import pandas as pd

        interactions = result.interactions
        if interactions.n_items < self.k:
            raise InputError(
                f"report.k={self.k}: a row needs {self.k} different items, and the catalogue has only "
                f"{interactions.n_items}: choose report.k={interactions.n_items}"
            )
        to_predict = interactions.to_predict if result.experiment.fold == "predict" else None
        users = result.recommendations.user if to_predict is None else to_predict
        shown = self._shown(result, users)
        short = (shown < 0).any(axis=1)
        shown[short] = _filled(shown[short], most_clicked(result.split.fold.history.clicks, self.k))

        table = pd.DataFrame({self.user: interactions.users.ids[users]})
        for n, column in enumerate(shown.T, start=1):
            table[f"{self.item}{n}"] = interactions.items.ids[column]
        path = folder / "submission.csv"
        with replacing(path) as temporary:
            table.to_csv(temporary, index=False)
        say(f"{path.name}: {len(users):,} rows, {int(short.sum()):,} of them filled up with the most clicked items")
        return path

    def _shown(self, result: Result, users: Ints) -> Ints:
        """Return the first k items of each user [n, k], -1 beyond the end of a shorter list."""
        lists = result.recommendations.top(self.k)
        table = np.full((lists.n_lists + 1, self.k), -1, dtype=np.int32)  # the last row is for users without a list
        table[lists.list_of_row, lists.rank - 1] = lists.item
        place = np.searchsorted(lists.user, users)
        known = np.append(lists.user, -1)[place] == users
        return table[np.where(known, place, lists.n_lists)]


def most_clicked(clicks: Array, k: int) -> Array:
    """Return the k items with the most clicks [k]; of equal ones, those with lower indices."""
    return np.argsort(-clicks, kind="stable")[:k]


def _filled(shown: Ints, popular: Array) -> Ints:
    """Fill the gaps (-1) of short lists [n, k] with the popular items [k] that are not in them, in order."""
    there = (shown[:, :, None] == popular).any(axis=1)
    pool = np.concatenate([shown, np.where(there, -1, popular)], axis=1)
    first = np.argsort(pool < 0, axis=1, kind="stable")[:, : shown.shape[1]]
    return np.take_along_axis(pool, first, axis=1).astype(np.int32)
