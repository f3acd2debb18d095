"""The Pareto front of a set of points."""

from __future__ import annotations

import numpy as np

from recx.core.types import Bools, Doubles


def front(points: Doubles) -> Bools:
    """Return which points are on the Pareto front, where less is better in every column.

    A point is dominated by one that is nowhere worse and somewhere better; equal points do not dominate each other.
    A point with a NaN is not on the front and dominates none.

    Args:
        points: [n, m].

    Returns:
        Mask of the points on the front [n].
    """
    known: Bools = ~np.asarray(np.isnan(points).any(axis=1))
    one, other = points[:, None, :], points[None, :, :]
    dominates = (one <= other).all(axis=2) & (one < other).any(axis=2) & known[:, None]
    return known & ~np.asarray(dominates.any(axis=0))
