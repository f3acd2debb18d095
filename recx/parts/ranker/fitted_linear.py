"""The fitted linear ranker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import expit

from recx.core.compiled import compiled
from recx.core.fit_summary import FitSummary
from recx.core.precision import Reals
from recx.core.types import Array, Doubles, Interactions, Longs, Notes, RankedLists, Requests
from recx.parts.ranker.probability import Platt, softmax
from recx.parts.shared.design_matrix import Features, check_names, design_blocks, design_matrix

Loss = Literal["softmax", "logistic"]
Probabilities = Literal["none", "softmax", "platt"]
ROWS = 5_000  # rows summed at once, which stay in the processor's cache
FARTHEST = 100.0
"""Distance from the mean, in deviations, beyond which a value counts as this far: a feature that hardly varied in the
fit must not yield scores of millions where it does vary."""


@dataclass(frozen=True)
class CollinearGroup:
    """Features that explain one another (see ``recx.parts.shared.collinearity``).

    Attributes:
        features: Their names.
        deviation: Standard deviation of their joint contribution, the sum of weight times standardised feature, over
            the rows of the fit.
    """

    features: tuple[str, ...]
    deviation: float


@dataclass(frozen=True, eq=False)
class FittedLinear:
    """The fitted ranker.

    Attributes:
        features: Feature name -> feature.
        probabilities: What the scores of ranked lists are (see ``recx.parts.ranker.linear.Linear``).
        names: Names of the features.
        weight: Weights of the standardised features [n_features].
        low: Lower ends of the 95 % intervals of the weights [n_features], NaN if there are none.
        high: Upper ends of the intervals [n_features].
        mean: Means of the features [n_features].
        deviation: Standard deviations of the features [n_features].
        vif: Variance inflation factors [n_features], NaN for constant features and where they were not computed.
        collinear: The groups of collinear features.
        platt: Platt's calibration, if probabilities are calibrated.
        losses: The objective after each epoch.
        held_out: ``before`` and ``after`` -> the lists of the users set apart with their probabilities before and after
            calibration.
        notes: Counts of the fit.
        loss: The loss that was minimised.
        intercept: What the fit adds to the weighted sum (0 with ``softmax``).
        correction: What must be added to it, since the fit weighed or saw clicked rows and others unlike the data.
    """

    features: Features
    probabilities: Probabilities
    names: tuple[str, ...]
    weight: Doubles
    low: Doubles
    high: Doubles
    mean: Doubles
    deviation: Doubles
    vif: Doubles
    collinear: tuple[CollinearGroup, ...]
    platt: Platt
    losses: tuple[float, ...]
    held_out: Mapping[str, RankedLists]
    notes: Notes
    loss: Loss = "softmax"
    intercept: float = 0.0
    correction: float = 0.0

    @cached_property
    def summary(self) -> FitSummary:
        """The losses, the weights of the standardised features with intervals and variance inflation, the groups."""
        order = np.argsort(-np.abs(self.weight), kind="stable")  # the strongest first
        columns = {"feature": np.array(self.names, dtype=object)}
        columns |= {"weight": self.weight, "low": self.low, "high": self.high, "vif": self.vif}
        tables = {"weights": {name: column[order] for name, column in columns.items()}}
        if self.collinear:
            tables["collinear_features"] = self._groups()
        if self.loss == "logistic":
            values = {"fitted": self.intercept, "correction": self.correction, "corrected": self._log_odds}
            tables["intercept"] = {
                "intercept": np.array(list(values), dtype=object),
                "value": np.array(list(values.values())),
            }
        return FitSummary(
            notes=self.notes,
            curves={"linear/loss": self.losses},
            tables=tables,
            weights=dict(zip(self.names, self.weight.tolist(), strict=True)),
            collinear=tuple(group.features for group in self.collinear),
            held_out=self.held_out,
        )

    def _groups(self) -> dict[str, Array]:
        """Return a row per collinear feature: the deviation of its own contribution and that of its group's."""
        weight = dict(zip(self.names, np.abs(self.weight).tolist(), strict=True))  # the features have deviation 1
        rows = [(n, name, group) for n, group in enumerate(self.collinear, start=1) for name in group.features]
        return {
            "group": np.array([n for n, _, _ in rows]),
            "feature": np.array([name for _, name, _ in rows], dtype=object),
            "alone": np.array([weight[name] for _, name, _ in rows]),
            "together": np.array([group.deviation for _, _, group in rows]),
        }

    def for_users(self, history: Interactions) -> FittedLinear:
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates by decreasing score, or by decreasing probability if the settings say so.

        Raises:
            InputError: The candidates have other features than those of the fit.
        """
        score, n_cut = self._scores(candidates, history, requests)
        ranked = candidates.reorder(score)
        ranked = replace(ranked, notes={**ranked.notes, "ranker_values_cut": n_cut})
        if self.probabilities == "none" and self.loss == "softmax":
            return ranked
        probability = self.probability(ranked.score, ranked.indptr)
        return ranked.reorder(self.platt(probability) if self.probabilities == "platt" else probability)

    @property
    def _log_odds(self) -> float:
        """The log-odds of a click where every feature has its mean."""
        return self.intercept + self.correction

    def probability(self, score: Array, indptr: Longs) -> Doubles:
        """Return the probability of each row [n_rows], before calibration, given the lists' weighted sums."""
        if self.loss == "softmax":
            return softmax(score, indptr)
        return np.asarray(expit(score.astype(np.float64) + self._log_odds))

    def scores(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Doubles:
        """Return the weighted sum of the features of each row [n_rows]."""
        return self._scores(candidates, history, requests)[0]

    def _scores(self, candidates: RankedLists, history: Interactions, requests: Requests) -> tuple[Doubles, int]:
        """Return the scores [n_rows] and the number of values that were cut."""
        check_names(self.features, candidates, self.names, "linear")
        score, n_cut = np.empty(len(candidates)), 0
        slope = self.weight / self.deviation
        for rows, table in design_blocks(self.features, candidates, history, requests):
            total = np.zeros(len(rows))
            n_cut += _add_weighted(table.T, self.mean, self._farthest, slope, total)
            score[rows] = total
        return score, n_cut

    @property
    def _farthest(self) -> Doubles:
        """Each feature's largest distance from its mean [n_features]; infinite where it has no weight."""
        return np.where(self.weight == 0, np.inf, FARTHEST * self.deviation)

    def contributions(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Doubles:
        """Return weight times standardised feature [n_rows, n_features]; their sum is the weighted sum of ``scores``.

        Raises:
            InputError: The weights belong to other features than those of the settings and the candidates.
        """
        check_names(self.features, candidates, self.names, "linear")
        table = design_matrix(self.features, candidates, history, requests).astype(np.float64)
        table -= self.mean
        cut(table, self._farthest)
        table *= self.weight / self.deviation
        return table

    def with_features(self, features: Features) -> FittedLinear:
        """Return the same ranker with other features under the same names."""
        return replace(self, features=features)


@compiled("total")
def _add_weighted(columns: Reals, mean: Doubles, farthest: Doubles, weight: Doubles, total: Doubles) -> int:
    """Add each row's values, centred and cut, times the weights to its total, and return how many values were cut.

    A product of matrices rounds a row by its place among the others: of two items with the same features, one would
    come first by chance, and in blocks of other borders the other.

    Args:
        columns: The values of each feature [n_features, n_rows].
        mean: The mean of each feature [n_features].
        farthest: The largest distance of each feature from its mean [n_features].
        weight: The weight of each feature [n_features].
        total: The sum of each row [n_rows]: is written.
    """
    n_cut = 0
    for start in range(0, len(total), ROWS):
        for feature in range(len(columns)):
            for row in range(start, min(start + ROWS, len(total))):
                value = columns[feature, row] - mean[feature]
                if abs(value) > farthest[feature]:
                    value = farthest[feature] if value > 0 else -farthest[feature]
                    n_cut += 1
                total[row] += value * weight[feature]
    return n_cut


def cut(table: Array, farthest: Array) -> int:
    """Cut centred values [n_rows, n_features] in place to at most this distance [n_features]; return how many were."""
    beyond = int(np.count_nonzero(np.abs(table) > farthest))
    if beyond:
        np.clip(table, -farthest, farthest, out=table)
    return beyond
