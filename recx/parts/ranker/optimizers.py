"""Three optimizers of the linear ranker's losses, each a function of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from recx.core.types import Doubles

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

ROWS_OF_START = 100_000  # rows that suffice for a start near the minimum and the curvature there


@dataclass(frozen=True)
class Minimum:
    """The result of an optimizer.

    Attributes:
        weights: The weights [n_weights].
        losses: The objective after each epoch or iteration.
    """

    weights: Doubles
    losses: tuple[float, ...]


class Objective(Protocol):
    """A loss as a function of the weights."""

    def least(self, non_negative: bool) -> Doubles:
        """Return the least value that each weight may take [n_weights], minus infinity for one that is free."""

    def value_and_gradient(self, weights: Doubles) -> tuple[float, Doubles]:
        """Return the objective and its gradient [n_weights]."""

    def gradient_of_users(self, weights: Doubles) -> Doubles:
        """Return the gradient of each user [n_users, n_weights]; their mean is the gradient."""

    def curvature(self, weights: Doubles) -> Doubles:
        """Return the Hessian [n_weights, n_weights]."""

    def sample(self, n_rows: int) -> Self:
        """Return the objective of about ``n_rows`` rows, or itself if small."""

    def of_each_user(self) -> Sequence[Self]:
        """Return the objective of each user alone [n_users]."""


def by_lbfgs(objective: Objective, non_negative: bool = False) -> Minimum:
    """Minimise by L-BFGS; with many users, start from the minimum of a sample of them.

    The minimum of the sample takes few cheap passes; starting there, with the curvature known, takes a quarter of the
    passes over all rows that starting from 0 takes.
    """
    start = np.zeros(len(objective.least(non_negative)))
    few = objective.sample(ROWS_OF_START)
    if few is not objective:
        start = _lbfgs(few, few.curvature(start), start, non_negative).weights
    return _lbfgs(objective, few.curvature(start), start, non_negative)


def _lbfgs(objective: Objective, hessian: Doubles, start: Doubles, non_negative: bool) -> Minimum:
    """Minimise by L-BFGS from ``start``, in coordinates in which the Hessian is close to the identity.

    Correlated features (clicks of the last 1, 6, 24 hours) would otherwise cost hundreds of passes over the rows. With
    ``non_negative``, which bounds weights from below, the coordinates are the weights, scaled one by one.
    """
    from scipy.optimize import minimize  # half a second, which no fitted ranker needs

    if non_negative:
        curvature, axes = np.diag(hessian), np.eye(len(hessian))
    else:
        curvature, axes = np.linalg.eigh(hessian)
    # Rounding may give collinear features a curvature of 0 or below.
    scale = np.sqrt(np.maximum(curvature, 1e-6 * curvature.max() + 1e-12))
    back, axes = axes.T * scale[:, None], axes / scale
    losses: list[float] = []

    def in_new_coordinates(v: Doubles) -> tuple[float, Doubles]:
        value, gradient = objective.value_and_gradient(axes @ v)
        return value, axes.T @ gradient

    def keep(intermediate_result: OptimizeResult) -> None:  # SciPy requires this argument name
        losses.append(float(intermediate_result.fun))

    found = minimize(
        in_new_coordinates,
        back @ start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(low, None) for low in objective.least(True)] if non_negative else None,
        callback=keep,
        options={"maxiter": 1000 if non_negative else 200, "gtol": 1e-6, "ftol": 1e-13},
    )
    return Minimum(axes @ found.x, tuple(losses))


def by_gradient_descent(objective: Objective, learning_rate: float, epochs: int, non_negative: bool = False) -> Minimum:
    """Take ``epochs`` full gradient steps from 0; ``non_negative`` clips the weights from below."""
    least = objective.least(non_negative)
    weights = np.zeros(len(least))
    losses = []
    for _ in range(epochs):
        value, gradient = objective.value_and_gradient(weights)
        weights = np.maximum(weights - learning_rate * gradient, least)
        losses.append(value)
    return Minimum(weights, (*losses[1:], objective.value_and_gradient(weights)[0]))


def by_sgd(objective: Objective, learning_rate: float, epochs: int, seed: int, non_negative: bool = False) -> Minimum:
    """Take ``epochs`` rounds of one gradient step per user, in a random order: slow, for comparison."""
    least = objective.least(non_negative)
    weights = np.zeros(len(least))
    order = np.random.default_rng(seed)
    users = objective.of_each_user()
    losses = []
    for _ in range(epochs):
        for user in order.permutation(len(users)):
            weights = np.maximum(weights - learning_rate * users[user].value_and_gradient(weights)[1], least)
        losses.append(objective.value_and_gradient(weights)[0])
    return Minimum(weights, tuple(losses))
