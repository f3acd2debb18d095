"""The features of some users' candidates, computed anew: what the ranker saw of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recx.design import design_matrix, names_of
from recx.experiment import Result
from recx.explanation import linear_of
from recx.types import Array, Doubles, Floats, Longs, RankedLists


@dataclass(frozen=True, eq=False)
class Sampled:
    """lists: places among the requests, increasing. matrix: [n_rows, n_names] of their candidates.

    mean, slope: of the linear ranker [n_names]; a row's score is the sum of ``(row - mean) * slope``. None where the
    ranker is another.
    """

    lists: Longs
    candidates: RankedLists
    names: tuple[str, ...]
    matrix: Floats
    mean: Doubles | None
    slope: Doubles | None

    @classmethod
    def of(cls, result: Result, folder: Path, lists: Longs) -> Sampled | None:
        """Compute the features of these lists' candidates; None where the ranker goes by none."""
        settings, fold = result.experiment.ranker, result.split.fold
        features = getattr(settings, "features", None)
        if not features or not len(lists):
            return None
        names = names_of(features, result.candidates)
        candidates = result.candidates.take(lists)
        matrix = design_matrix(features, candidates, fold.history, fold.requests[lists])
        ranker = linear_of(folder, settings)
        if ranker is None or ranker.names != names:
            return cls(lists, candidates, names, matrix, None, None)
        return cls(lists, candidates, names, matrix, ranker.mean, ranker.weight / ranker.deviation)

    def rows(self, place: int) -> slice:
        """Return the rows of the list at a place among the requests."""
        at = int(np.searchsorted(self.lists, place))
        return slice(int(self.candidates.indptr[at]), int(self.candidates.indptr[at + 1]))

    def contributions(self, place: int, items: Array) -> Doubles | None:
        """Return the parts of the scores of these candidates of a list [n_items, n_names]; None without weights."""
        if self.mean is None or self.slope is None:
            return None
        rows = self.rows(place)
        at = [int(np.flatnonzero(self.candidates.item[rows] == item)[0]) for item in items]
        parts: Doubles = (self.matrix[rows][at].astype(np.float64) - self.mean) * self.slope
        return parts
