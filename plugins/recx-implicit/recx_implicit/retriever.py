"""``retriever=als``, ``bpr`` and ``lmf``: matrix factorisation of the users' clicks, learnt by implicit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from implicit.cpu.als import AlternatingLeastSquares
from implicit.cpu.bpr import BayesianPersonalizedRanking
from implicit.cpu.lmf import LogisticMatrixFactorization
from implicit.recommender_base import ModelFitError

from recx.plugin import (
    Array,
    Floats,
    InputError,
    Interactions,
    Longs,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    RecxError,
    Seed,
    Seen,
    available,
    bar,
    checked,
    one_blas_thread,
)
from recx_implicit.clicks import Columns, Value, fingerprints
from recx_implicit.fitted import FittedALS, FittedFactors

__all__ = ["ALS", "BPR", "LMF"]


@dataclass(frozen=True)
@checked("retriever")
class ALS:
    """Alternating least squares (Hu, Koren and Volinsky 2008), as implemented by implicit.

    Attributes:
        factors: Numbers per user and per item.
        regularization: Penalty on the squared factors.
        alpha: Confidence of a click relative to that of no click.
        iterations: Passes over all users and all items.
        value: What a user's events of an item count: one, or the sum of their weights.
        seed: Seed of the first factors.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    factors: PositiveInt = 100
    regularization: PositiveFloat = 0.01
    alpha: PositiveFloat = 1.0
    iterations: PositiveInt = 15
    value: Value = "one"
    seed: Seed = 0
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedALS:
        """Learn the factors of all users and items with events.

        Raises:
            InputError: There are no more users or items with events than factors.
            RecxError: The factors diverge.
        """
        clicks = _Clicks.of("als", history, self.factors, self.value)
        settings = {"regularization": self.regularization, "alpha": self.alpha, "iterations": self.iterations}
        learnt = clicks.learn(
            lambda: AlternatingLeastSquares(self.factors, **settings, num_threads=available(), random_state=self.seed)
        )
        clicked = fingerprints(clicks.matrix)[clicks.order]
        return FittedALS(*clicks.found(learnt, self.seen), clicked, self.regularization, self.alpha, self.value)


@dataclass(frozen=True)
@checked("retriever")
class BPR:
    """Bayesian personalised ranking (Rendle et al. 2009), as implemented by implicit.

    Attributes:
        factors: Numbers per user and per item, beside the bias of each item.
        learning_rate: Step of each pair.
        regularization: Penalty on the squared factors.
        iterations: Passes: as many pairs each as there are clicks.
        verify: Skip pairs whose other item the user has clicked too.
        reproducible: Learn on one thread; False: on all, whose steps mix differently in every fit.
        seed: Seed of the first factors and the pairs.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    factors: PositiveInt = 100
    learning_rate: PositiveFloat = 0.01
    regularization: NonNegativeFloat = 0.01
    iterations: PositiveInt = 100
    verify: bool = True
    reproducible: bool = True
    seed: Seed = 0
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedFactors:
        """Learn the factors of all users and items with events.

        Raises:
            InputError: There are no more users or items with events than factors.
            RecxError: The factors diverge.
        """
        clicks = _Clicks.of("bpr", history, self.factors, "one")
        learnt = clicks.learn(
            lambda: BayesianPersonalizedRanking(
                self.factors,
                self.learning_rate,
                self.regularization,
                iterations=self.iterations,
                verify_negative_samples=self.verify,
                num_threads=1 if self.reproducible else available(),
                random_state=self.seed,
            )
        )
        return FittedFactors(*clicks.found(learnt, self.seen))


@dataclass(frozen=True)
@checked("retriever")
class LMF:
    """Logistic matrix factorisation (Johnson 2014), as implemented by implicit.

    Attributes:
        factors: Numbers per user and per item, beside the bias of each.
        learning_rate: Largest step, which Adagrad lowers.
        regularization: Penalty on the squared factors.
        iterations: Passes over all users and all items.
        negatives: Items drawn as not clicked per click.
        value: What a user's events of an item count: one, or the sum of their weights.
        reproducible: Learn on one thread; False: on all, each with random numbers of its own.
        seed: Seed of the first factors and the draws.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    factors: PositiveInt = 30
    learning_rate: PositiveFloat = 1.0
    regularization: NonNegativeFloat = 0.6
    iterations: PositiveInt = 30
    negatives: PositiveInt = 30
    value: Value = "one"
    reproducible: bool = True
    seed: Seed = 0
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedFactors:
        """Learn the factors of all users and items with events.

        Raises:
            InputError: There are no more users or items with events than factors.
            RecxError: The factors diverge.
        """
        clicks = _Clicks.of("lmf", history, self.factors, self.value)
        learnt = clicks.learn(
            lambda: LogisticMatrixFactorization(
                self.factors,
                self.learning_rate,
                self.regularization,
                iterations=self.iterations,
                neg_prop=self.negatives,
                num_threads=1 if self.reproducible else available(),
                random_state=self.seed,
            )
        )
        return FittedFactors(*clicks.found(learnt, self.seen))


@dataclass(frozen=True, eq=False)
class _Clicks:
    """What a model learns from: the users and the items with events.

    Attributes:
        option: The retriever, such as ``als``.
        users: The raw ids of the users [n_users].
        columns: The items.
        matrix: What the users have clicked, a CSR [n_users, n_items].
    """

    option: str
    users: Array
    columns: Columns
    matrix: Any

    @classmethod
    def of(cls, option: str, history: Interactions, factors: int, value: Value) -> _Clicks:
        """Return the clicks of a history; raises InputError if there are too few users or items for the factors."""
        users, columns = np.flatnonzero(history.lengths).astype(np.int32), Columns.of(history)
        least = min(len(users), len(columns.items))
        if factors >= least:
            way_out = f"set retriever.factors below {least}" if least > 1 else "choose retriever=popularity"
            raise InputError(
                f"retriever={option}: retriever.factors={factors}, but the history has only {len(users)} users and "
                f"{len(columns.items)} items with events, which so many numbers each would describe entirely: {way_out}"
            )
        return cls(option, history.users.ids[users], columns, columns.matrix(history, users, value))

    @cached_property
    def order(self) -> Longs:
        """The rows of the users by increasing id [n_users]."""
        return np.argsort(self.users, kind="stable")

    def learn(self, make: Callable[[], Any]) -> Any:
        """Return the model of implicit after its fit; its threads are OpenMP's, so BLAS has one."""
        with one_blas_thread(), bar() as show:
            model = make()

            def done(iteration: int, *_: object) -> None:
                show((iteration + 1) / model.iterations, f"{iteration + 1} of {model.iterations} iterations")

            try:
                model.fit(self.matrix, show_progress=False, callback=done)
            except ModelFitError as error:
                raise RecxError(
                    f"retriever={self.option}: the factors diverged and are no numbers any more: raise "
                    "retriever.regularization, or lower retriever.learning_rate or retriever.alpha"
                ) from error
        return model

    def found(self, learnt: Any, seen: Seen) -> tuple[str, Seen, Columns, Floats, Array, Floats]:
        """Return the fields of the fitted factors."""
        users, of_users = self.users[self.order], learnt.user_factors[self.order]
        return self.option, seen, self.columns, learnt.item_factors, users, of_users
