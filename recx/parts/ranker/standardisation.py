"""Standardises a design matrix: features that have mean 0 and deviation 1 over the rows of a fit."""

from __future__ import annotations

import numpy as np

from recx.core.precision import Reals, fits_float32
from recx.core.ragged import blocks
from recx.core.types import Bools, Doubles
from recx.parts.ranker.fitted_linear import FARTHEST, cut

ROWS = 10_000  # rows standardised at once


def standardise(table: Reals) -> tuple[Doubles, Doubles, Bools, int]:
    """Standardise the table in place and return the mean, the deviation and which features are constant [n_features].

    The number of values that were cut to ``FARTHEST`` comes last. It works in blocks, since NumPy's deviation of the
    whole table would copy it as float64. A feature that varies by no more than the rounding of its values is constant:
    its column is set to 0, and so is its weight.
    """
    borders = list(blocks(len(table), ROWS))
    mean = sum(table[a:b].sum(axis=0, dtype=np.float64) for a, b in borders) / len(table)
    deviation = np.sqrt(sum(np.square(table[a:b] - mean).sum(axis=0) for a, b in borders) / len(table))
    constant = deviation <= 1e-6 * np.abs(mean) + 1e-30
    for feature in np.flatnonzero(constant):
        constant[feature] = deviation[feature] <= _rounding(table[:, feature]) * np.abs(mean[feature]) + 1e-30
    deviation[constant] = 1.0
    n_cut, farthest = 0, np.full(len(mean), FARTHEST, dtype=np.float32)
    for a, b in borders:
        table[a:b] -= mean.astype(table.dtype)
        table[a:b] /= deviation.astype(table.dtype)
        table[a:b, constant] = 0
        n_cut += cut(table[a:b], farthest)
    return mean, deviation, constant, n_cut


def _rounding(values: Reals) -> float:
    """Return the relative error that the values of a feature may have, of which whole numbers have none."""
    if values.min() < values.max() and (values == np.rint(values)).all():
        return 0.0
    return 1e-6 if fits_float32(values) else 1e-14
