"""The softmax cross-entropy of grouped candidates and three ways to its minimum.

For one user with scores s = X w and gains y >= 0 the loss is -sum_i y_i log softmax(s)_i, its gradient
X'(sum(y) p - y). The objective is the mean over users plus l2 |w|^2, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from recx.ragged import blocks, max_of_groups, sum_of_groups
from recx.types import Array, Doubles, Longs

ROWS = 4_096  # rows turned into float64 at once: in float32 the loss is too rough for a line search near the optimum


@dataclass(frozen=True, eq=False)
class Objective:
    """table: [n_rows, n_features], standardised. gain: [n_rows]. indptr: the users' rows; each has a gain."""

    table: Array
    gain: Doubles
    indptr: Longs
    l2: float

    @property
    def n_users(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def total_gain(self) -> Doubles:
        """Sum of each user's gains [n_users]."""
        return sum_of_groups(self.gain, self.indptr)

    def value_and_gradient(self, weights: Doubles) -> tuple[float, Doubles]:
        """Return the objective and its gradient [n_features]."""
        lengths = np.diff(self.indptr)
        borders = list(blocks(len(self.table), ROWS))
        score: Doubles = np.concatenate([self.table[start:stop] @ weights for start, stop in borders])
        score -= np.repeat(max_of_groups(score, self.indptr), lengths)
        odds = np.exp(score)
        total = sum_of_groups(odds, self.indptr)
        loss = (self.total_gain * np.log(total)).sum() - (self.gain * score).sum()
        pull = odds * np.repeat(self.total_gain / total, lengths) - self.gain
        gradient = 2 * self.l2 * weights
        for start, stop in borders:
            gradient += pull[start:stop] @ self.table[start:stop] / self.n_users
        value = loss / self.n_users + self.l2 * weights @ weights
        return float(value), gradient

    def curvature(self) -> Doubles:
        """Return the Hessian at w = 0 [n_features, n_features]: what L-BFGS is preconditioned with."""
        lengths = np.diff(self.indptr)
        share = np.repeat(self.total_gain / np.maximum(1, lengths), lengths) / self.n_users
        mean = np.stack([sum_of_groups(column, self.indptr) for column in self.table.T], axis=1) / lengths[:, None]
        spread = self.table.T @ (self.table * share[:, None].astype(self.table.dtype))
        between = (mean * (self.total_gain / self.n_users)[:, None]).T @ mean
        hessian: Doubles = (spread - between).astype(np.float64)
        return hessian + (2 * self.l2 + 1e-6) * np.eye(len(hessian))


def by_lbfgs(objective: Objective) -> Doubles:
    """Return the minimum, found by L-BFGS in coordinates in which the Hessian at 0 is the identity.

    Correlated features (clicks of the last 1, 6, 24 hours) would otherwise cost hundreds of passes over the rows.
    """
    curvature, axes = np.linalg.eigh(objective.curvature())
    # Rounding may leave collinear features a curvature of 0 or below.
    axes = axes / np.sqrt(np.maximum(curvature, 1e-6 * curvature.max()))

    def in_new_coordinates(v: Doubles) -> tuple[float, Doubles]:
        value, gradient = objective.value_and_gradient(axes @ v)
        return value, axes.T @ gradient

    options = {"maxiter": 200, "gtol": 1e-6, "ftol": 1e-13}
    found = minimize(in_new_coordinates, np.zeros(len(axes)), jac=True, method="L-BFGS-B", options=options)
    weights: Doubles = axes @ found.x
    return weights


def by_gradient_descent(objective: Objective, learning_rate: float, epochs: int) -> Doubles:
    """Return the weights after ``epochs`` full steps from 0."""
    weights = np.zeros(objective.table.shape[1])
    for _ in range(epochs):
        weights -= learning_rate * objective.value_and_gradient(weights)[1]
    return weights


def by_sgd(objective: Objective, learning_rate: float, epochs: int, seed: int) -> Doubles:
    """Return the weights after ``epochs`` rounds of one step a user, in a seeded order: slow, for comparison."""
    weights = np.zeros(objective.table.shape[1])
    order = np.random.default_rng(seed)
    users = [
        Objective(objective.table[a:b], objective.gain[a:b], np.array([0, b - a]), objective.l2)
        for a, b in zip(objective.indptr[:-1], objective.indptr[1:], strict=True)
    ]
    for _ in range(epochs):
        for user in order.permutation(len(users)):
            weights -= learning_rate * users[user].value_and_gradient(weights)[1]
    return weights
