"""What the features contributed to the scores of some users' candidates, computed anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recx.core.types import Array, Doubles, Longs, RankedLists
from recx.experiment.experiment import Result
from recx.experiment.explain import explainable_of


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributions of features to scores.

    Attributes:
        lists: Places among the requests, increasing.
        candidates: Their candidates.
        names: The names of the features.
        table: The contributions to the candidates' scores [n_rows, n_names].
    """

    lists: Longs
    candidates: RankedLists
    names: tuple[str, ...]
    table: Doubles

    @classmethod
    def of(cls, result: Result, folder: Path, lists: Longs) -> Contributions | None:
        """Return those of these lists; None without lists, or where the ranker of the run explains no scores."""
        ranker, fold = explainable_of(folder, result.experiment.ranker), result.split.fold
        if ranker is None or not len(lists):
            return None
        candidates = result.candidates.take(lists)
        table = ranker.contributions(candidates, fold.history, fold.requests[lists])
        return cls(lists, candidates, tuple(ranker.names), table)

    def to(self, place: int, items: Array) -> Doubles:
        """Return the contributions to the scores of these candidates of a list [n_items, n_names]."""
        at = int(np.searchsorted(self.lists, place))
        rows = slice(int(self.candidates.indptr[at]), int(self.candidates.indptr[at + 1]))
        found = [int(np.flatnonzero(self.candidates.item[rows] == item)[0]) for item in items]
        parts: Doubles = self.table[rows][found]
        return parts
