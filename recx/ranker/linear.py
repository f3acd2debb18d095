"""A linear learning-to-rank model: s(user, item) = w . features, fitted by softmax cross-entropy over candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recx.design import Features, design_blocks, design_matrix, names_of
from recx.errors import InputError, RecxError
from recx.examples import Examples, Missed
from recx.ranker.softmax import Objective, by_gradient_descent, by_lbfgs, by_sgd
from recx.types import Bools, Doubles, Floats, Fold, Interactions, RankedLists, Requests


@dataclass(frozen=True)
class Linear:
    """Standardises the features over the rows it is fitted on, and finds the weights of least loss.

    features: name -> feature. l2: penalty on the squared weights. optimizer: ``lbfgs`` (to the optimum), ``gd`` or
    ``sgd`` with ``learning_rate`` and ``epochs``. missed: what happens to targets that were not retrieved: ``drop``
    (learn from what will be served) or ``add`` them to the candidates of the fit. max_users: fit on a seeded sample of
    at most so many users.
    """

    features: Features
    l2: float = 1e-4
    optimizer: Literal["lbfgs", "gd", "sgd"] = "lbfgs"
    learning_rate: float = 0.01
    epochs: int = 100
    missed: Missed = "drop"
    max_users: int = 30_000
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.features:
            raise InputError("ranker=linear has no features: choose a set such as feature=news, or ranker=identity")
        if not 0 <= self.l2 < np.inf:
            raise InputError(f"ranker.l2={self.l2}: it must be 0 or more")
        if not 0 < self.learning_rate < np.inf:
            raise InputError(f"ranker.learning_rate={self.learning_rate}: it must be positive, such as 0.01")
        if self.optimizer not in ("lbfgs", "gd", "sgd"):
            raise InputError(f"ranker.optimizer={self.optimizer!r}: choose lbfgs, gd or sgd")
        if self.missed not in ("drop", "add"):
            raise InputError(f"ranker.missed={self.missed!r}: choose drop or add")
        for key in ("epochs", "max_users"):
            if getattr(self, key) < 1:
                raise InputError(f"ranker.{key}={getattr(self, key)}: it must be 1 or more")

    def fit(self, candidates: RankedLists, fold: Fold) -> FittedLinear:
        """Learn to put ``fold.target`` first among its user's candidates.

        Raises:
            InputError: no user has a target among the candidates.
            RecxError: the weights did not come out finite.
        """
        examples = Examples.of(candidates, fold, self.missed, self.max_users, self.seed)
        notes = dict(examples.notes)
        table = design_matrix(self.features, examples.lists, fold.history, examples.requests)
        mean, deviation, constant = _standardise(table)
        objective = Objective(table, examples.gain, examples.lists.indptr, self.l2)
        weights = self._minimum(objective)
        slope = np.abs(objective.value_and_gradient(weights)[1]).max()
        notes["ranker_constant_features"] = int(constant.sum())
        notes["ranker_stopped_before_the_optimum"] = int(slope > 1e-4)
        return FittedLinear(self, names_of(self.features, examples.lists), weights, mean, deviation, notes)

    def _minimum(self, objective: Objective) -> Doubles:
        with np.errstate(over="ignore", invalid="ignore"):  # steps too long end in NaN, which is told below
            if self.optimizer == "lbfgs":
                weights = by_lbfgs(objective)
            elif self.optimizer == "gd":
                weights = by_gradient_descent(objective, self.learning_rate, self.epochs)
            else:
                weights = by_sgd(objective, self.learning_rate, self.epochs, self.seed)
        if not np.isfinite(weights).all():
            raise RecxError("ranker=linear did not converge: lower ranker.learning_rate or ranker.l2")
        return weights


@dataclass(frozen=True, eq=False)
class FittedLinear:
    """names: of the features. weight, mean, deviation: float64 [n_features], on the features in that order."""

    settings: Linear
    names: tuple[str, ...]
    weight: Doubles
    mean: Doubles
    deviation: Doubles
    notes: Mapping[str, float]

    @property
    def weights(self) -> dict[str, float]:
        """Feature name -> weight on the standardised feature."""
        return {name: float(w) for name, w in zip(self.names, self.weight, strict=True)}

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates by falling score."""
        score: Floats = np.empty(len(candidates), dtype=np.float32)
        slope = (self.weight / self.deviation).astype(np.float32)
        for rows, table in design_blocks(self.settings.features, candidates, history, requests):
            score[rows] = (table - self.mean.astype(np.float32)) @ slope
        return candidates.reorder(score)


def _standardise(table: Floats) -> tuple[Doubles, Doubles, Bools]:
    """Standardise the table in place and return (mean, deviation, whether constant) [n_features].

    Column by column, since NumPy's deviation of the whole table would copy it as float64. What varies by no more than
    the rounding of float32 is constant: it becomes 0, and so does its weight.
    """
    mean = np.array([column.mean(dtype=np.float64) for column in table.T])
    deviation = np.array([column.std(dtype=np.float64) for column in table.T])
    constant = deviation <= 1e-6 * np.abs(mean) + 1e-30
    deviation[constant] = 1.0
    table -= mean.astype(np.float32)
    table /= deviation.astype(np.float32)
    table[:, constant] = 0
    return mean, deviation, constant
