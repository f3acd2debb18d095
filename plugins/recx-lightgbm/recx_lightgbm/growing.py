"""Growing trees with ``LGBMRanker``: grouped rows, grades as labels, early stopping."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from lightgbm import Booster, LGBMRanker, early_stopping, record_evaluation
from lightgbm.callback import CallbackEnv

from recx.plugin import Array, Bools, Doubles, Examples, Features, Fold, InputError, Longs, bar, design_matrix

LARGEST = 60.0  # above this grade, 2^grade - 1 makes all others negligible


@dataclass(frozen=True, eq=False)
class Rows:
    """Features and gains of candidates, grouped by user.

    Attributes:
        table: The features [n_rows, n_features].
        gain: The gains [n_rows]; 0 if not a target.
        lengths: The number of rows of each user [n_users].
    """

    table: Array
    gain: Doubles
    lengths: Longs

    @classmethod
    def of(cls, examples: Examples, features: Features, fold: Fold) -> Rows:
        """Return the features and gains of the examples' candidates."""
        table = design_matrix(features, examples.lists, fold.history, examples.requests)
        return cls(table, examples.gain, examples.lists.lengths)

    def take(self, users: Bools) -> Rows:
        """Return the rows of the users in a mask [n_users]."""
        rows = np.repeat(users, self.lengths)
        return Rows(self.table[rows], self.gain[rows], self.lengths[users])


@dataclass(frozen=True, eq=False)
class Grades:
    """The labels 0, 1, 2 ... of distinct gains, and the value of each label for LightGBM.

    Attributes:
        gain: The distinct gains, ascending from 0.
        worth: The value of each.
    """

    gain: Doubles
    worth: Doubles

    @classmethod
    def of(cls, gain: Doubles, exponential: bool) -> Grades:
        """Return the grades of these gains.

        Args:
            gain: The gains.
            exponential: Value a gain at 2^gain - 1 instead of the gain itself.

        Raises:
            InputError: A gain is so large that 2^gain makes all others negligible.
        """
        distinct = np.union1d(0.0, gain)
        if exponential and distinct[-1] > LARGEST:
            raise InputError(
                f"ranker.gain=exponential: a target has the grade or weight {distinct[-1]:g}, and 2^"
                f"{distinct[-1]:g} makes all other grades negligible: choose ranker.gain=linear"
            )
        return cls(distinct, np.exp2(distinct) - 1 if exponential else distinct)

    def labels(self, gain: Doubles) -> Longs:
        """Return the label of each gain [n]."""
        return np.searchsorted(self.gain, gain)


@dataclass(frozen=True, eq=False)
class Grower:
    """Grows trees with the same parameters on different rows.

    Attributes:
        params: The parameters of ``LGBMRanker``.
        grades: The labels and their values.
        names: The names of the features.
    """

    params: Mapping[str, Any]
    grades: Grades
    names: tuple[str, ...]

    def grow(self, rows: Rows, trees: int) -> Booster:
        """Return the given number of trees, grown on all rows."""
        return self._fit(rows, trees)

    def grow_validated(
        self, rows: Rows, valid: Rows, trees: int, *, k: int, patience: int
    ) -> tuple[Booster, list[float]]:
        """Grow trees until the validation's ndcg_at_k stops improving.

        Args:
            rows: The rows to learn from.
            valid: The rows of the validation.
            trees: The maximum number of trees.
            k: The cut of ndcg_at_k.
            patience: The number of trees without improvement after which growing stops.

        Returns:
            The trees, of which the first ``best_iteration`` are used, and ndcg_at_k after each tree.
        """
        seen: dict[str, dict[str, list[float]]] = {}
        with bar() as show:

            def show_progress(env: CallbackEnv) -> None:
                show((env.iteration + 1) / trees, f"tree {env.iteration + 1} of at most {trees}")

            booster = self._fit(
                rows,
                trees,
                eval_X=valid.table,
                eval_y=self.grades.labels(valid.gain),
                eval_group=[valid.lengths],
                eval_at=[k],
                callbacks=[early_stopping(patience, verbose=False), record_evaluation(seen), show_progress],
            )
        ((curve,),) = (figures.values() for figures in seen.values())
        return booster, curve

    def _fit(self, rows: Rows, trees: int, **validation: Any) -> Booster:
        ranker = LGBMRanker(**self.params, n_estimators=trees, label_gain=self.grades.worth.tolist())
        ranker.fit(
            rows.table,
            self.grades.labels(rows.gain),
            group=rows.lengths,
            feature_name=_safe(self.names),
            **validation,
        )
        booster: Booster = ranker.booster_
        return booster


def _safe(names: tuple[str, ...]) -> Any:
    """Return the feature names for the saved model; ``auto`` if one has a character that LightGBM rejects."""
    return list(names) if all(re.fullmatch(r"[^\s\",:\[\]{}]+", name) for name in names) else "auto"
