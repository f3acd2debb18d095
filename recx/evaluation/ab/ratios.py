"""Ratios of sums over users, how much they vary between users, and whether those of two arms differ.

Users are what was assigned to arms, and lists of one user are alike, so users are resampled and permuted, never lists.
Of ``MANY`` users or more, intervals and tests are approximated where ``ENOUGH`` of them are effective (see
``recx.core.resampling``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from recx.core.ragged import blocks
from recx.core.resampling import BLOCK, ENOUGH, MANY, ROUNDING, Procedure, resampled_sums
from recx.core.types import Doubles, Longs
from recx.evaluation.ab.arms import SUMS, Arm
from recx.evaluation.ab.settings import METRICS

FEW_ROWS = 10
"""With this many users a row, or more, numbers of users are drawn by row, which takes less time than users do."""
DRAWN = 50_000_000
"""Users drawn for standard errors that only check others: fewer resamples are drawn if the users are many."""
FEWEST = 200
"""The fewest resamples of these; the standard error of theirs is 5 % of it."""


@dataclass(frozen=True)
class Ratio:
    """A metric in one arm: the ratio of two sums over users.

    Attributes:
        value: The ratio, NaN where the denominator is 0.
        variance: The variance between users of what the ratio is the mean of, to first order (the delta method): that
            over the number of users is the square of its standard error.
        users: The number of users.
        fourth: The sum of fourth powers of what each user adds to the ratio, to first order.
    """

    value: float
    variance: float
    users: int
    fourth: float

    @property
    def squared_error(self) -> float:
        """The square of the standard error."""
        return self.variance / self.users


def ratio_of(numerator: Doubles, denominator: Doubles, users: Longs) -> Ratio:
    """Return the ratio of two sums over users, with its variance by the delta method.

    With R = N / D, it is that of (n - R d) / mean(d) between users (n - 1 degrees of freedom). Source: Deng, Knoblich
    and Lu, Applying the Delta Method in Metric Analytics (KDD 2018), equation 6.

    Args:
        numerator: n of each row of users [n_rows].
        denominator: d of each row of users [n_rows].
        users: The number of users of each row [n_rows].
    """
    n_users, whole = int(users.sum()), float(users @ denominator)
    if not whole:
        return Ratio(np.nan, np.nan, n_users, np.nan)
    value = float(users @ numerator) / whole
    deviations = (numerator - value * denominator) * (n_users / whole)
    variance = float(users @ deviations**2) / (n_users - 1)
    return Ratio(value, variance, n_users, float(users @ deviations**4) / n_users**4)


def is_approximated(pair: Sequence[Ratio]) -> bool:
    """Return whether nothing is drawn for the difference of two ratios.

    It is a sum over the users of both arms, of whom ``ENOUGH`` must be effective (see
    ``recx.core.resampling.effective``), so that its skewness is at most 1 / sqrt(``ENOUGH``).
    """
    if sum(one.users for one in pair) < MANY or not all(one.value > 0 for one in pair):
        return False
    fourth = sum(one.fourth for one in pair)
    return fourth > 0 and sum(one.squared_error for one in pair) ** 2 / fourth >= ENOUGH


def resampled(
    arms: Sequence[Arm], metrics: Sequence[str], approximated: bool, procedure: Procedure
) -> dict[str, Doubles]:
    """Resample the users of each arm with replacement: the cluster bootstrap. Metric -> its values [2, n_resamples].

    Args:
        arms: Control and treatment.
        metrics: The metrics.
        approximated: Whether the resamples only check what was approximated, so that fewer of them do.
        procedure: The number of resamples and their seed.
    """
    n_users = sum(arm.n_users for arm in arms)
    n = min(procedure.resamples, max(FEWEST, DRAWN // n_users)) if approximated else procedure.resamples
    sums = [_resampled_sums(arm, n, [procedure.seed, place]) for place, arm in enumerate(arms)]
    return {name: np.stack([_divided(of_arm, name) for of_arm in sums]) for name in metrics}


def _resampled_sums(arm: Arm, n: int, seed: Sequence[int]) -> Doubles:
    """Return the sums over resampled users [n, n_sums]."""
    if len(arm.rows) * FEW_ROWS > arm.n_users:
        return resampled_sums(np.repeat(arm.rows, arm.users, axis=0), n, seed)
    rng, shares = np.random.default_rng(seed), arm.users / arm.n_users
    drawn = (rng.multinomial(arm.n_users, shares, size=stop - start) for start, stop in blocks(n, BLOCK))
    return np.concatenate([counts @ arm.rows for counts in drawn])


def _divided(sums: Doubles, metric: str) -> Doubles:
    above, below = (sums[:, SUMS.index(name)] for name in METRICS[metric])
    ratios: Doubles = np.divide(above, below, out=np.full(len(sums), np.nan), where=below > 0)
    return ratios


def normal_p(difference: float, error: float, draws: int) -> float:
    """Return the two-sided p that so many draws are expected to give, of a difference with this standard error."""
    if not error:
        return 1.0 if not difference else 1 / (draws + 1)
    return (draws * 2 * NormalDist().cdf(-abs(difference) / error) + 1) / (draws + 1)


def permuted(arms: Sequence[Arm], metrics: Sequence[str], procedure: Procedure) -> Doubles:
    """Return the two-sided p of each metric's difference by permuting which users are in which arm [n_metrics].

    p = (b + 1) / (draws + 1), where b counts the permutations whose difference over its standard error (by the delta
    method) is at least as far from 0 as the observed one. If the arms do not differ at all it is exact, and if only
    their ratios agree it is right in large samples. Source: Janssen, Studentized Permutation Tests for Non-iid
    Hypotheses (Statistics & Probability Letters 36, 1997); Chung and Romano, Exact and Asymptotically Robust
    Permutation Tests (Annals of Statistics 41, 2013).
    """
    arms = sorted(arms, key=lambda arm: -arm.n_users)  # fewer users are drawn of the smaller arm
    rows, users = np.concatenate([arm.rows for arm in arms]), np.concatenate([arm.users for arm in arms])
    moments = np.hstack([_moments(rows, metric) for metric in metrics])
    n = (arms[0].n_users, arms[1].n_users)
    whole, own = users @ moments, arms[1].users @ moments[len(arms[0].users) :]
    observed = _statistics(own[None], whole, n)
    least = observed * (1 - ROUNDING**0.5)
    by_row = len(users) * FEW_ROWS <= sum(n)
    drawn_from = moments if by_row else np.repeat(moments, users, axis=0)
    rng, far = np.random.default_rng(procedure.seed), np.zeros(len(metrics))
    for start, stop in blocks(procedure.draws, BLOCK):
        drawn = (_counts_of_rows if by_row else _chosen_users)(rng, users, n[1], stop - start)
        far += (_statistics(drawn @ drawn_from, whole, n) >= least).sum(axis=0)
    p: Doubles = (far + 1) / (procedure.draws + 1)
    return p


def _counts_of_rows(rng: np.random.Generator, users: Longs, size: int, draws: int) -> Doubles:
    """Return how many users of each row are among ``size`` users drawn without replacement [draws, n_rows]."""
    return rng.multivariate_hypergeometric(users, size, size=draws, method="marginals").astype(np.float64)


def _chosen_users(rng: np.random.Generator, users: Longs, size: int, draws: int) -> Doubles:
    """Return 1 for each user who is among those drawn, else 0 [draws, n_users]."""
    chosen = np.zeros((draws, int(users.sum())))
    for row in chosen:
        row[rng.choice(chosen.shape[1], size, replace=False, shuffle=False)] = 1.0
    return chosen


def _moments(rows: Doubles, metric: str) -> Doubles:
    """Return numerator, denominator and their products [n_rows, 5], whose sums a ratio and its error come from."""
    above, below = (rows[:, SUMS.index(name)] for name in METRICS[metric])
    return np.column_stack([above, below, above * above, above * below, below * below])


def _statistics(own: Doubles, whole: Doubles, n: tuple[int, int]) -> Doubles:
    """Return |difference| over its standard error [n_draws, n_metrics].

    Args:
        own: Moments of the users drawn into the smaller arm [n_draws, 5 * n_metrics].
        whole: Those of all users [5 * n_metrics].
        n: The numbers of users of the larger and the smaller arm.
    """
    sides = [(whole - own, n[0]), (own, n[1])]
    values, errors = zip(
        *(_value_and_error(sums.reshape(len(sums), -1, 5), users) for sums, users in sides), strict=True
    )
    difference, error = np.abs(values[1] - values[0]), np.sqrt(errors[0] + errors[1])
    difference[difference <= ROUNDING * np.abs(values[0])] = 0.0
    statistic: Doubles = np.divide(difference, error, out=np.where(difference > 0, np.inf, 0.0), where=error > 0)
    return np.where(np.isnan(difference), np.inf, statistic)


def _value_and_error(sums: Doubles, users: int) -> tuple[Doubles, Doubles]:
    """Return ratios and their squared standard errors [n_draws, n_metrics] from moments [n_draws, n_metrics, 5]."""
    above, below, of_above, product, of_below = np.moveaxis(sums, 2, 0)
    value = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    squares = of_above - 2 * value * product + value**2 * of_below
    squares = np.where(squares <= ROUNDING * of_above, 0.0, squares)
    error = np.divide(squares * users, below**2 * (users - 1), out=np.full(above.shape, np.nan), where=below > 0)
    return value, error
