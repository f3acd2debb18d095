"""Whether a figure rises or falls over windows of time: the slope of Theil and Sen, and Kendall's test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEWEST = 4
"""Windows from which a trend is tested: with three, no order of them has a p below 0.05."""


@dataclass(frozen=True)
class Trend:
    """The trend of a figure.

    Attributes:
        slope: The median of the slopes between all pairs of windows, per window (Theil 1950, Sen 1968).
        p: The two-sided p of no trend, by Kendall's rank correlation with time (Mann 1945).
        windows: How many windows have a value.
    """

    slope: float
    p: float
    windows: int


def trend(values: Sequence[float]) -> Trend | None:
    """Return the trend of a figure, one value per window in order, NaN where there is none; None: too few values."""
    from scipy.stats import kendalltau, theilslopes

    y = np.asarray(values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(y))
    if len(known) < FEWEST:
        return None
    if np.ptp(y[known]) == 0:
        return Trend(0.0, 1.0, len(known))
    slope = float(theilslopes(y[known], known).slope)
    return Trend(slope, float(kendalltau(known, y[known]).pvalue), len(known))
