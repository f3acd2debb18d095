"""Which of several points no other dominates."""

from __future__ import annotations

import numpy as np

from recx.core.types import Bools, Doubles


def front(points: Doubles) -> Bools:
    """Return which points [n, m] are on the Pareto front, where less is better in every column.

    A point is dominated by one that is nowhere worse and somewhere better; equal points do not dominate each other.
    A point with a NaN is not on the front and dominates none.
    """
    known: Bools = ~np.logical_or.reduce(np.isnan(points), axis=1)
    one, other = points[:, None, :], points[None, :, :]
    no_worse: Bools = np.logical_and.reduce(one <= other, axis=2)
    better: Bools = np.logical_or.reduce(one < other, axis=2)
    kept: Bools = known & ~np.logical_or.reduce(no_worse & better & known[:, None], axis=0)
    return kept
