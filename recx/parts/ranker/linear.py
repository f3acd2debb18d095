"""A linear learning-to-rank model: s(user, item) = w . features, fitted by softmax cross-entropy over candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from recx.core.bounds import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, Seed, check
from recx.core.errors import InputError, RecxError
from recx.core.ragged import blocks
from recx.core.resampling import bootstrap
from recx.core.types import Bools, Doubles, Floats, Fold, Interactions, RankedLists
from recx.parts.ranker.fitted_linear import FittedLinear, load
from recx.parts.ranker.probability import Platt, cross_fitted, softmax
from recx.parts.ranker.softmax import Minimum, Objective, by_gradient_descent, by_lbfgs, by_sgd
from recx.parts.shared.design_matrix import Features, design_matrix, names_of
from recx.parts.shared.training_examples import Examples, Unretrieved
from recx.storage.cache.store import kept

CALIBRATED_ON = 0.1  # share of the past fold's users whom Platt's calibration is fitted on
ROWS = 10_000  # rows standardised at once


@dataclass(frozen=True)
class Linear:
    """Standardises the features over the rows it is fitted on, and finds the weights of least loss.

    features: name -> feature. l2: penalty on the squared weights. optimizer: ``lbfgs`` (to the optimum), ``gd`` or
    ``sgd`` with ``learning_rate`` and ``epochs``. non_negative: keep every weight at 0 or above. probabilities: what
    goes out as scores: ``none`` (the weighted sum), ``softmax`` over the user's candidates, or that calibrated by
    ``platt`` on a seeded tenth of the users, who are then no part of the fit. user_weight: a column of the users' table
    that says how much each user counts in the loss, or None (all alike). resamples: of the bootstrap that the weights'
    95 % intervals come from (0: no intervals). missed: what happens to targets that were not retrieved: ``drop`` (learn
    from what will be served) or ``add`` them to the candidates of the fit. max_users: fit on a seeded sample of at most
    so many users.
    """

    features: Features
    l2: NonNegativeFloat = 1e-4
    optimizer: Literal["lbfgs", "gd", "sgd"] = "lbfgs"
    learning_rate: PositiveFloat = 0.01
    epochs: PositiveInt = 100
    non_negative: bool = False
    probabilities: Literal["none", "softmax", "platt"] = "none"
    user_weight: str | None = None
    resamples: NonNegativeInt = 1_000
    missed: Unretrieved = "drop"
    max_users: PositiveInt = 30_000
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "ranker")
        if not self.features:
            raise InputError("ranker=linear has no features: choose a set such as feature=news, or ranker=identity")

    def fit(self, candidates: RankedLists, fold: Fold) -> FittedLinear:
        """Learn to put ``fold.target`` first among its user's candidates.

        Raises:
            InputError: no user has a target among the candidates, or ``user_weight`` names no usable column.
            RecxError: the weights did not come out finite.
        """
        # What does not depend on l2 and the way to the minimum is kept apart from them.
        apart_from = ("features", "probabilities", "missed", "max_users", "seed")
        given = Linear(**{name: getattr(self, name) for name in apart_from})
        prepared = kept("examples", given, lambda: self._prepared(candidates, fold), candidates, fold)
        examples, apart, table, mean, deviation, constant = prepared
        weight_of_user = self._weight_of_users(examples, fold.history)
        gain = examples.gain * np.repeat(weight_of_user, examples.lists.lengths)
        objective = Objective(table, gain, examples.lists.indptr, self.l2)
        with threadpool_limits(1, user_api="blas"):  # products so small that threads would wait for each other
            found = self._minimum(objective)
            slope = objective.value_and_gradient(found.weights)[1]
            free = (found.weights > 0) | (slope < 0) | (not self.non_negative)
            low, high = self._intervals(objective, found.weights, free & ~constant)
        notes = {
            **examples.notes,
            "ranker_users_of_weight_0": int((weight_of_user == 0).sum()),
            "ranker_constant_features": int(constant.sum()),
            "ranker_stopped_before_the_optimum": int(np.abs(slope[free]).max(initial=0) > 1e-4),
        }
        names = names_of(self.features, examples.lists)
        scale = {"mean": mean, "deviation": deviation}
        fitted = FittedLinear(
            self, names, found.weights, low, high, **scale, platt=Platt(), losses=found.losses, held_out={}, notes=notes
        )
        return fitted if apart is None else _calibrated(fitted, apart, fold.history, self.seed)

    def _prepared(
        self, candidates: RankedLists, fold: Fold
    ) -> tuple[Examples, Examples | None, Floats, Doubles, Doubles, Bools]:
        """Return what to fit on, what to calibrate on, and the former's standardised table (see ``_standardise``)."""
        examples, apart = Examples.of(candidates, fold, self.missed, self.max_users, self.seed), None
        if self.probabilities == "platt":
            examples, apart = examples.set_apart(CALIBRATED_ON, self.seed)
        table = design_matrix(self.features, examples.lists, fold.history, examples.requests)
        return examples, apart, table, *_standardise(table)

    def load(self, folder: Path) -> FittedLinear:
        """Return the ranker that was fitted with these settings and saved into a folder; raises as ``load`` does."""
        return load(folder, self)

    def without_diagnostics(self) -> Linear:
        """Return the same ranker without the weights' intervals."""
        return replace(self, resamples=0)

    def _minimum(self, objective: Objective) -> Minimum:
        with np.errstate(over="ignore", invalid="ignore"):  # steps too long end in NaN, which is told below
            if self.optimizer == "lbfgs":
                found = by_lbfgs(objective, self.non_negative)
            elif self.optimizer == "gd":
                found = by_gradient_descent(objective, self.learning_rate, self.epochs, self.non_negative)
            else:
                found = by_sgd(objective, self.learning_rate, self.epochs, self.seed, self.non_negative)
        if not np.isfinite(found.weights).all():
            raise RecxError("ranker=linear did not converge: lower ranker.learning_rate or ranker.l2")
        return found

    def _weight_of_users(self, examples: Examples, history: Interactions) -> Doubles:
        """Return how much each list's user counts [n_lists], 1 on average.

        Raises:
            InputError: there is no such column, or it holds what cannot be a weight.
        """
        users = history.users
        if self.user_weight is None:
            return np.ones(len(examples))
        if self.user_weight not in users.table or users.table[self.user_weight].dtype.kind not in "iuf":
            known = ", ".join(sorted(name for name, column in users.table.items() if column.dtype.kind in "iuf"))
            raise InputError(
                f"ranker.user_weight={self.user_weight!r} is no column of numbers of the users' table: "
                f"it has {known or 'none'}"
            )
        weight: Doubles = users.table[self.user_weight][examples.lists.user].astype(np.float64)
        wrong = ~np.isfinite(weight) | (weight < 0)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"ranker.user_weight={self.user_weight!r}: user {users.ids[examples.lists.user[row]]} has the weight "
                f"{weight[row]}, and a weight is a number from 0 up: correct it in the data"
            )
        if not weight.any():
            raise InputError(
                f"ranker.user_weight={self.user_weight!r}: every user to learn from has the weight 0: correct the data"
            )
        weight /= weight.mean()
        return weight

    def _intervals(self, objective: Objective, weights: Doubles, free: Bools) -> tuple[Doubles, Doubles]:
        """Return the ends of the 95 % bootstrap intervals [n_features] each; NaN where there are none.

        Each resample of the users takes one Newton step from the weights, so none is fitted anew: Davidson and
        MacKinnon, Bootstrap Testing in Nonlinear Models (1999). A weight held at 0 stays there.
        """
        if not self.resamples:
            return np.full(len(weights), np.nan), np.full(len(weights), np.nan)
        low, high = weights.copy(), weights.copy()
        if free.any():
            hessian = objective.curvature(weights)[np.ix_(free, free)]
            steps = objective.gradient_of_users(weights)[:, free] @ np.linalg.pinv(hessian, hermitian=True)
            low[free], high[free] = bootstrap(weights[free] - steps, resamples=self.resamples, seed=self.seed)
        least = 0.0 if self.non_negative else -np.inf
        return np.maximum(low, least), np.maximum(high, least)


def _calibrated(fitted: FittedLinear, apart: Examples, history: Interactions, seed: int) -> FittedLinear:
    """Return the ranker with Platt's numbers, fitted on users that the weights never saw."""
    lists = apart.lists
    probability = softmax(fitted.scores(lists, history, apart.requests), lists.indptr)
    relevant = apart.gain > 0
    half = np.random.default_rng(seed).permutation(lists.n_lists) < lists.n_lists / 2
    after = cross_fitted(probability, relevant, np.repeat(half, lists.lengths))
    return replace(
        fitted,
        platt=Platt.fit(probability, relevant),
        held_out={"before": lists.reorder(probability), "after": lists.reorder(after)},
        notes={**fitted.notes, "ranker_users_calibrated_on": len(apart)},
    )


def _standardise(table: Floats) -> tuple[Doubles, Doubles, Bools]:
    """Standardise the table in place and return (mean, deviation, whether constant) [n_features].

    Block by block, since NumPy's deviation of the whole table would copy it as float64. What varies by no more than the
    rounding of float32 is constant: it becomes 0, and so does its weight.
    """
    borders = list(blocks(len(table), ROWS))
    mean = sum(table[a:b].sum(axis=0, dtype=np.float64) for a, b in borders) / len(table)
    deviation = np.sqrt(sum(np.square(table[a:b] - mean).sum(axis=0) for a, b in borders) / len(table))
    constant = deviation <= 1e-6 * np.abs(mean) + 1e-30
    deviation[constant] = 1.0
    for a, b in borders:
        table[a:b] -= mean.astype(np.float32)
        table[a:b] /= deviation.astype(np.float32)
    table[:, constant] = 0
    return mean, deviation, constant
