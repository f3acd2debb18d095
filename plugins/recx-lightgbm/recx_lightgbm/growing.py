"""Growing trees with ``LGBMRanker``: rows in groups, grades as the labels that it asks for, early stopping."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from lightgbm import Booster, LGBMRanker, early_stopping, record_evaluation
from lightgbm.callback import CallbackEnv

from recx.plugin import Bools, Doubles, Examples, Features, Floats, Fold, InputError, Longs, bar, design_matrix

LARGEST = 60.0  # a grade from which 2^grade - 1 drowns all others


@dataclass(frozen=True, eq=False)
class Rows:
    """table: [n_rows, n_features]. gain: [n_rows], 0 for no target. lengths: rows of every user [n_users]."""

    table: Floats
    gain: Doubles
    lengths: Longs

    @classmethod
    def of(cls, examples: Examples, features: Features, fold: Fold) -> Rows:
        """Return the features and gains of these users' candidates."""
        table = design_matrix(features, examples.lists, fold.history, examples.requests)
        return cls(table, examples.gain, examples.lists.lengths)

    def take(self, users: Bools) -> Rows:
        """Return the rows of some of the users, chosen by a mask [n_users]."""
        rows = np.repeat(users, self.lengths)
        return Rows(self.table[rows], self.gain[rows], self.lengths[users])


@dataclass(frozen=True, eq=False)
class Grades:
    """LightGBM takes labels 0, 1, 2 ... and is told what each is worth.

    gain: the distinct gains, rising from 0. worth: of each.
    """

    gain: Doubles
    worth: Doubles

    @classmethod
    def of(cls, gain: Doubles, exponential: bool) -> Grades:
        """Return the grades of these gains, each worth itself or, ``exponential``, 2^gain - 1.

        Raises:
            InputError: 2^gain drowns all else.
        """
        distinct = np.union1d(0.0, gain)
        if exponential and distinct[-1] > LARGEST:
            raise InputError(
                f"ranker.gain=exponential: a target has the grade or weight {distinct[-1]:g}, and beside 2^"
                f"{distinct[-1]:g} nothing else counts: choose ranker.gain=linear"
            )
        return cls(distinct, np.exp2(distinct) - 1 if exponential else distinct)

    def labels(self, gain: Doubles) -> Longs:
        """Return the label of every gain [n]."""
        return np.searchsorted(self.gain, gain)


@dataclass(frozen=True, eq=False)
class Grower:
    """params: of ``LGBMRanker``. names: of the features."""

    params: Mapping[str, Any]
    grades: Grades
    names: tuple[str, ...]

    def grow(self, rows: Rows, trees: int) -> Booster:
        """Grow so many trees."""
        return self._fit(rows, trees)

    def grow_validated(
        self, rows: Rows, valid: Rows, trees: int, *, k: int, patience: int
    ) -> tuple[Booster, list[float]]:
        """Grow at most so many trees, until ``patience`` more have made ndcg_at_k no better for the users of ``valid``.

        Returns the trees, the best ``best_iteration`` of which count, and the figure after each tree.
        """
        seen: dict[str, dict[str, list[float]]] = {}
        with bar() as show:

            def tell(env: CallbackEnv) -> None:
                show((env.iteration + 1) / trees, f"tree {env.iteration + 1} of at most {trees}")

            booster = self._fit(
                rows,
                trees,
                eval_X=valid.table,
                eval_y=self.grades.labels(valid.gain),
                eval_group=[valid.lengths],
                eval_at=[k],
                callbacks=[early_stopping(patience, verbose=False), record_evaluation(seen), tell],
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
    """Return the names that stand in the saved text; ``auto`` where one has a character that LightGBM refuses."""
    return list(names) if all(re.fullmatch(r"[^\s\",:\[\]{}]+", name) for name in names) else "auto"
