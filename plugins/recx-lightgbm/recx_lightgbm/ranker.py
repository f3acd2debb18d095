"""``ranker=lambdamart``: boosted trees over the features, grown for NDCG by LightGBM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Interval

from recx.plugin import (
    Examples,
    Features,
    FitSummary,
    Fold,
    InputError,
    Interactions,
    NonNegativeFloat,
    Notes,
    PositiveFloat,
    PositiveInt,
    RankedLists,
    Requests,
    Seed,
    Unretrieved,
    check,
    check_names,
    design_blocks,
    names_of,
)
from recx_lightgbm.growing import Grades, Grower, Rows
from recx_lightgbm.trees import Trees

__all__ = ["FittedLambdamart", "Lambdamart"]

LONGEST = 10_000  # LightGBM's maximum of rows per list


@dataclass(frozen=True)
class Lambdamart:
    """LambdaMART (Burges 2010), as implemented by LightGBM's ``LGBMRanker``.

    Attributes:
        features: Name -> feature.
        trees: Maximum number of trees; the validation chooses.
        min_trees: Minimum number of trees, since with few users a small number is chosen by chance.
        leaves: Maximum number of leaves per tree.
        learning_rate: Weight of each tree.
        min_rows: Minimum number of candidates per leaf.
        l2: Penalty on the leaves' squared values.
        columns: Share of the features that each tree uses.
        gain: Gain of a grade: ``linear``: the grade itself, as in ``ndcg_at_k``; ``exponential``: 2^grade - 1.
        k: Cut of the validation's ndcg_at_k.
        truncation: Only pairs with a candidate in the first so many places count.
        validation_share: Share of the users held out to choose the number of trees; 0: none, grow all ``trees``.
        patience: Number of trees without improvement after which growing stops.
        refit_all: Grow as many trees again on all users; False: keep those of the validation.
        missed: Targets that were not retrieved: ``drop`` them, or ``add`` them to the candidates for training.
        max_users: Fit on a random sample of at most so many users.
        seed: Seed of the samples.
    """

    features: Features
    trees: PositiveInt = 500
    min_trees: PositiveInt = 50
    leaves: Annotated[int, Ge(2)] = 7
    learning_rate: PositiveFloat = 0.05
    min_rows: PositiveInt = 20
    l2: NonNegativeFloat = 0.0
    columns: Annotated[float, Interval(gt=0, le=1)] = 1.0
    gain: Literal["linear", "exponential"] = "linear"
    k: PositiveInt = 10
    truncation: PositiveInt = 100
    validation_share: Annotated[float, Interval(ge=0, lt=1)] = 0.1
    patience: PositiveInt = 50
    refit_all: bool = True
    missed: Unretrieved = "drop"
    max_users: PositiveInt = 30_000
    seed: Seed = 0
    gives_probabilities: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check(self, "ranker")
        if not self.features:
            raise InputError("ranker=lambdamart has no features: choose a set such as feature=news, or ranker=identity")

    @property
    def sample(self) -> tuple[int, int]:
        """The largest number of users that it learns from, and the seed of their draw."""
        return self.max_users, self.seed

    def fit(self, candidates: RankedLists, fold: Fold) -> FittedLambdamart:
        """Learn to rank each user's targets above their other candidates.

        Args:
            candidates: The candidates of the past fold.
            fold: The past fold, with its targets.

        Raises:
            InputError: No user has a target among the candidates, a list is longer than LightGBM accepts, or there are
                too few users to hold some out.
        """
        examples = Examples.of(candidates, fold, self.missed, self.max_users, self.seed)
        self._check(examples, fold.history)
        names = names_of(self.features, examples.lists)
        grower = Grower(self._params(), Grades.of(examples.gain, self.gain == "exponential"), names)
        rows = Rows.of(examples, self.features, fold)
        if not self.validation_share:
            grown = Trees(grower.grow(rows, self.trees))
            notes = {**examples.notes, "lambdamart_trees": grown.booster.num_trees()}
            return self._fitted(names, grown, notes)
        learned, apart = examples.set_apart(self.validation_share, self.seed)
        held = np.isin(examples.lists.user, apart.lists.user)
        booster, curve = grower.grow_validated(
            rows.take(~held), rows.take(held), self.trees, k=self.k, patience=self.patience
        )
        trees = min(self.trees, max(self.min_trees, booster.best_iteration))
        booster.best_iteration = trees  # which LightGBM uses when it predicts and saves
        if self.refit_all:
            learned, booster = examples, grower.grow(rows, trees)
        notes = {**learned.notes, "lambdamart_trees": trees, "lambdamart_validation_users": len(apart)}
        return self._fitted(names, Trees(booster), notes, curve)

    def _fitted(
        self, names: tuple[str, ...], trees: Trees, notes: Notes, validated: Sequence[float] = ()
    ) -> FittedLambdamart:
        curves = {f"lambdamart/valid_ndcg_at_{self.k}": validated}
        summary = FitSummary(notes=notes, curves=curves, importances=trees.shares(names))
        return FittedLambdamart(self.features, names, trees, summary)

    def _check(self, examples: Examples, history: Interactions) -> None:
        """Raise InputError if a list is longer than LightGBM accepts, or no user can be held out."""
        lists = examples.lists
        longest = int(lists.lengths.argmax())
        if lists.lengths[longest] > LONGEST:
            raise InputError(
                f"ranker=lambdamart: user {history.users.ids[lists.user[longest]]} has {lists.lengths[longest]} "
                f"candidates, but LightGBM accepts at most {LONGEST} per list: lower n_candidates"
            )
        if self.validation_share and len(examples) < 2:
            raise InputError(
                f"ranker.validation_share={self.validation_share}: the past fold has only one user to learn from, so "
                "none can be held out: set ranker.validation_share=0"
            )

    def _params(self) -> dict[str, Any]:
        return {
            "objective": "lambdarank",
            "num_leaves": self.leaves,
            "learning_rate": self.learning_rate,
            "min_child_samples": self.min_rows,
            "reg_lambda": self.l2,
            "colsample_bytree": self.columns,
            "lambdarank_truncation_level": self.truncation,
            "random_state": self.seed,
            "n_jobs": 0,  # OpenMP's number of threads; otherwise LightGBM counts the cores itself
            "deterministic": True,
            "force_row_wise": True,  # otherwise it times both ways, which sum in different orders
            "verbosity": -1,
        }


@dataclass(frozen=True, eq=False)
class FittedLambdamart:
    """A fitted LambdaMART ranker.

    Attributes:
        features: Feature name -> feature.
        names: The names of the features.
        trees: The trees.
        summary: Counts of the fit, the validation's ndcg_at_k after each tree, and the features' importances: their
            shares of the total gain of all splits.
    """

    features: Features
    names: tuple[str, ...]
    trees: Trees
    summary: FitSummary

    def __post_init__(self) -> None:
        if self.trees.booster.num_feature() != len(self.names):
            raise ValueError(f"trees over {self.trees.booster.num_feature()} features, not over {len(self.names)}")

    def for_users(self, history: Interactions) -> FittedLambdamart:
        """Return the ranker itself: of the users who ask, it reads what it is given."""
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates by descending score.

        Raises:
            InputError: The candidates have other features than those of the fit.
        """
        check_names(self.features, candidates, self.names, "lambdamart")
        score = np.zeros(len(candidates))
        for rows, table in design_blocks(self.features, candidates, history, requests):
            if len(rows):
                score[rows] = self.trees.booster.predict(table)
        return candidates.reorder(score)

    def with_features(self, features: Features) -> FittedLambdamart:
        """Return the same ranker with other features under the same names."""
        return replace(self, features=features)
