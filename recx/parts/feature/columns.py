"""The columns that the data provides for each candidate.

Known: what the data says of each candidate, whenever it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recx.core.errors import InputError
from recx.core.types import Floats, Interactions, RankedLists, Requests


@dataclass(frozen=True)
class Columns:
    """All columns of the candidates, each a feature of the same name."""

    def names(self, candidates: RankedLists) -> Sequence[str]:
        """Return the names of the columns.

        Raises:
            InputError: The candidates have no columns.
        """
        if not candidates.columns:
            raise InputError(
                "feature=columns: the candidates have no columns: choose dataset=svmlight or samples with "
                "retriever=given, name some by dataset.features (dataset=impressions), or choose another set of "
                "features, such as feature=documents for texts"
            )
        return tuple(candidates.columns)

    def fit(self, history: Interactions) -> Columns:
        return self  # the history decides nothing

    def __call__(self, candidates: RankedLists, requests: Requests) -> Floats:
        return np.column_stack([candidates.columns[name] for name in self.names(candidates)])
