"""The softmax cross-entropy of grouped candidates, and its derivatives.

For one user with scores s = X w and gains y >= 0 the loss is -sum_i y_i log softmax(s)_i, its gradient
X'(sum(y) p - y). The objective is the mean over users plus l2 |w|^2, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np

from recx.core.ragged import indptr_of, max_of_groups, sum_of_groups
from recx.core.system.threads import side_by_side
from recx.core.types import Array, Doubles, Longs

CELLS = 400_000  # cells of the table converted to float64 at once: float32 is too coarse for a line search


B = TypeVar("B")


def evenly_spaced(blocks: Iterator[B], every: int) -> list[B]:
    """Return each ``every``-th block; nothing where that is all of them."""
    if every < 2:
        return []
    found = list(blocks)
    return found[::every] if len(found) > 1 else []


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss as a function of the weights.

    Attributes:
        table: The standardised features [n_rows, n_features].
        gain: Gain of each row [n_rows].
        indptr: Borders of the users' rows [n_users + 1].
        l2: Penalty on the squared weights.
    """

    table: Array
    gain: Doubles
    indptr: Longs
    l2: float

    @property
    def n_users(self) -> int:
        return len(self.indptr) - 1

    def least(self, non_negative: bool) -> Doubles:
        """Return the least value that each weight may take [n_features]: 0 or minus infinity."""
        return np.full(self.table.shape[1], 0.0 if non_negative else -np.inf)

    @cached_property
    def total_gain(self) -> Doubles:
        """Sum of each user's gains [n_users]."""
        return sum_of_groups(self.gain, self.indptr)

    def value_and_gradient(self, weights: Doubles) -> tuple[float, Doubles]:
        """Return the objective and its gradient [n_features]."""

        def sums(block: Objective) -> tuple[float, Doubles]:
            table, score, odds, total = block._softmax(weights)
            loss = float(block.total_gain @ np.log(total) - block.gain @ score)
            return loss, block._pull(odds, total) @ table

        losses, gradients = zip(*side_by_side(sums, self._blocks()), strict=True)
        value = sum(losses) / self.n_users + self.l2 * float(weights @ weights)
        return value, sum(gradients) / self.n_users + 2 * self.l2 * weights

    def gradient_of_users(self, weights: Doubles) -> Doubles:
        """Return the gradient of each user, with the penalty [n_users, n_features]; their mean is the gradient."""

        def gradients(block: Objective) -> Doubles:
            table, _, odds, total = block._softmax(weights)
            pull = block._pull(odds, total)
            return np.stack([sum_of_groups(pull * column, block.indptr) for column in table.T], axis=1)

        return np.concatenate(side_by_side(gradients, self._blocks())) + 2 * self.l2 * weights

    def sample(self, n_rows: int) -> Objective:
        """Return the objective of about ``n_rows`` rows from evenly spaced blocks of users, or itself if small."""
        chosen = evenly_spaced(self._blocks(), len(self.table) // n_rows)
        if not chosen:
            return self
        table, gain = (np.concatenate([getattr(block, name) for block in chosen]) for name in ("table", "gain"))
        indptr = indptr_of(np.concatenate([np.diff(block.indptr) for block in chosen]))
        return Objective(table, gain, indptr, self.l2)

    def of_each_user(self) -> list[Objective]:
        """Return the objective of each user alone [n_users]."""
        return [
            Objective(self.table[a:b], self.gain[a:b], np.array([0, b - a]), self.l2) for a, b in pairwise(self.indptr)
        ]

    def curvature(self, weights: Doubles) -> Doubles:
        """Return the Hessian [n_features, n_features]."""

        def sums(block: Objective) -> Doubles:
            table, _, odds, total = block._softmax(weights)
            share = odds / np.repeat(total, np.diff(block.indptr))
            shared = table * share[:, None]
            mean = np.stack([sum_of_groups(column, block.indptr) for column in shared.T], axis=1)
            shared *= np.repeat(block.total_gain, np.diff(block.indptr))[:, None]
            return np.asarray(table.T @ shared - (mean * block.total_gain[:, None]).T @ mean)

        total: Doubles = np.sum(side_by_side(sums, self._blocks()), axis=0)
        return total / self.n_users + 2 * self.l2 * np.eye(len(weights))

    def _softmax(self, weights: Doubles) -> tuple[Doubles, Doubles, Doubles, Doubles]:
        """Return the table as float64, the score of each row less its user's highest, its odds, and their sums."""
        table = self.table.astype(np.float64)
        score = table @ weights
        score -= np.repeat(max_of_groups(score, self.indptr), np.diff(self.indptr))
        odds = np.exp(score)
        return table, score, odds, sum_of_groups(odds, self.indptr)

    def _pull(self, odds: Doubles, total: Doubles) -> Doubles:
        """Return the derivative of the loss with respect to the score of each row [n_rows]."""
        return odds * np.repeat(self.total_gain / total, np.diff(self.indptr)) - self.gain

    def _blocks(self) -> Iterator[Objective]:
        """Yield the objectives of blocks of users that fit into the CPU cache."""
        rows = max(1, CELLS // max(1, self.table.shape[1]))
        borders = np.searchsorted(self.indptr, np.arange(0, len(self.table) + rows, rows))
        borders = np.unique(np.minimum(borders, self.n_users))
        for start, stop in pairwise(borders):
            first, last = self.indptr[start], self.indptr[stop]
            indptr = self.indptr[start : stop + 1] - first
            yield Objective(self.table[first:last], self.gain[first:last], indptr, self.l2)
