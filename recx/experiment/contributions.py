"""The contributions of features to a run's scores, those of collinear features added up: one alone says nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recx.core.fit_summary import summary_of
from recx.core.protocols import Explainable
from recx.core.types import Doubles, Interactions, RankedLists, Requests

PLUS = " + "
"""Between the names of features whose contributions are added up."""


@dataclass(frozen=True)
class AddedUp:
    """An explainable ranker whose collinear features count as one.

    Attributes:
        ranker: The ranker.
    """

    ranker: Explainable

    @cached_property
    def _columns(self) -> dict[str, list[int]]:
        """Name -> the features that it stands for, in the order of the first ones."""
        group_of = {name: tuple(group) for group in summary_of(self.ranker).collinear for name in group}
        columns: dict[str, list[int]] = {}
        for at, name in enumerate(self.ranker.names):
            columns.setdefault(PLUS.join(group_of.get(name, (name,))), []).append(at)
        return columns

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features, and of groups: ``a + b``."""
        return tuple(self._columns)

    def contributions(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Doubles:
        """Return the contribution of each feature or group to the score of each row [n_rows, n_names]."""
        table = self.ranker.contributions(candidates, history, requests)
        return np.stack([table[:, features].sum(axis=1) for features in self._columns.values()], axis=1)
