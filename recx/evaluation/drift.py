"""How far the distribution of a number has moved: the population stability index (PSI) against a reference.

PSI = sum over bins of (p - q) · ln(p / q), where q and p are the shares of the reference and of what is compared with
it: the divergence of Jeffreys (1946). Siddiqi, Credit Risk Scorecards (2006), reads a PSI below 0.1 as no drift worth
acting on, one up to 0.25 as moderate, and more as large. Of few rows it is large by chance alone: with B bins, N rows
of the reference and M of the other sample, it is about (1/N + 1/M) · chi² with B - 1 degrees of freedom where nothing
has moved (Yurdakul, Statistical Properties of Population Stability Index, 2018). ``Drift.noise`` is the value that this
exceeds in 5 % of cases, and nothing below it is called drift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recx.core.types import Array, Doubles, Longs

BINS = 10
"""Bins of a reference: its tenths, fewer where many values are equal."""
MODERATE, LARGE = 0.1, 0.25
SMOOTHING = 0.5
"""Added to the count of every bin, so that an empty one has no infinite logarithm (Krichevsky, Trofimov, 1981)."""
LEVEL = 0.95

Size = Literal["none", "moderate", "large", "unknown"]


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a reference.

    Attributes:
        edges: The upper ends of all bins but the last, which belong to their bins, increasing [n_bins - 1].
        counts: Rows of the reference in each bin [n_bins].
        units: How many rows of the reference are independent of each other, such as its users; at most its rows.
    """

    edges: Doubles
    counts: Longs
    units: int

    @classmethod
    def of(cls, values: Array, units: int | None = None) -> Bins:
        """Return the tenths of values [n]; where all are equal, what lies below and above is a bin of its own."""
        known = np.sort(np.asarray(values, dtype=np.float64))
        n = len(known) if units is None else units
        if not len(known):
            return cls(np.zeros(0), np.zeros(1, dtype=np.int64), 0)
        edges = np.unique(known[(len(known) * np.arange(1, BINS) - 1) // BINS])  # the last value of each tenth
        edges = edges[edges < known[-1]]
        if not len(edges):
            edges = np.array([np.nextafter(known[0], -np.inf), known[0]])
        return cls(edges, _counts(edges, known), n)


@dataclass(frozen=True)
class Drift:
    """How far a distribution is from that of a reference.

    Attributes:
        psi: The population stability index; NaN where either has no rows.
        noise: The value that the index exceeds in 5 % of cases where nothing has moved.
        bins: The number of bins.
    """

    psi: float
    noise: float
    bins: int

    def size(self, moderate: float = MODERATE, large: float = LARGE) -> Size:
        """Return what the index means; what chance explains is none."""
        if np.isnan(self.psi):
            return "unknown"
        if self.psi < moderate or self.psi <= self.noise:
            return "none"
        return "moderate" if self.psi <= large else "large"


def drift(reference: Bins, values: Array, units: int | None = None) -> Drift:
    """Return how far values [n] are from a reference.

    Args:
        reference: Its bins.
        values: The values.
        units: How many of them are independent of each other; None: all. Rows of one user are alike, so that fewer
            users than rows make the index noisier than the rows say.
    """
    return of_counts(
        reference,
        _counts(reference.edges, np.asarray(values, dtype=np.float64)),
        len(values) if units is None else units,
    )


def of_counts(reference: Bins, counts: Longs, units: int) -> Drift:
    """Return how far counts by bin [n_bins] are from a reference (see ``drift``)."""
    from scipy.stats import chi2

    n_bins = len(reference.counts)
    if not reference.counts.sum() or not counts.sum() or not reference.units or not units:
        return Drift(float("nan"), float("nan"), n_bins)
    q, p = (_shares(one) for one in (reference.counts, counts))
    psi = float(((p - q) * np.log(p / q)).sum())
    noise = (1 / reference.units + 1 / units) * float(chi2.ppf(LEVEL, n_bins - 1))
    return Drift(psi, noise, n_bins)


def _counts(edges: Doubles, values: Doubles) -> Longs:
    return np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)


def _shares(counts: Longs) -> Doubles:
    smooth = counts + SMOOTHING
    return np.asarray(smooth / smooth.sum())
