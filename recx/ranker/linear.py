"""A linear learning-to-rank model: s(user, item) = w . features, fitted by softmax cross-entropy over candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recx.errors import InputError, RecxError
from recx.protocols import Feature
from recx.ragged import group_of_rows, indptr_of
from recx.ranker.design import design_blocks, design_matrix
from recx.ranker.softmax import Objective, by_gradient_descent, by_lbfgs, by_sgd
from recx.truth import Truth
from recx.types import Bools, Doubles, Floats, Fold, Interactions, RankedLists, Requests

ANY_GAIN = float(np.finfo(np.float32).tiny)  # every target with a gain above 0 is learnt from, whatever its grade


@dataclass(frozen=True)
class Linear:
    """Standardises the features over the rows it is fitted on, and finds the weights of least loss.

    features: name -> feature. l2: penalty on the squared weights. optimizer: ``lbfgs`` (to the optimum), ``gd`` or
    ``sgd`` with ``learning_rate`` and ``epochs``. missed: what happens to targets that were not retrieved: ``drop``
    (learn from what will be served) or ``add`` them to the candidates of the fit. max_users: fit on a seeded sample of
    at most so many users.
    """

    features: Mapping[str, Feature]
    l2: float = 1e-4
    optimizer: Literal["lbfgs", "gd", "sgd"] = "lbfgs"
    learning_rate: float = 0.01
    epochs: int = 100
    missed: Literal["drop", "add"] = "drop"
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
        chosen, gain, notes = self._examples(candidates, fold)
        asked = fold.requests[np.searchsorted(fold.requests.user, chosen.user)]
        table = design_matrix(self.features, chosen, fold.history, asked)
        mean, deviation, constant = _standardise(table)
        objective = Objective(table, gain, chosen.indptr, self.l2)
        weights = self._minimum(objective)
        slope = np.abs(objective.value_and_gradient(weights)[1]).max()
        notes["ranker_constant_features"] = int(constant.sum())
        notes["ranker_stopped_before_the_optimum"] = int(slope > 1e-4)
        return FittedLinear(self, weights, mean, deviation, notes)

    def _examples(self, candidates: RankedLists, fold: Fold) -> tuple[RankedLists, Doubles, dict[str, float]]:
        """Return the lists to learn from, each row's gain, and counts of the users left out."""
        truth = Truth.of(fold, ANY_GAIN)
        lists = candidates.take(np.isin(candidates.user, truth.user))
        if self.missed == "add":
            lists = _with_missed(lists, truth)
        judged = truth.judge(lists)
        learnable = np.unique(judged.hit_user)
        if not len(learnable):
            raise InputError(
                "ranker=linear has nothing to learn from: no user of the past fold has a target among the candidates; "
                "raise n_candidates or choose ranker.missed=add, seen=keep or ranker=identity"
            )
        sample = learnable
        if len(sample) > self.max_users:
            sample = np.sort(np.random.default_rng(self.seed).choice(sample, self.max_users, replace=False))
        notes: dict[str, float] = {
            "ranker_users_fitted_on": len(sample),
            "ranker_users_without_retrieved_target": len(truth.user) - len(learnable),
            "ranker_users_not_sampled": len(learnable) - len(sample),
        }
        gain = judged.gain[np.isin(judged.lists.list_of_row, sample)].astype(np.float64)
        return lists.take(np.searchsorted(lists.user, truth.user[sample])), gain, notes

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
    """weight, mean, deviation: float64 [n_features], on the features in the order of the settings."""

    settings: Linear
    weight: Doubles
    mean: Doubles
    deviation: Doubles
    notes: Mapping[str, float]

    @property
    def weights(self) -> dict[str, float]:
        """Feature name -> weight on the standardised feature."""
        return {name: float(w) for name, w in zip(self.settings.features, self.weight, strict=True)}

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


def _with_missed(lists: RankedLists, truth: Truth) -> RankedLists:
    """Return the lists with each user's targets that were not retrieved put at the end, columns NaN."""
    width = np.int64(truth.history.n_items)
    at = np.searchsorted(truth.user, lists.user)
    have = at[lists.list_of_row] * width + lists.item
    targets = group_of_rows(truth.indptr) * width + truth.item
    missed = np.setdiff1d(targets, have)
    missed = missed[np.isin(missed // width, at)]  # a user whose list was not asked for is no part of the fit
    line = np.concatenate([lists.list_of_row, np.searchsorted(at, missed // width)])
    order = np.argsort(line, kind="stable")
    lowest = np.full(len(missed), lists.score.min(initial=0), dtype=np.float32)
    unknown = np.full(len(missed), np.nan, dtype=np.float32)
    return replace(
        lists,
        indptr=indptr_of(np.bincount(line, minlength=lists.n_lists)),
        item=np.concatenate([lists.item, (missed % width).astype(np.int32)])[order],
        score=np.concatenate([lists.score, lowest])[order],
        columns={name: np.concatenate([column, unknown])[order] for name, column in lists.columns.items()},
    )
