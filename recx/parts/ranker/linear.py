"""A linear model, s(user, item) = w . features, fitted over lists (softmax, to rank) or rows (logistic, to predict)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from recx.core.bounds import Decay, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, Seed, check
from recx.core.errors import InputError, RecxError
from recx.core.precision import Reals
from recx.core.resampling import bootstrap
from recx.core.types import Bools, Doubles, Fold, Interactions, RankedLists
from recx.parts.ranker import logistic, softmax
from recx.parts.ranker.fitted_linear import CollinearGroup, FittedLinear, Loss, Probabilities
from recx.parts.ranker.logistic import Classes, kept_rows
from recx.parts.ranker.optimizers import Minimum, Objective, by_gradient_descent, by_lbfgs, by_sgd
from recx.parts.ranker.probability import Platt, cross_fitted
from recx.parts.ranker.standardisation import standardise
from recx.parts.shared.collinearity import Collinearity
from recx.parts.shared.design_matrix import Features, design_blocks, design_matrix, names_of
from recx.parts.shared.training_examples import Examples, Unretrieved
from recx.storage.cache.store import kept

CALIBRATED_ON = 0.1  # share of the users of the past fold that Platt's calibration is fitted on


@dataclass(frozen=True)
class Linear:
    """Standardises the features over the training rows and minimises the loss.

    A value more than 100 deviations from the mean counts as 100 deviations, in the fit and later: a feature that
    hardly varies in the fit cannot outweigh all others where it does vary. Such values are counted.

    Attributes:
        features: Feature name -> feature.
        loss: ``softmax``, the cross-entropy over each user's candidates, which learns an order, from the users with a
            target among them; ``logistic``, the log loss of every candidate of every user who asked, which learns the
            probability that it is a target (is clicked), whatever the grade.
        l2: Penalty on the squared weights; the mean loss is over users (softmax) or over rows (logistic).
        class_weight: Of ``logistic``: weight of a clicked row, where any other has 1; ``balanced``: both classes count
            the same. The probabilities are corrected for it (see ``recx.parts.ranker.logistic``).
        negative_share: Of ``logistic``: share of the rows without a click that are learned from, drawn at random. The
            probabilities are corrected for it.
        optimizer: ``lbfgs`` (to the optimum), or ``gd`` or ``sgd`` with ``learning_rate`` and ``epochs``.
        learning_rate: Step size of ``gd`` and ``sgd``.
        epochs: Number of passes of ``gd`` and ``sgd``.
        non_negative: Whether all weights are kept at 0 or above.
        probabilities: The scores of the ranked lists. Of ``softmax``: ``none`` (the weighted sum) or the ``softmax``
            over the user's candidates; of ``logistic``: ``none`` (the probability as fitted). Of both: its calibration
            by ``platt``, fitted on a random tenth of the users that the fit leaves out.
        user_weight: Column of the users' table with the weight of each user in the loss, or None (equal weights).
        resamples: Number of bootstrap samples for the 95 % intervals of the weights; 0: no intervals, and no search for
            collinear features.
        missed: Whether to ``drop`` targets that were not retrieved, or to ``add`` them to the candidates of the fit.
        max_users: Largest number of users to fit on, drawn at random.
        seed: Seed of the draws, of the order of ``sgd`` and of the bootstrap.
    """

    features: Features
    loss: Loss = "softmax"
    l2: NonNegativeFloat = 1e-4
    class_weight: Literal["balanced"] | PositiveFloat | None = None
    negative_share: Decay = 1.0
    optimizer: Literal["lbfgs", "gd", "sgd"] = "lbfgs"
    learning_rate: PositiveFloat = 0.01
    epochs: PositiveInt = 100
    non_negative: bool = False
    probabilities: Probabilities = "none"
    user_weight: str | None = None
    resamples: NonNegativeInt = 1_000
    missed: Unretrieved = "drop"
    max_users: PositiveInt = 30_000
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "ranker")
        if not self.features:
            raise InputError("ranker=linear has no features: choose a set such as feature=news, or ranker=identity")
        if self.loss == "softmax" and (self.class_weight is not None or self.negative_share < 1):
            name = "negative_share" if self.class_weight is None else "class_weight"
            raise InputError(
                f"ranker.{name} is of ranker.loss=logistic, and the loss is softmax: choose that, or leave it"
            )
        if self.loss == "logistic" and self.probabilities == "softmax":
            raise InputError(
                "ranker.probabilities=softmax is of ranker.loss=softmax: with loss=logistic the scores are "
                "probabilities: choose none, or platt, which calibrates them"
            )
        if self.loss == "logistic" and self.missed == "add":
            raise InputError(
                "ranker.missed=add is of ranker.loss=softmax: with loss=logistic, clicks on items that are no "
                "candidates would make every probability too high: choose missed=drop"
            )

    @property
    def gives_probabilities(self) -> bool:
        """Whether the scores are probabilities."""
        return self.probabilities != "none" or self.loss == "logistic"

    @property
    def sample(self) -> tuple[int, int]:
        """The largest number of users that it learns from, and the seed of their draw."""
        return self.max_users, self.seed

    def fit(self, candidates: RankedLists, fold: Fold) -> FittedLinear:
        """Learn to rank ``fold.target`` first among its user's candidates.

        Raises:
            InputError: No user has a target among the candidates, ``user_weight`` is not a usable column, or
                ``logistic`` lacks rows of either class.
            RecxError: The weights are not finite.
        """
        # The preparation is cached by the settings it depends on, not by l2 and the optimizer.
        apart_from = ("features", "loss", "negative_share", "probabilities", "missed", "max_users", "seed")
        given = Linear(**{name: getattr(self, name) for name in apart_from})
        prepared = kept("examples", given, lambda: self._prepared(candidates, fold), candidates, fold)
        examples, apart, table, mean, deviation, constant, n_cut = prepared
        weight_of_user = self._weight_of_users(examples, fold.history)
        objective, correction = self._objective(examples, table, weight_of_user)
        n, least = table.shape[1], objective.least(self.non_negative)
        with threadpool_limits(1, user_api="blas"):  # the products are too small for several threads
            found = self._minimum(objective)
            slope = objective.value_and_gradient(found.weights)[1]
            free = (found.weights > least) | (slope < 0)
            moves = free & ~np.append(constant, np.zeros(len(free) - n, dtype=bool))
            low, high = self._intervals(objective, found.weights, moves)
        notes = {
            **examples.notes,
            "ranker_users_of_weight_0": int((weight_of_user == 0).sum()),
            "ranker_constant_features": int(constant.sum()),
            "ranker_values_cut_in_fit": n_cut,
            "ranker_stopped_before_the_optimum": int(np.abs(slope[free]).max(initial=0) > 1e-4),
        }
        names = names_of(self.features, examples.lists)
        vif, collinear = self._collinear(table, found.weights[:n], names)
        fitted = FittedLinear(
            self.features,
            self.probabilities,
            names,
            found.weights[:n],
            low[:n],
            high[:n],
            mean,
            deviation,
            vif,
            collinear,
            Platt(),
            found.losses,
            held_out={},
            notes=notes,
            loss=self.loss,
            intercept=float(found.weights[n:].sum()),
            correction=correction,
        )
        return fitted if apart is None else _calibrated(fitted, apart, fold.history, self.seed)

    def _prepared(
        self, candidates: RankedLists, fold: Fold
    ) -> tuple[Examples, Examples | None, Reals, Doubles, Doubles, Bools, int]:
        """Return the examples to fit and to calibrate on, and the standardised table (see ``standardise``)."""
        whole = self.loss == "logistic"
        examples, apart = Examples.of(candidates, fold, self.missed, self.max_users, self.seed, whole), None
        if self.probabilities == "platt":
            examples, apart = examples.set_apart(CALIBRATED_ON, self.seed)
        if self.negative_share == 1:
            table = design_matrix(self.features, examples.lists, fold.history, examples.requests)
        else:
            rows = kept_rows(examples.gain > 0, self.negative_share, self.seed)
            # Features such as the rank in the list are those of the whole lists, which are served too.
            made = design_blocks(self.features, examples.lists, fold.history, examples.requests)
            table = np.concatenate([block[rows[at]] for at, block in made])
            examples = examples.of_rows(rows)
        return examples, apart, table, *standardise(table)

    def _objective(self, examples: Examples, table: Reals, weight_of_user: Doubles) -> tuple[Objective, float]:
        """Return the loss, and what corrects its intercept (see ``recx.parts.ranker.logistic``)."""
        lists = examples.lists
        weight = np.repeat(weight_of_user, lists.lengths)
        if self.loss == "softmax":
            return softmax.Objective(table, examples.gain * weight, lists.indptr, self.l2), 0.0
        clicked = examples.gain > 0
        classes = Classes.of(clicked, self.class_weight, self.negative_share)
        weight = weight * classes.weights(clicked)
        return logistic.Objective.of(table, clicked, weight, lists.indptr, self.l2), classes.correction

    def without_diagnostics(self) -> Linear:
        """Return the same ranker without intervals of the weights and groups of collinear features."""
        return replace(self, resamples=0)

    def _collinear(
        self, table: Reals, weights: Doubles, names: tuple[str, ...]
    ) -> tuple[Doubles, tuple[CollinearGroup, ...]]:
        """Return the variance inflation factors [n_features] and the groups; NaN and none without diagnostics."""
        if not self.resamples:
            return np.full(len(weights), np.nan), ()
        found = Collinearity.of(table)
        groups = tuple(
            CollinearGroup(tuple(names[at] for at in group), found.deviation(weights, group)) for group in found.groups
        )
        return found.inflation, groups

    def _minimum(self, objective: Objective) -> Minimum:
        with np.errstate(over="ignore", invalid="ignore"):  # steps that are too long end in NaN, reported below
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
        """Return the weight of each list's user [n_lists], 1 on average.

        Raises:
            InputError: The column does not exist, or contains values that are not weights.
        """
        if self.user_weight is None:
            return np.ones(len(examples))
        users, key = history.users, f"ranker.user_weight={self.user_weight!r}"
        numeric = {name: column for name, column in users.table.items() if column.dtype.kind in "iuf"}
        if self.user_weight not in numeric:
            known = ", ".join(sorted(numeric)) or "none"
            raise InputError(f"{key} is not a numeric column of the users' table: it has {known}")
        weight = numeric[self.user_weight][examples.lists.user].astype(np.float64)
        wrong = ~np.isfinite(weight) | (weight < 0)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"{key}: user {users.ids[examples.lists.user[row]]} has the weight {weight[row]}, and a weight must be "
                "0 or more: correct it in the data"
            )
        if not weight.any():
            raise InputError(f"{key}: every user to learn from has the weight 0: correct the data")
        return np.asarray(weight / weight.mean())

    def _intervals(self, objective: Objective, weights: Doubles, free: Bools) -> tuple[Doubles, Doubles]:
        """Return the lower and upper ends of the 95 % bootstrap intervals [n_features], NaN without resamples.

        Each resample of the users takes one Newton step from the weights instead of a new fit: Davidson and MacKinnon,
        Bootstrap Testing in Nonlinear Models (1999). A weight that is bounded at 0 stays there.
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
    """Return the ranker with Platt's calibration, fitted on users that the fit of the weights left out."""
    lists = apart.lists
    probability = fitted.probability(fitted.scores(lists, history, apart.requests), lists.indptr)
    relevant = apart.gain > 0
    half = np.random.default_rng(seed).permutation(lists.n_lists) < lists.n_lists / 2
    after = cross_fitted(probability, relevant, np.repeat(half, lists.lengths))
    return replace(
        fitted,
        platt=Platt.fit(probability, relevant),
        held_out={"before": lists.reorder(probability), "after": lists.reorder(after)},
        notes={**fitted.notes, "ranker_users_calibrated_on": len(apart)},
    )
