"""``retriever=als``, ``bpr`` and ``lmf``: matrix factorisation of the users' clicks, learnt by implicit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from implicit.cpu.als import AlternatingLeastSquares
from implicit.cpu.bpr import BayesianPersonalizedRanking
from implicit.cpu.lmf import LogisticMatrixFactorization

from recx.plugin import (
    Array,
    ClickedItems,
    Epochs,
    FitSummary,
    Floats,
    Interactions,
    NonNegativeFloat,
    PairValue,
    PositiveFloat,
    PositiveInt,
    Seen,
    available,
    checked,
    trained,
)
from recx_implicit.clicks import fingerprints
from recx_implicit.fitted import FittedALS, FittedFactors
from recx_implicit.training import Clicks, Iterations

__all__ = ["ALS", "BPR", "LMF"]

NOTHING = FitSummary()
"""Of a model that still learns."""


@dataclass(frozen=True)
@checked("retriever")
class ALS(Epochs):
    """Alternating least squares (Hu, Koren and Volinsky 2008), as implemented by implicit.

    Attributes:
        factors: Numbers per user and per item.
        regularization: Penalty on the squared factors.
        alpha: Confidence of a click relative to that of no click.
        iterations: Passes over all users and all items; with a validation, the maximum.
        value: What a user's events of an item count: one, or the sum of their weights.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    factors: PositiveInt = 100
    regularization: PositiveFloat = 0.01
    alpha: PositiveFloat = 1.0
    iterations: PositiveInt = 15
    value: PairValue = "one"
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedALS:
        """Learn the factors of all users and items with events.

        Raises:
            InputError: There are no more users or items with events than factors, the factors do not fit into memory,
                or the checkpoint cannot be used.
            RecxError: The factors diverge.
        """
        found: FittedALS = _learnt(self, "als", history, self.value, goes_on=True)
        return found

    def _model(self) -> AlternatingLeastSquares:
        return AlternatingLeastSquares(
            self.factors,
            self.regularization,
            self.alpha,
            calculate_training_loss=self.validation_users > 0,
            num_threads=available(),
            random_state=self.seed,
        )

    def _fitted(self, clicks: Clicks, model: Any, summary: FitSummary = NOTHING) -> FittedALS:
        clicked = fingerprints(clicks.matrix)[clicks.order]
        found = _fields(clicks, model, self.seen, summary)
        return FittedALS(*found, clicked, self.regularization, self.alpha, self.value)


@dataclass(frozen=True)
@checked("retriever")
class BPR(Epochs):
    """Bayesian personalised ranking (Rendle et al. 2009), as implemented by implicit.

    Attributes:
        factors: Numbers per user and per item, beside the bias of each item.
        learning_rate: Step of each pair.
        regularization: Penalty on the squared factors.
        iterations: Passes: as many pairs each as there are clicks; with a validation, the maximum.
        verify: Skip pairs whose other item the user has clicked too.
        reproducible: Learn on one thread; False: on all, whose steps mix differently in every fit.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    factors: PositiveInt = 100
    learning_rate: PositiveFloat = 0.01
    regularization: NonNegativeFloat = 0.01
    iterations: PositiveInt = 100
    verify: bool = True
    reproducible: bool = True
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedFactors:
        """Learn the factors of all users and items with events.

        Raises:
            InputError: There are no more users or items with events than factors, the factors do not fit into memory,
                or the checkpoint cannot be used.
            RecxError: The factors diverge.
        """
        found: FittedFactors = _learnt(self, "bpr", history, "one", goes_on=False)
        return found

    def _model(self) -> BayesianPersonalizedRanking:
        return BayesianPersonalizedRanking(
            self.factors,
            self.learning_rate,
            self.regularization,
            verify_negative_samples=self.verify,
            num_threads=1 if self.reproducible else available(),
            random_state=self.seed,
        )

    def _fitted(self, clicks: Clicks, model: Any, summary: FitSummary = NOTHING) -> FittedFactors:
        return FittedFactors(*_fields(clicks, model, self.seen, summary))


@dataclass(frozen=True)
@checked("retriever")
class LMF(Epochs):
    """Logistic matrix factorisation (Johnson 2014), as implemented by implicit.

    Attributes:
        factors: Numbers per user and per item, beside the bias of each.
        learning_rate: Largest step, which Adagrad lowers.
        regularization: Penalty on the squared factors.
        iterations: Passes over all users and all items; with a validation, the maximum.
        negatives: Items drawn as not clicked per click.
        value: What a user's events of an item count: one, or the sum of their weights.
        reproducible: Learn on one thread; False: on all, each with random numbers of its own.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    factors: PositiveInt = 30
    learning_rate: PositiveFloat = 1.0
    regularization: NonNegativeFloat = 0.6
    iterations: PositiveInt = 30
    negatives: PositiveInt = 30
    value: PairValue = "one"
    reproducible: bool = True
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedFactors:
        """Learn the factors of all users and items with events.

        Raises:
            InputError: There are no more users or items with events than factors, the factors do not fit into memory,
                or the checkpoint cannot be used.
            RecxError: The factors diverge.
        """
        found: FittedFactors = _learnt(self, "lmf", history, self.value, goes_on=False)
        return found

    def _model(self) -> LogisticMatrixFactorization:
        return LogisticMatrixFactorization(
            self.factors,
            self.learning_rate,
            self.regularization,
            neg_prop=self.negatives,
            num_threads=1 if self.reproducible else available(),
            random_state=self.seed,
        )

    def _fitted(self, clicks: Clicks, model: Any, summary: FitSummary = NOTHING) -> FittedFactors:
        return FittedFactors(*_fields(clicks, model, self.seen, summary))


def _learnt(of: Any, option: str, history: Interactions, value: PairValue, *, goes_on: bool) -> Any:
    """Return the fitted retriever of these settings (see ``Iterations``)."""
    learner, summary = trained(
        of,
        option,
        of.iterations,
        history,
        lambda part: Iterations(Clicks.of(option, part, of.factors, value), of._model, of._fitted, goes_on),
    )
    return of._fitted(learner.clicks, learner.model, summary)


def _fields(
    clicks: Clicks, model: Any, seen: Seen, summary: FitSummary
) -> tuple[str, Seen, ClickedItems, Floats, Array, Floats, FitSummary]:
    """Return the fields of the fitted factors of a model of implicit."""
    users, of_users = clicks.users[clicks.order], model.user_factors[clicks.order]
    return clicks.option, seen, clicks.clicked, model.item_factors, users, of_users, summary
