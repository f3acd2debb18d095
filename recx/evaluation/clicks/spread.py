"""Intervals of what is estimated from lists, by weighing the lists anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recx.core.system.threads import ahead
from recx.core.types import Array, Doubles
from recx.evaluation.clicks.em import Parameters, Prior

Refit = Callable[[Doubles, Prior], Parameters]
"""Estimates the parameters from lists with these weights [n_lists]."""
LEAST = 0.5
"""Clicks that are added in resamples at least (Jeffreys' prior): of 0 clicks in 3 looks, no weights would make more."""


@dataclass(frozen=True)
class Intervals:
    """Where the parameters lie: arrays [2, n_pairs] of lower and upper ends, of the continuation [2].

    ``relevance`` is attractiveness times satisfaction.
    """

    attractiveness: Doubles
    satisfaction: Doubles
    relevance: Doubles
    continuation: Doubles


def intervals(
    refit: Refit, at: Parameters, n_lists: int, *, smoothing: float, level: float, resamples: int, seed: int
) -> Intervals:
    """Return intervals by the Bayesian bootstrap over lists (Rubin, Annals of Statistics 1981).

    In every resample each list, and each click that smoothing adds, has a weight drawn from the exponential
    distribution. A parameter's interval is that of the Beta distribution which has the mean and the variance of its
    estimates over the resamples. So the interval of an item without any click, or that nobody looked at, is wide; where
    clicks are counted alone (``cascade``), it is the credible interval of the Beta prior that smoothing stands for.

    Args:
        refit: Estimates the parameters from weighted lists.
        at: The parameters estimated from the lists as they are, which intervals contain.
        n_lists: The number of lists.
        smoothing: The clicks, and others, that are added to those of every parameter.
        level: The credible level.
        resamples: The number of resamples.
        seed: The seed of their weights.
    """
    n_pairs = len(at.attractiveness)

    def resample(nth: int) -> Doubles:
        rng = np.random.default_rng([seed, nth])
        weight = rng.standard_exponential(n_lists)
        return _stacked(refit(weight, Prior.drawn(max(smoothing, LEAST), n_pairs, rng)))

    centre = _stacked(at)
    first, second = np.zeros_like(centre), np.zeros_like(centre)
    for found in ahead(resample, range(resamples)):
        first += found - centre
        second += (found - centre) ** 2
    mean = centre + first / resamples
    variance = (second - first**2 / resamples) / (resamples - 1)
    low, high = _beta(mean, variance, level)
    ends = np.stack([np.minimum(low, centre), np.maximum(high, centre)])
    of_pairs = ends[:, :-1].reshape(2, 3, n_pairs)
    return Intervals(of_pairs[:, 0], of_pairs[:, 1], of_pairs[:, 2], ends[:, -1])


def _stacked(at: Parameters) -> Doubles:
    """Return attractiveness, satisfaction, their product and the continuation one after the other."""
    relevance = at.attractiveness * at.satisfaction
    return np.concatenate([at.attractiveness, at.satisfaction, relevance, [at.continuation]])


def _beta(mean: Doubles, variance: Doubles, level: float) -> tuple[Array, Array]:
    """Return the ends of the middle part of Beta distributions; of one without variance, its mean."""
    from scipy.special import betaincinv

    fixed = variance <= np.finfo(np.float64).eps ** 2
    size = np.where(fixed, 1.0, mean * (1 - mean) / np.where(fixed, 1.0, variance) - 1)
    a, b = np.where(fixed, 1.0, mean * size), np.where(fixed, 1.0, (1 - mean) * size)
    ends = (betaincinv(a, b, (1 + sign * level) / 2) for sign in (-1, 1))
    low, high = (np.where(fixed, mean, end) for end in ends)
    return low, high
