"""Chains ranked over worlds: Friedman's test, and by Nemenyi's which of them are not told apart.

Source: Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets (Journal of Machine Learning Research 7,
2006).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.types import Doubles

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 3
"""Below so many chains or worlds nothing is tested."""
LEVEL = 0.05
DECIMALS = 12
"""Means are equal if they are the same up to so many decimals: sums in another order differ beyond."""
ASSIGNMENTS = 10_000
"""Assignments of the ranks in each world that are tried; all of them, if there are no more."""


@dataclass(frozen=True)
class AverageRanks:
    """How chains rank over worlds.

    Attributes:
        ranks: Chain -> its mean rank over the worlds, 1 being the best; the best first.
        worlds: The worlds that are ranked.
        left_out: What is not ranked -> why.
        untested: Why nothing is tested; "" where it is.
        friedman: Friedman's chi-squared, corrected for ties; NaN, as what follows, where nothing is tested.
        p_friedman: Its p-value by the chi-squared distribution, which is rough for a few worlds.
        p: Its p-value over assignments of the ranks within each world.
        critical_difference: Nemenyi's: average ranks that differ by less are not told apart at the level 0.05.
        groups: The largest groups of chains of which no two are told apart.
    """

    ranks: Mapping[str, float]
    worlds: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    untested: str = ""
    friedman: float = math.nan
    p_friedman: float = math.nan
    p: float = math.nan
    critical_difference: float = math.nan
    groups: tuple[tuple[str, ...], ...] = ()


def average_ranks(means: pd.DataFrame, *, falling: bool = False) -> AverageRanks:
    """Rank the chains of a table in each world, the best first, ties sharing the mean of their ranks.

    Only a full table can be ranked: a world in which no chain has a figure is left out, then every chain that lacks a
    world. The chi-squared distribution of Friedman's statistic, and Iman's and Davenport's F, which is infinite where
    all worlds agree, hold for many worlds. A table of a paper has few: p counts the assignments of ranks in each world
    that give a statistic at least as large, all of them or 10,000 at random.

    Args:
        means: A row per chain, a column per world; NaN where there is no figure.
        falling: Whether a smaller figure is better.
    """
    from scipy.stats import rankdata

    empty = [world for world in means if means[world].isna().all()]
    known = means.drop(columns=empty)
    partial = known.index[known.isna().any(axis=1)]
    left_out = {str(world): "no chain has a figure there" for world in empty}
    left_out |= {str(chain): f"no figure in {_listed(known.columns[known.loc[chain].isna()])}" for chain in partial}
    whole = known.drop(index=partial)
    if not whole.size:
        return AverageRanks({}, (), left_out, "no chain has a figure in every world")
    values = np.round(whole.to_numpy(dtype=np.float64), DECIMALS)
    ranks = rankdata(values if falling else -values, axis=0)
    average = {str(name): float(rank) for name, rank in zip(whole.index, ranks.mean(axis=1), strict=True)}
    average = dict(sorted(average.items(), key=lambda ranked: ranked[1]))
    worlds = tuple(map(str, whole.columns))
    if min(ranks.shape) < FEWEST:
        counts = f"{_plural(ranks.shape[0], 'chain')} in {_plural(ranks.shape[1], 'world')}"
        return AverageRanks(average, worlds, left_out, f"{counts}: ranks are tested from {FEWEST} chains and worlds on")
    if (np.ptp(ranks, axis=0) == 0).all():
        return AverageRanks(average, worlds, left_out, "all chains have the same figures")
    reach = critical_difference(*ranks.shape)
    return AverageRanks(average, worlds, left_out, "", *friedman(ranks), reach, not_told_apart(average, reach))


def friedman(ranks: Doubles) -> tuple[float, float, float]:
    """Return Friedman's chi-squared, its p-value by that distribution, and that over assignments of the ranks.

    Args:
        ranks: [n_chains, n_worlds], at least three chains.
    """
    from scipy.stats import friedmanchisquare, permutation_test

    def spread(*chains: Any, axis: int) -> Any:  # rises with chi-squared, whose other terms are the same for all
        return sum(chain.mean(axis=axis) ** 2 for chain in chains)

    found = friedmanchisquare(*ranks)
    by_chance = permutation_test(
        tuple(ranks),
        spread,
        permutation_type="samples",
        vectorized=True,
        n_resamples=ASSIGNMENTS,
        batch=1000,
        alternative="greater",
        random_state=0,
    )
    return float(found.statistic), float(found.pvalue), float(by_chance.pvalue)


@cache  # takes 50 ms
def critical_difference(n_chains: int, n_worlds: int) -> float:
    """Return Nemenyi's critical difference of average ranks: q / sqrt(2) · sqrt(k (k + 1) / 6 N) (Demšar, 3.2.2).

    Args:
        n_chains: k.
        n_worlds: N.
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - LEVEL, n_chains, np.inf)) / math.sqrt(2)
    return q * math.sqrt(n_chains * (n_chains + 1) / (6 * n_worlds))


def not_told_apart(ranks: Mapping[str, float], reach: float) -> tuple[tuple[str, ...], ...]:
    """Return the largest groups of two chains or more whose average ranks differ by less than ``reach``.

    Args:
        ranks: Chain -> average rank, rising.
        reach: The critical difference.
    """
    names, values = list(ranks), np.array(list(ranks.values()))
    ends = [int(np.count_nonzero(values - values[first] < reach)) for first in range(len(names))]
    ends = [0, *ends]  # a group that ends where an earlier one does is a part of that
    return tuple(
        tuple(names[first:end])
        for first, (before, end) in enumerate(pairwise(ends))
        if end > before and end - first > 1
    )


def _listed(names: Any) -> str:
    return ", ".join(map(str, names))


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
