"""Bootstrap intervals and randomisation tests over users: plain arrays in, plain arrays out.

A NaN leaves its user out of its column. Columns share their random draws, so the result of a column does not depend on
the other columns, and every number depends on the seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from recx.core.bounds import PositiveInt, Seed, Share, checked
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


def bootstrap(
    values: Doubles, *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[Doubles, Doubles]:
    """Return the percentile bootstrap interval of every column's mean: low, high [n_columns].

    Users are resampled with replacement, the same resamples for all columns; a NaN leaves the user out of its column,
    and a resample without any remaining user is ignored. The bounds are NaN if fewer than two users have a value, which
    say nothing about how much users differ. Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993),
    chapter 13.

    Args:
        values: One row per user [n_users, n_columns].
        level: The confidence level.
        resamples: The number of resamples.
        seed: The seed of the resamples.
    """
    n_users, n_columns = values.shape
    if not n_users:
        return np.full(n_columns, np.nan), np.full(n_columns, np.nan)
    missing = np.isnan(values)
    partial = missing.any(axis=0)
    columns = np.hstack([np.where(missing, 0.0, values), ~missing[:, partial]])
    sums = _weighted_sums(columns, resamples, seed, _counts)
    users = np.full((resamples, n_columns), float(n_users))
    users[:, partial] = sums[:, n_columns:]
    means = np.divide(sums[:, :n_columns], users, out=np.full_like(users, np.nan), where=users > 0)
    tail = (1 - level) / 2
    bounds = np.array([_quantiles(column, [tail, 1 - tail]) for column in means.T]).reshape(n_columns, 2)
    bounds[(~missing).sum(axis=0) < 2] = np.nan
    return bounds[:, 0], bounds[:, 1]


def sign_flip(differences: Doubles, *, draws: int = 10_000, seed: int = 0) -> Doubles:
    """Return the two-sided p of the paired randomisation test of every column [m].

    Under the null hypothesis the sign of every difference is arbitrary. With up to ``EXACT`` differences other than 0,
    p is the share of all choices of signs whose mean is at least as far from 0 as the observed one. With more,
    p = (b + 1) / (draws + 1), where b counts such choices among random ones. NaN for a column without pairs. Source:
    Fisher (1935); Smucker, Allan and Carterette, A Comparison of Statistical Significance Tests for Information
    Retrieval Evaluation (CIKM 2007).

    Args:
        differences: One row per user [n_users, m], NaN where a user has no pair.
        draws: The number of random choices of signs.
        seed: The seed of the draws.
    """
    known = np.where(np.isnan(differences), 0.0, differences)
    observed = known.sum(axis=0)
    flipped = 2 * _weighted_sums(known, draws, seed, _coins) - observed
    least = np.abs(observed) - ROUNDING * np.abs(known).sum(axis=0)
    p: Doubles = ((np.abs(flipped) >= least).sum(axis=0) + 1) / (draws + 1)
    for column in np.flatnonzero((known != 0).sum(axis=0) <= EXACT):
        p[column] = (np.abs(_sums_of_all_signs(known[:, column])) >= least[column]).mean()
    return np.where(np.isnan(differences).all(axis=0), np.nan, p)


def _sums_of_all_signs(differences: Doubles) -> Doubles:
    """Return the sums of all choices of signs of the differences other than 0 [2^n]."""
    sums = np.zeros(1)
    for difference in differences[differences != 0]:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums


def _weighted_sums(columns: Doubles, draws: int, seed: int, weights: Weights) -> Doubles:
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


def _quantiles(means: Doubles, shares: list[float]) -> Doubles:
    known = means[~np.isnan(means)]
    return np.quantile(known, shares) if len(known) else np.full(len(shares), np.nan)
