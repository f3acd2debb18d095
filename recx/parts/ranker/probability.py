"""Scores as probabilities: the softmax of each list, and Platt's two numbers on its log-odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from recx.core.ragged import max_of_groups, sum_of_groups
from recx.core.types import Array, Bools, Doubles, Longs

SURE = 35.0  # log-odds of the surest row, e.g. of a list's only one: float64 knows no probability nearer to 1


def softmax(score: Array, indptr: Longs) -> Doubles:
    """Return the softmax of every list's scores [n_rows]."""
    lengths = np.diff(indptr)
    odds = np.exp(score.astype(np.float64) - np.repeat(max_of_groups(score.astype(np.float64), indptr), lengths))
    probability: Doubles = odds / np.repeat(sum_of_groups(odds, indptr), lengths)
    return probability


@dataclass(frozen=True)
class Platt:
    """p -> 1 / (1 + exp(-(slope z + intercept))), z the log-odds of p; the slope is not negative, so the order stays.

    Source: Platt, Probabilistic Outputs for Support Vector Machines (1999), its targets kept off 0 and 1 included.
    """

    slope: float = 1.0
    intercept: float = 0.0

    @classmethod
    def fit(cls, probability: Doubles, relevant: Bools) -> Platt:
        """Return the numbers of least log loss over rows with a probability, and whether each is relevant [n_rows]."""
        z, hits = _log_odds(probability), int(relevant.sum())
        target = np.where(relevant, (hits + 1) / (hits + 2), 1 / (len(z) - hits + 2))

        def loss_and_slope(numbers: Doubles) -> tuple[float, Doubles]:
            line = numbers[0] * z + numbers[1]
            pull = (expit(line) - target) / max(1, len(z))
            loss = (np.logaddexp(0, line) - target * line).sum() / max(1, len(z))
            return float(loss), np.array([pull @ z, pull.sum()])

        options = {"gtol": 1e-9, "ftol": 1e-15}
        bounds = [(0, None), (None, None)]
        found = minimize(loss_and_slope, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        return cls(float(found.x[0]), float(found.x[1]))

    def __call__(self, probability: Doubles) -> Doubles:
        """Return the calibrated probabilities [n_rows]."""
        calibrated: Doubles = expit(self.slope * _log_odds(probability) + self.intercept)
        return calibrated


def cross_fitted(probability: Doubles, relevant: Bools, half: Bools) -> Doubles:
    """Return calibrated probabilities [n_rows], each half's by numbers that were fitted on the other half's rows."""
    calibrated = np.empty(len(probability))
    for rows in (half, ~half):
        calibrated[rows] = Platt.fit(probability[~rows], relevant[~rows])(probability[rows])
    return calibrated


def _log_odds(probability: Doubles) -> Doubles:
    with np.errstate(divide="ignore"):
        z: Doubles = np.log(probability) - np.log1p(-probability)
    return np.clip(z, -SURE, SURE)
