"""Bootstrap intervals and randomisation tests over users: plain arrays in, plain arrays out.

A NaN leaves its user out of its column. Columns share their random draws, so the result of a column does not depend on
the other columns, and every number depends on the seed alone.

Of ``MANY`` users or more, a column is not drawn where its effective number of users is large: what infinitely many
draws would give is then known as closely as from ten thousand. The resampled mean has exactly the mean and variance
of the formula, and its distribution is normal but for a skewness of at most 1 / sqrt(``effective``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from recx.core.bounds import PositiveInt, Seed, Share, checked
from recx.core.ragged import blocks_of_groups, indptr_of, sum_of_groups
from recx.core.types import Array, Doubles

CELL = 2**14
"""Users per cell: the weights of a cell stay in the processor's cache, and a number below 2^14 is the lower part of a
16-bit random word."""
BLOCK = 64
"""Draws per block: the values are read once for all of them."""
ROUNDING = 1e-12
"""Two sums are considered equal if they differ by less than this share of the sum of absolute values."""
EXACT = 16
"""With up to so many differences that are not 0, all choices of their signs are counted instead of drawn."""
MANY = 10_000
"""From this number of users on, a column is approximated, or drawn without the users who add nothing if most do not."""
ENOUGH = 2_000
"""The effective number of users (see ``effective``) from which their intervals and tests are approximated.

Where all deviations are of one size, the worst case, the ends of a 95 % interval are then within 0.6 % of its width of
the bootstrap's, and a p of 0.05 is within 5.2 % of its value; the chance (standard error) in 10,000 draws is 0.7 % of
the width and 4.4 % of the p."""
DRAWN_AT_ONCE = 1_000_000
"""Users drawn at once of a column on its own."""
DENSE = 0.25
"""The share of users with a value other than 0 from which a column of many users is drawn with all others like it."""
FEW_USERS = 30
"""Below this number of users, intervals and tests say little."""

Weights = Callable[[np.random.Generator, int, int], Iterator[Doubles]]


@dataclass(frozen=True)
@checked("")
class Procedure:
    """How intervals and tests are computed.

    Attributes:
        level: The confidence level of the intervals.
        resamples: The number of bootstrap resamples.
        draws: The number of random sign vectors of a test.
        seed: The seed of resamples and draws.
    """

    level: Share = 0.95
    resamples: PositiveInt = 10_000
    draws: PositiveInt = 10_000
    seed: Seed = 0

    def in_words(self, users: int) -> dict[str, str]:
        """Return how ``intervals`` and ``flips`` of so many users are computed."""
        resampled = f"{100 * self.level:.4g} % percentile bootstrap over users, {self.resamples:,} resamples"
        flipped = f"sign-flip randomisation, {self.draws:,} draws (exact with up to {EXACT} users that differ"
        if users >= MANY:
            close = f"normal approximation where {ENOUGH:,} users or more are effective"
            resampled, flipped = f"{resampled}, or its {close}", f"{flipped}, the {close}"
        return {"intervals": resampled, "flips": f"{flipped})"}


def bootstrap(
    values: Doubles, *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[Doubles, Doubles]:
    """Return the percentile bootstrap interval of every column's mean: low, high [n_columns].

    Users are resampled with replacement, the same resamples for all columns; a NaN leaves the user out of its column,
    and a resample without any remaining user is ignored. The bounds are NaN if fewer than two users have a value, which
    say nothing about how much users differ. Of ``MANY`` users, the interval is that of the normal approximation where
    ``ENOUGH`` of them are effective. Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 12
    and 13; Hall, The Bootstrap and Edgeworth Expansion (1992), section 3.3, on how far the two differ.

    Args:
        values: One row per user [n_users, n_columns].
        level: The confidence level.
        resamples: The number of resamples.
        seed: The seed of the resamples.
    """
    n_users, n_columns = values.shape
    if n_users < MANY:
        return _interval_of_all(values, level, resamples, seed)
    low, high, dense = np.empty(n_columns), np.empty(n_columns), np.zeros(n_columns, dtype=bool)
    for at, column in enumerate(values.T):
        found = _interval_of_many(column, level, resamples, seed)
        dense[at] = found is None
        low[at], high[at] = found or (np.nan, np.nan)
    low[dense], high[dense] = _interval_of_all(values[:, dense], level, resamples, seed)
    return low, high


def _interval_of_all(values: Doubles, level: float, resamples: int, seed: int) -> tuple[Doubles, Doubles]:
    """Return the interval of every column, from the same resamples of all users: low, high [n_columns]."""
    n_users, n_columns = values.shape
    if not n_users or not n_columns:
        return np.full(n_columns, np.nan), np.full(n_columns, np.nan)
    missing = np.isnan(values)
    partial = missing.any(axis=0)
    columns = np.hstack([np.where(missing, 0.0, values), ~missing[:, partial]])
    sums = _weighted_sums(columns, resamples, seed, _counts)
    users = np.full((resamples, n_columns), float(n_users))
    users[:, partial] = sums[:, n_columns:]
    means = np.divide(sums[:, :n_columns], users, out=np.full_like(users, np.nan), where=users > 0)
    bounds = np.array([_percentiles(column, level) for column in means.T]).reshape(n_columns, 2)
    bounds[(~missing).sum(axis=0) < 2] = np.nan
    return bounds[:, 0], bounds[:, 1]


def _interval_of_many(column: Doubles, level: float, resamples: int, seed: int) -> tuple[float, float] | None:
    """Return the interval of one column of many users [n_users], without drawing if enough of them are effective.

    None where it must be drawn and a share of ``DENSE`` of the users has a value other than 0: to draw once for all
    such columns takes less time than to draw for each of them.
    """
    known = column[~np.isnan(column)]
    if len(known) < 2:
        return np.nan, np.nan
    mean = float(known.mean())
    deviations = known - mean
    if effective(deviations) >= ENOUGH:
        error = float(np.sqrt(deviations @ deviations)) / len(known)
        reach = NormalDist().inv_cdf((1 + level) / 2) * error
        return mean - reach, mean + reach
    few = known[known != 0]
    if len(few) > DENSE * len(column):
        return None
    low, high = _percentiles(_means_of_few(few, len(known), len(column), resamples, seed), level)
    return float(low), float(high)


def _means_of_few(values: Doubles, n_known: int, n_users: int, resamples: int, seed: int) -> Doubles:
    """Return the resampled means of a column in which few users have a value other than 0, NaN without users.

    How many of them, of those with a 0 and of those without a value fall into each resample is drawn first.

    Args:
        values: The values other than 0 [n].
        n_known: The number of users with a value.
        n_users: The number of users, with or without one.
        resamples: The number of resamples.
        seed: The seed of the resamples.
    """
    rng = np.random.default_rng(seed)
    parts = np.array([len(values), n_known - len(values), n_users - n_known])
    drawn, zeros, _ = rng.multinomial(n_users, parts / n_users, size=resamples).T
    borders, sums = indptr_of(drawn), np.zeros(resamples)
    for start, stop in blocks_of_groups(borders, DRAWN_AT_ONCE):
        own = borders[start : stop + 1] - borders[start]
        sums[start:stop] = sum_of_groups(values[rng.integers(len(values), size=own[-1])], own)
    users = drawn + zeros
    means: Doubles = np.divide(sums, users, out=np.full(resamples, np.nan), where=users > 0)
    return means


def resampled_sums(columns: Doubles, resamples: int, seed: int | Sequence[int]) -> Doubles:
    """Return the sum of every column [n_users, m] over the users of each resample [resamples, m]."""
    return _weighted_sums(columns, resamples, seed, _counts)


def effective(deviations: Doubles) -> float:
    """Return the number of users that a sum of deviations rests on: all that are not 0, if these are of one size.

    It is (sum of squares)² / sum of fourth powers, at most the number of deviations that are not 0, and infinite if
    there are none. The skewness of the sum's distribution, over resamples or signs, is at most 1 / sqrt of it, and its
    excess kurtosis at most 2 / it, by Cauchy's inequality.
    """
    squares: Doubles = deviations**2
    fourth = float(squares @ squares)
    return float(squares.sum()) ** 2 / fourth if fourth else np.inf


def sign_flip(differences: Doubles, *, draws: int = 10_000, seed: int = 0) -> Doubles:
    """Return the two-sided p of the paired randomisation test of every column [m].

    Under the null hypothesis the sign of every difference is arbitrary. With up to ``EXACT`` differences other than 0,
    p is the share of all choices of signs whose mean is at least as far from 0 as the observed one. With more,
    p = (b + 1) / (draws + 1), where b counts such choices among random ones; of ``MANY`` users, b is the number that
    the normal approximation expects where ``ENOUGH`` of them are effective. NaN for a column without pairs. Source:
    Fisher (1935); Smucker, Allan and Carterette, A Comparison of Statistical Significance Tests for Information
    Retrieval Evaluation (CIKM 2007).

    Args:
        differences: One row per user [n_users, m], NaN where a user has no pair.
        draws: The number of random choices of signs.
        seed: The seed of the draws.
    """
    known = np.where(np.isnan(differences), 0.0, differences)
    if len(known) < MANY:
        p = (_as_far(known, draws, seed) + 1) / (draws + 1)
    else:
        p = np.array([(_as_far_of_many(column[column != 0], draws, seed) + 1) / (draws + 1) for column in known.T])
    for column in np.flatnonzero((known != 0).sum(axis=0) <= EXACT):
        p[column] = (np.abs(_sums_of_all_signs(known[:, column])) >= _least(known[:, column])).mean()
    return np.where(np.isnan(differences).all(axis=0), np.nan, p)


def _as_far(differences: Doubles, draws: int, seed: int) -> Doubles:
    """Return in how many draws of signs each column's sum is as far from 0 as the observed one [m]."""
    flipped = 2 * _weighted_sums(differences, draws, seed, _coins) - differences.sum(axis=0)
    far: Doubles = (np.abs(flipped) >= _least(differences)).sum(axis=0).astype(np.float64)
    return far


def _as_far_of_many(differences: Doubles, draws: int, seed: int) -> float:
    """Return the same for the differences other than 0 of one column; if enough are effective, what is expected."""
    if effective(differences) < ENOUGH:
        return float(_as_far(differences[:, None], draws, seed)[0])
    error = float(np.sqrt(differences @ differences))
    return draws * 2 * NormalDist().cdf(-abs(float(differences.sum())) / error) if error else draws


def _least(differences: Doubles) -> Doubles:
    """Return the distance from 0 [m] from which a sum counts as at least as far as that of the differences [n, m]."""
    least: Doubles = np.abs(differences.sum(axis=0)) - ROUNDING * np.abs(differences).sum(axis=0)
    return least


def _sums_of_all_signs(differences: Doubles) -> Doubles:
    """Return the sums of all choices of signs of the differences other than 0 [2^n]."""
    sums = np.zeros(1)
    for difference in differences[differences != 0]:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums


def _weighted_sums(columns: Doubles, draws: int, seed: int | Sequence[int], weights: Weights) -> Doubles:
    """Return, for every draw of weights over the users, the weighted sum of every column [draws, m]."""
    rng = np.random.default_rng(seed)
    sums = np.zeros((draws, columns.shape[1]))
    for start in range(0, draws, BLOCK):
        block = sums[start : start + BLOCK]
        for cell, of_cell in enumerate(weights(rng, len(columns), len(block))):
            block += of_cell @ columns[cell * CELL : (cell + 1) * CELL]
    return sums


def _counts(rng: np.random.Generator, n_users: int, draws: int) -> Iterator[Doubles]:
    """Yield, cell by cell, how often each user occurs in each resample [draws, cell].

    The number of a resample's users in each cell is drawn first, then the users within it: equivalent to drawing from
    all users, without leaving the cache.
    """
    sizes = _cells(n_users)
    counts = np.empty((draws, sizes[0]))
    in_cell = rng.multinomial(n_users, sizes / n_users, size=draws)
    for size, fallen in zip(sizes.tolist(), in_cell.T.tolist(), strict=True):
        for row, number in zip(counts, fallen, strict=True):
            row[:size] = np.bincount(_below(rng, size, number), minlength=size)
        yield counts[:, :size]


def _below(rng: np.random.Generator, size: int, number: int) -> Array:
    """Return ``number`` random integers below ``size``."""
    if size < CELL:
        return rng.integers(size, size=number, dtype=np.uint16)
    words: Array = rng.bit_generator.random_raw(number // 4 + 1).view(np.uint16)[:number]
    return words & np.uint16(CELL - 1)  # three times as fast as rng.integers, and as uniform


def _coins(rng: np.random.Generator, n_users: int, draws: int) -> Iterator[Doubles]:
    """Yield, cell by cell, 1 or 0 at random for every user in every draw [draws, cell]."""
    for size in _cells(n_users).tolist():
        octets = -(-size // 8)
        random = np.frombuffer(rng.bytes(draws * octets), np.uint8).reshape(draws, octets)
        yield np.unpackbits(random, axis=1, count=size).astype(np.float64)


def _cells(n_users: int) -> Array:
    return np.diff(np.append(np.arange(0, n_users, CELL), n_users))


def _percentiles(means: Doubles, level: float) -> Doubles:
    """Return the two quantiles of resampled means between which a share ``level`` of them lies [2]."""
    known, tail = means[~np.isnan(means)], (1 - level) / 2
    return np.quantile(known, [tail, 1 - tail]) if len(known) else np.full(2, np.nan)
