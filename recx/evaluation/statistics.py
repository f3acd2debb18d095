"""Tests and effect sizes over users in closed form, on plain arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from recx.core.resampling import ROUNDING
from recx.core.types import Doubles


def paired_t(differences: Doubles) -> Doubles:
    """Return the two-sided p-value of Student's paired t-test for every column.

    Args:
        differences: [n_users, m]; NaN differences are left out.

    Returns:
        p-values [m]: 1 where all differences are 0; NaN where all are the same other number, of which the test cannot
        estimate the variance, and with fewer than two pairs.
    """
    from scipy.stats import ttest_1samp

    return _by_column(
        differences, lambda known: ttest_1samp(known, 0).pvalue, of_equal=lambda value: np.nan if value else 1.0
    )


def equivalence(differences: Doubles, margin: float) -> Doubles:
    """Return the p-value of two one-sided paired t-tests that the mean of every column lies within the margin.

    It is the larger one of the tests against -margin and against +margin. Source: Schuirmann, Journal of
    Pharmacokinetics and Biopharmaceutics 15 (1987); Lakens, Social Psychological and Personality Science 8 (2017).

    Args:
        differences: [n_users, m]; NaN differences are left out.
        margin: Half the width of the differences that count as none.

    Returns:
        p-values [m]: 0 where all differences are 0; NaN where all are the same other number, and with fewer than two
        pairs.
    """
    from scipy.stats import ttest_1samp

    def p(known: Doubles) -> float:
        above = ttest_1samp(known, -margin, alternative="greater").pvalue
        return max(float(above), float(ttest_1samp(known, margin, alternative="less").pvalue))

    return _by_column(differences, p, of_equal=lambda value: np.nan if value else 0.0)


def cohens_dz(differences: Doubles) -> Doubles:
    """Return Cohen's d_z for every column: the mean difference over its standard deviation (n - 1).

    Source: Lakens, Frontiers in Psychology 4:863 (2013), equation 6.

    Args:
        differences: [n_users, m]; NaN differences are left out.

    Returns:
        Effect sizes [m]: 0 where all differences are 0, infinite where all are the same other number, NaN with fewer
        than two pairs.
    """
    return _by_column(
        differences,
        lambda known: known.mean() / known.std(ddof=1),
        of_equal=lambda value: np.copysign(np.inf, value) if value else 0.0,
    )


def users_to_tell_apart(d_z: float, tests: int, *, level: float = 0.05, power: float = 0.8) -> float:
    """Return of how many users a paired test would find a difference of this size with the given power.

    It is the normal approximation ((z of 1 - level / (2 tests) + z of the power) / d_z)², rounded up. Source: Cohen,
    Statistical Power Analysis for the Behavioral Sciences (1988), section 2.3.3; the level is divided by the number of
    tests, as in the first step of Holm's method.

    Args:
        d_z: The mean difference over its standard deviation.
        tests: How many tests are adjusted together.
        level: The level of the tests, two-sided.
        power: The probability to find the difference.

    Returns:
        The number of users; infinite where there is no difference, NaN where d_z is.
    """
    if math.isnan(d_z) or not d_z:
        return math.nan if math.isnan(d_z) else math.inf
    normal = NormalDist()
    reach = normal.inv_cdf(1 - level / (2 * tests)) + normal.inv_cdf(power)
    return float(math.ceil((reach / d_z) ** 2))


def _by_column(
    differences: Doubles, statistic: Callable[[Doubles], float], of_equal: Callable[[float], float]
) -> Doubles:
    """Return the statistic of each column's known differences, ``of_equal`` where these are all the same."""
    columns = [column[~np.isnan(column)] for column in differences.T]
    values = [
        np.nan if len(known) < 2 else of_equal(known[0]) if constant(known) else statistic(known) for known in columns
    ]
    return np.array(values, dtype=np.float64)


def constant(values: Doubles) -> bool:
    """Return whether values are all the same number, up to rounding."""
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max())


def holm(p: Doubles) -> Doubles:
    """Adjust the p-values of one family of tests by Holm's method; NaN stays NaN and is not counted.

    The k-th smallest of m is multiplied by m - k + 1; none falls below the one before it, or rises above 1. Source:
    Holm, A Simple Sequentially Rejective Multiple Test Procedure (Scandinavian Journal of Statistics 6, 1979).
    """
    adjusted = np.full(p.shape, np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]  # argsort puts NaN last
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted
