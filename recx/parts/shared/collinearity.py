"""Which features say together what no single weight says: variance inflation factors, and groups of collinear features.

Sources: Belsley, Kuh and Welsch, Regression Diagnostics (1980), chapter 3; Marquardt, Generalized Inverses, Ridge
Regression and Biased Linear Estimation (Technometrics 1970) for the bound of 10.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from recx.core.ragged import blocks
from recx.core.types import Array, Doubles

INFLATED = 10.0
"""A feature is collinear from this variance inflation factor on: the others explain 90 % of its variance."""
LINKED = 0.5
"""Collinear features are grouped if their partial correlation, given all other features, is at least this."""
SMALLEST = 1e-9
"""Eigenvalues of the correlation matrix below this count as this, so that no factor exceeds 1e9."""
ROWS = 10_000  # rows converted to float64 at once


@dataclass(frozen=True, eq=False)
class Collinearity:
    """How far the features explain one another.

    Attributes:
        correlation: Correlations of the features [n_features, n_features], 0 for a constant feature and another.
        inflation: Variance inflation factor 1 / (1 - R²) of each feature, R² being the share of its variance that all
            others explain [n_features]; NaN for a constant feature.
        groups: Indices of the features of each group, increasing; two or more.
    """

    correlation: Doubles
    inflation: Doubles
    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, table: Array) -> Collinearity:
        """Find the groups in standardised features; constant ones are 0 everywhere.

        A group consists of features with a factor of at least ``INFLATED`` that are linked, directly or through others
        of them, by a partial correlation of at least ``LINKED``. In a dependence of several features, such as
        ``a = b + c``, these partial correlations are close to 1 although the correlations need not be.

        Args:
            table: The features, each with mean 0 [n_rows, n_features].
        """
        n = table.shape[1]
        gram = sum((_gram(table[a:b]) for a, b in blocks(len(table), ROWS)), np.zeros((n, n)))
        deviation = np.sqrt(np.diag(gram))
        constant = deviation == 0
        scale = np.where(constant, 1.0, deviation)
        correlation = gram / np.outer(scale, scale)
        np.fill_diagonal(correlation, 1.0)
        values, vectors = np.linalg.eigh(correlation)
        precision = (vectors / np.maximum(values, SMALLEST)) @ vectors.T
        inflation = np.diag(precision)
        partial = np.abs(precision) / np.sqrt(np.outer(inflation, inflation))
        inflated = (inflation >= INFLATED) & ~constant
        label = connected_components((partial >= LINKED) & np.outer(inflated, inflated), directed=False)[1]
        found = [np.flatnonzero(label == one) for one in np.unique(label)]
        groups = tuple(tuple(members.tolist()) for members in found if len(members) > 1)
        return cls(correlation, np.where(constant, np.nan, inflation), groups)

    def deviation(self, weights: Doubles, group: tuple[int, ...]) -> float:
        """Return the standard deviation, over the rows, of the weighted sum of a group's standardised features."""
        chosen = np.array(group)
        weight = weights[chosen]
        return float(np.sqrt(max(weight @ self.correlation[np.ix_(chosen, chosen)] @ weight, 0.0)))


def _gram(table: Array) -> Doubles:
    block = table.astype(np.float64)
    return np.asarray(block.T @ block)
