"""Scores as probabilities: the softmax of each list, and Platt's calibration of its log-odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from recx.core.ragged import max_of_groups, sum_of_groups
from recx.core.types import Array, Bools, Doubles, Longs

SURE = 35.0  # largest log-odds, such as in a list of one: float64 has no probability closer to 1


def softmax(score: Array, indptr: Longs) -> Doubles:
    """Return the softmax of the scores of each list [n_rows]."""
    lengths = np.diff(indptr)
    odds = np.exp(score.astype(np.float64) - np.repeat(max_of_groups(score.astype(np.float64), indptr), lengths))
    return np.asarray(odds / np.repeat(sum_of_groups(odds, indptr), lengths))


@dataclass(frozen=True)
class Platt:
    """p -> 1 / (1 + exp(-(slope z + intercept))), z the log-odds of p.

    Source: Platt, Probabilistic Outputs for Support Vector Machines (1999), including its targets other than 0 and 1.

    Attributes:
        slope: Factor on the log-odds, not negative, so that the order is preserved.
        intercept: Constant added to them.
    """

    slope: float = 1.0
    intercept: float = 0.0

    @classmethod
    def fit(cls, probability: Doubles, relevant: Bools) -> Platt:
        """Return the calibration with the least log loss, given the probability and relevance of each row [n_rows]."""
        from scipy.optimize import minimize  # half a second, which no fitted ranker needs

        z, hits = _log_odds(probability), int(relevant.sum())
        target = np.where(relevant, (hits + 1) / (hits + 2), 1 / (len(z) - hits + 2))

        def loss_and_slope(numbers: Doubles) -> tuple[float, Doubles]:
            odds = numbers[0] * z + numbers[1]
            pull = (expit(odds) - target) / max(1, len(z))
            loss = (np.logaddexp(0, odds) - target * odds).sum() / max(1, len(z))
            return float(loss), np.array([pull @ z, pull.sum()])

        options = {"gtol": 1e-9, "ftol": 1e-15}
        bounds = [(0, None), (None, None)]
        found = minimize(loss_and_slope, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        return cls(float(found.x[0]), float(found.x[1]))

    def __call__(self, probability: Doubles) -> Doubles:
        """Return the calibrated probabilities [n_rows]."""
        return np.asarray(expit(self.slope * _log_odds(probability) + self.intercept))


def cross_fitted(probability: Doubles, relevant: Bools, half: Bools) -> Doubles:
    """Return the calibrated probabilities [n_rows]; each half is calibrated by a fit on the other half."""
    calibrated = np.empty(len(probability))
    for rows in (half, ~half):
        calibrated[rows] = Platt.fit(probability[~rows], relevant[~rows])(probability[rows])
    return calibrated


def _log_odds(probability: Doubles) -> Doubles:
    with np.errstate(divide="ignore"):
        z = np.log(probability) - np.log1p(-probability)
    return np.asarray(np.clip(z, -SURE, SURE))
