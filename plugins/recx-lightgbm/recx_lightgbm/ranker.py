"""``ranker=lambdamart``: boosted trees over the features, grown for NDCG by LightGBM."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Interval
from lightgbm import Booster

from recx.plugin import (
    Examples,
    Features,
    FitSummary,
    Floats,
    Fold,
    InputError,
    Interactions,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    RankedLists,
    Requests,
    Seed,
    Unretrieved,
    check,
    design_blocks,
    names_of,
    replacing,
    write_text,
)
from recx_lightgbm.growing import Grades, Grower, Rows

__all__ = ["FittedLambdamart", "Lambdamart"]

MODEL, IMPORTANCES = "model.txt", "importances.json"
LONGEST = 10_000  # rows that LightGBM takes in a list


@dataclass(frozen=True)
class Lambdamart:
    """LambdaMART (Burges 2010), as LightGBM's ``LGBMRanker`` grows it.

    trees: the most, of which the validation chooses. min_trees: it never chooses fewer, which on few users would be by
    luck. leaves: of a tree. min_rows: candidates that a leaf must hold.
    l2: penalty on the leaves' squared values. columns: share of the features that each tree may use.
    gain: what a grade is worth: itself (``linear``, as in ``ndcg_at_k``), or 2^grade - 1 (``exponential``).
    k: the validation's ndcg_at_k. truncation: pairs count that have one of the first so many.
    validation_share: of the users, set apart by seed to choose the number of trees; 0: none, grow all ``trees``.
    patience: trees without a better validation until it stops. refit_all: grow so many trees once more from all users;
    False: keep those of the validation. missed, max_users: as in ``ranker=linear``.
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

    def __post_init__(self) -> None:
        check(self, "ranker")
        if not self.features:
            raise InputError("ranker=lambdamart has no features: choose a set such as feature=news, or ranker=identity")

    def fit(self, candidates: RankedLists, fold: Fold) -> FittedLambdamart:
        """Learn to put ``fold.target`` first among its user's candidates.

        Raises:
            InputError: no user has a target among the candidates, one has more candidates than LightGBM takes, or there
                are too few users to set some apart.
        """
        examples = Examples.of(candidates, fold, self.missed, self.max_users, self.seed)
        self._check(examples, fold.history)
        names = names_of(self.features, examples.lists)
        grower = Grower(self._params(), Grades.of(examples.gain, self.gain == "exponential"), names)
        rows = Rows.of(examples, self.features, fold)
        if not self.validation_share:
            booster = grower.grow(rows, self.trees)
            return FittedLambdamart(self, names, booster, {**examples.notes, "lambdamart_trees": booster.num_trees()})
        learnt, apart = examples.set_apart(self.validation_share, self.seed)
        held = np.isin(examples.lists.user, apart.lists.user)
        booster, curve = grower.grow_validated(
            rows.take(~held), rows.take(held), self.trees, k=self.k, patience=self.patience
        )
        trees = min(self.trees, max(self.min_trees, booster.best_iteration))
        booster.best_iteration = trees  # which LightGBM goes by when it predicts and saves
        if self.refit_all:
            learnt, booster = examples, grower.grow(rows, trees)
        notes = {**learnt.notes, "lambdamart_trees": trees, "lambdamart_validation_users": len(apart)}
        return FittedLambdamart(self, names, booster, notes, curve)

    def _check(self, examples: Examples, history: Interactions) -> None:
        """Raise InputError where a list is longer than LightGBM takes, or nobody can be set apart."""
        lists = examples.lists
        longest = int(lists.lengths.argmax())
        if lists.lengths[longest] > LONGEST:
            raise InputError(
                f"ranker=lambdamart: user {history.users.ids[lists.user[longest]]} has {lists.lengths[longest]} "
                f"candidates, and LightGBM takes {LONGEST} in a list: lower n_candidates"
            )
        if self.validation_share and len(examples) < 2:
            raise InputError(
                f"ranker.validation_share={self.validation_share}: the past fold has only one user to learn from, and "
                "none can be set apart: set ranker.validation_share=0"
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
            "n_jobs": 0,  # as many threads as OpenMP is told; else LightGBM counts the cores itself
            "deterministic": True,
            "force_row_wise": True,  # else it times both ways, which sum in different orders
            "verbosity": -1,
        }


@dataclass(frozen=True, eq=False)
class FittedLambdamart:
    """names: of the features. validated: the validation's ndcg_at_k after each tree. notes: counts of the fit."""

    settings: Lambdamart
    names: tuple[str, ...]
    booster: Booster
    notes: Mapping[str, float]
    validated: Sequence[float] = ()

    @cached_property
    def summary(self) -> FitSummary:
        """The validation after each tree, and the features' importances.

        A feature's importance is its share of all that the splits gained, the largest first; all are 0 where nothing
        was split.
        """
        gained = self.booster.feature_importance("gain")
        share = gained / max(gained.sum(), np.finfo(np.float64).tiny)
        order = np.argsort(-share, kind="stable")
        return FitSummary(
            notes=self.notes,
            curves={f"lambdamart/valid_ndcg_at_{self.settings.k}": self.validated},
            importances={self.names[feature]: float(share[feature]) for feature in order},
        )

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates by falling score."""
        score: Floats = np.zeros(len(candidates), dtype=np.float32)
        for rows, table in design_blocks(self.settings.features, candidates, history, requests):
            if len(rows):
                score[rows] = self.booster.predict(table)
        return candidates.reorder(score)

    def save(self, folder: Path) -> None:
        """Write the trees as LightGBM's own text, and the importances."""
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / MODEL) as temporary:
            self.booster.save_model(temporary)
        write_text(folder / IMPORTANCES, json.dumps(self.summary.importances, indent=2, ensure_ascii=False) + "\n")
