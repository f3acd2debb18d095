"""The log loss of single rows, its derivatives, and what undoes the weights of classes and the sampling of negatives.

For a row with features x, score s = w . x + b and label y, 1 if it was clicked and else 0, the loss is
log(1 + exp(s)) - y s. The objective is its mean over the rows, by their weights, plus l2 |w|^2; the intercept b, the
last of the weights here, is not penalised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import expit

from recx.core.errors import InputError
from recx.core.ragged import indptr_of, sum_of_groups
from recx.core.system.threads import side_by_side
from recx.core.types import Array, Bools, Doubles, Longs
from recx.parts.ranker.softmax import CELLS, evenly_spaced

ClassWeight = Literal["balanced"] | float | None


@dataclass(frozen=True)
class Classes:
    """How much clicked rows and others count in a fit, as against the data.

    Attributes:
        clicked: Weight of a clicked row.
        other: Weight of any other row.
        share: Share of the other rows that the fit sees.
    """

    clicked: float
    other: float
    share: float

    @classmethod
    def of(cls, clicked: Bools, class_weight: ClassWeight, share: float) -> Classes:
        """Return the weights of the classes among these rows [n_rows].

        Args:
            clicked: Which rows were clicked.
            class_weight: None: 1; a number: that of a clicked row, 1 for any other; ``balanced``: rows of both
                classes / (2 x rows of the class), so that both classes count the same.
            share: Share of the other rows that these are.

        Raises:
            InputError: All rows were clicked, or none.
        """
        n, hits = len(clicked), int(np.count_nonzero(clicked))
        if not 0 < hits < n:
            raise InputError(
                f"ranker.loss=logistic learns from rows that were clicked and rows that were not, and {hits:,} of the "
                f"{n:,} candidates of the past fold were: give it lists that show both, such as slates, or choose "
                "ranker.loss=softmax"
            )
        if class_weight == "balanced":
            return cls(n / (2 * hits), n / (2 * (n - hits)), share)
        return cls(1.0 if class_weight is None else class_weight, 1.0, share)

    def weights(self, clicked: Bools) -> Doubles:
        """Return the weight of each row [n_rows]."""
        return np.where(clicked, self.clicked, self.other)

    @property
    def correction(self) -> float:
        """What must be added to a fitted intercept, so that probabilities are those of the data.

        The fit sees odds that are clicked / (share x other) times those of the data, and of a logistic model this
        changes the intercept alone: King and Zeng, Logistic Regression in Rare Events Data, Political Analysis 9
        (2001), section 4.1. For sampled negatives it is p / (p + (1 - p) / w), w the share: He et al., Practical
        Lessons from Predicting Clicks on Ads at Facebook, ADKDD (2014), section 6.3.
        """
        return float(np.log(self.share * self.other / self.clicked))


def kept_rows(clicked: Bools, share: float, seed: int) -> Bools:
    """Return which rows a fit sees [n_rows]: every clicked one, and a random share of the others."""
    return clicked | (np.random.default_rng([seed, 1]).random(len(clicked)) < share)


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss as a function of the weights and the intercept.

    Attributes:
        table: The standardised features [n_rows, n_features].
        clicked: 1 or 0 of each row [n_rows].
        weight: Weight of each row [n_rows].
        indptr: Borders of the users' rows [n_users + 1].
        l2: Penalty on the squared weights.
        per: What the sum of the losses is divided by: of all users, the sum of the weights.
    """

    table: Array
    clicked: Doubles
    weight: Doubles
    indptr: Longs
    l2: float
    per: float

    @classmethod
    def of(cls, table: Array, clicked: Bools, weight: Doubles, indptr: Longs, l2: float) -> Objective:
        """Return the objective of all users."""
        return cls(table, clicked.astype(np.float64), weight, indptr, l2, float(weight.sum()))

    @property
    def n_users(self) -> int:
        return len(self.indptr) - 1

    def least(self, non_negative: bool) -> Doubles:
        """Return the least value of each weight and of the intercept, which is free [n_features + 1]."""
        return np.append(np.full(self.table.shape[1], 0.0 if non_negative else -np.inf), -np.inf)

    def value_and_gradient(self, weights: Doubles) -> tuple[float, Doubles]:
        """Return the objective and its gradient [n_features + 1]."""

        def sums(block: Objective) -> tuple[float, Doubles]:
            table, score = block._scored(weights)
            loss = float(block.weight @ (np.logaddexp(0, score) - block.clicked * score))
            pull = block._pull(score)
            return loss, np.append(pull @ table, pull.sum())

        losses, gradients = zip(*side_by_side(sums, self._blocks()), strict=True)
        slope = self._penalised(weights)
        return sum(losses) / self.per + self.l2 * float(slope @ slope), sum(gradients) / self.per + 2 * self.l2 * slope

    def gradient_of_users(self, weights: Doubles) -> Doubles:
        """Return the gradient of each user [n_users, n_features + 1]; their mean is the gradient.

        A user's rows count with their weights in the mean over rows, and so does the penalty: a sample of users has the
        minimum at which the sum of theirs is 0.
        """

        def gradients(block: Objective) -> Doubles:
            table, score = block._scored(weights)
            pull = block._pull(score)
            columns = [sum_of_groups(pull * column, block.indptr) for column in table.T]
            return np.stack([*columns, sum_of_groups(pull, block.indptr)], axis=1)

        own = sum_of_groups(self.weight, self.indptr)[:, None] * (2 * self.l2 * self._penalised(weights))
        return (np.concatenate(side_by_side(gradients, self._blocks())) + own) * (self.n_users / self.per)

    def curvature(self, weights: Doubles) -> Doubles:
        """Return the Hessian [n_features + 1, n_features + 1]."""

        def sums(block: Objective) -> Doubles:
            table, score = block._scored(weights)
            full, p = np.column_stack([table, np.ones(len(table))]), expit(score)
            return np.asarray(full.T @ (full * (block.weight * p * (1 - p))[:, None]))

        total: Doubles = np.sum(side_by_side(sums, self._blocks()), axis=0)
        return total / self.per + 2 * self.l2 * np.diag(self._penalised(np.ones(len(weights))))

    def sample(self, n_rows: int) -> Objective:
        """Return the objective of about ``n_rows`` rows from evenly spaced blocks of users, or itself if small."""
        chosen = evenly_spaced(self._blocks(), len(self.table) // n_rows)
        if not chosen:
            return self
        table, clicked, weight = (
            np.concatenate([getattr(block, name) for block in chosen]) for name in ("table", "clicked", "weight")
        )
        indptr = indptr_of(np.concatenate([np.diff(block.indptr) for block in chosen]))
        return Objective(table, clicked, weight, indptr, self.l2, float(weight.sum()))

    def of_each_user(self) -> list[Objective]:
        """Return the objective of each user alone [n_users]; their mean is this one."""
        return [replace(self._rows(a, b), per=self.per / self.n_users) for a, b in pairwise(self.indptr)]

    def _scored(self, weights: Doubles) -> tuple[Doubles, Doubles]:
        """Return the table as float64, and the score of each row."""
        table = self.table.astype(np.float64)
        return table, table @ weights[:-1] + weights[-1]

    def _pull(self, score: Doubles) -> Doubles:
        """Return the derivative of the loss with respect to the score of each row [n_rows]."""
        return np.asarray(self.weight * (expit(score) - self.clicked))

    def _penalised(self, weights: Doubles) -> Doubles:
        """Return the weights with 0 for the intercept."""
        return np.append(weights[:-1], 0.0)

    def _rows(self, first: int, last: int) -> Objective:
        rows, indptr = slice(first, last), np.array([0, last - first])
        return replace(
            self, table=self.table[rows], clicked=self.clicked[rows], weight=self.weight[rows], indptr=indptr
        )

    def _blocks(self) -> Iterator[Objective]:
        """Yield the objectives of blocks of users that fit into the CPU cache."""
        rows = max(1, CELLS // max(1, self.table.shape[1]))
        borders = np.searchsorted(self.indptr, np.arange(0, len(self.table) + rows, rows))
        borders = np.unique(np.minimum(borders, self.n_users))
        for start, stop in pairwise(borders):
            first, last = int(self.indptr[start]), int(self.indptr[stop])
            yield replace(self._rows(first, last), indptr=self.indptr[start : stop + 1] - first)
