"""What was shown, with the predicted probability of a click and whether there was one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.types import Bools, Doubles, Longs
from recx.evaluation.metrics.classification import is_relevant, probabilities


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of all lists.

    Attributes:
        p: The predicted probabilities [n].
        clicked: Which rows were clicked [n].
        user: The user, from 0, of each row [n]: intervals are over users, whose rows belong together.
        n_users: Number of users, with or without rows.
    """

    p: Doubles
    clicked: Bools
    user: Longs
    n_users: int

    @classmethod
    def of(cls, judged: JudgedLists) -> Rows:
        """Return the rows of judged lists.

        Raises:
            InputError: A score is outside [0, 1], or all rows were clicked, or none.
        """
        clicked, n = is_relevant(judged), len(judged.lists)
        hits = int(np.count_nonzero(clicked))
        if not 0 < hits < n:
            raise InputError(
                f"evaluator=ctr needs rows that were clicked and rows that were not, and {hits:,} of the {n:,} rows "
                "shown were: judge lists that show both, such as slates (retriever=given), or choose evaluator=default"
            )
        p = probabilities(judged, "evaluator=ctr").astype(np.float64)
        return cls(p, clicked, judged.lists.list_of_row, judged.n_users)

    def __len__(self) -> int:
        return len(self.p)

    def by_user(self, values: Doubles | Bools) -> Doubles:
        """Return the sum of values [n] of each user [n_users]."""
        return np.bincount(self.user, weights=values, minlength=self.n_users).astype(np.float64, copy=False)

    @cached_property
    def rows_of_user(self) -> Doubles:
        """Number of rows of each user [n_users]."""
        return np.bincount(self.user, minlength=self.n_users).astype(np.float64)

    @cached_property
    def click_rate(self) -> float:
        """The share of the rows that were clicked."""
        return float(self.clicked.mean())
