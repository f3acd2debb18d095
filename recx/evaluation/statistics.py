"""Tests and effect sizes over users in closed form: plain arrays in, plain arrays out."""

from __future__ import annotations

import warnings

import numpy as np

from recx.core.types import Doubles


def paired_t(differences: Doubles) -> Doubles:
    """Return the two-sided p of Student's paired t-test of every column [m]; NaN differences are left out.

    1 where all differences are 0, 0 where they are all the same other number, NaN with fewer than two pairs.
    """
    from scipy.stats import ttest_1samp

    def test(known: Doubles) -> float:
        if len(known) < 2:
            return np.nan
        if known.min() == known.max():
            return float(known[0] == 0)
        with warnings.catch_warnings():  # scipy warns where the differences are all but the same
            warnings.simplefilter("ignore")
            return float(ttest_1samp(known, 0).pvalue)

    return np.array([test(column[~np.isnan(column)]) for column in differences.T], dtype=np.float64)


def cohens_dz(differences: Doubles) -> Doubles:
    """Return Cohen's d_z of every column [m]: the mean difference over its standard deviation (n - 1).

    NaN differences are left out. 0 where all are 0, infinite where all are the same other number, NaN with fewer than
    two pairs. Source: Lakens, Frontiers in Psychology 4:863 (2013), equation 6.
    """

    def effect(known: Doubles) -> float:
        if len(known) < 2:
            return np.nan
        if known.min() == known.max():
            return float(np.copysign(np.inf, known[0])) if known[0] else 0.0
        return float(known.mean() / known.std(ddof=1))

    return np.array([effect(column[~np.isnan(column)]) for column in differences.T], dtype=np.float64)


def holm(p: Doubles) -> Doubles:
    """Return the p of one family of tests, adjusted by Holm's method; NaN stays NaN and is not counted.

    The k-th smallest of m is multiplied by m - k + 1; none falls below the one before it, or rises above 1. Source:
    Holm, A Simple Sequentially Rejective Multiple Test Procedure (Scandinavian Journal of Statistics 6, 1979).
    """
    adjusted = np.full(p.shape, np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]  # argsort puts NaN last
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted
