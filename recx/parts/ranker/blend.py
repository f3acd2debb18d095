"""Several rankers as one: their scores are standardised within each list and added up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from recx.core.bounds import NonNegativeFloat, check
from recx.core.contracts import check_same_pairs
from recx.core.errors import InputError, RecxError
from recx.core.fit_summary import FitSummary, summary_of
from recx.core.per_user import for_users
from recx.core.preflight import preflight
from recx.core.protocols import ByFeatures, Featured, FittedRanker, HasDiagnostics, Ranker, Sampling, is_trained
from recx.core.ragged import group_of_rows, max_of_groups, sum_of_groups
from recx.core.types import Array, Doubles, Fold, Interactions, Longs, RankedLists, Requests
from recx.parts.shared.design_matrix import Features

EQUAL = 1e-12
"""Standard deviation, as a share of a list's largest score, up to which its scores count as equal: it is rounding."""


@dataclass(frozen=True)
class Blend:
    """Adds up the scores of several rankers, each standardised within the list.

    This is Z-score fusion (Renda and Straccia, SAC 2003). Rankers of different kinds, such as a linear model and
    boosted trees, err in different places.

    Attributes:
        rankers: Name -> ranker.
        weights: Name -> weight of a ranker; 1 for a ranker without an entry.
    """

    rankers: Mapping[str, Ranker | FittedRanker]
    weights: Mapping[str, NonNegativeFloat] = field(default_factory=dict)
    gives_probabilities: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check(self, "ranker")
        if not self.rankers:
            raise InputError("ranker.rankers is empty: name at least one ranker")
        if unknown := set(self.weights) - set(self.rankers):
            known = ", ".join(self.rankers)
            raise InputError(f"ranker.weights names {sorted(unknown)}, which is not a ranker: choose from {known}")
        if not self._used:
            raise InputError("ranker.weights are all 0, so that nothing is ranked: give at least one ranker a weight")

    @property
    def _used(self) -> dict[str, Ranker | FittedRanker]:
        """The rankers that have a weight."""
        return {name: ranker for name, ranker in self.rankers.items() if self.weights.get(name, 1.0)}

    @property
    def trains(self) -> bool:
        """Whether any of the rankers is one that is trained."""
        return any(is_trained(ranker) for ranker in self._used.values())

    @property
    def features(self) -> Features:
        """The features of the rankers that have some; {} if they have not all the same."""
        return _shared(self._used)

    @property
    def sample(self) -> tuple[int, int] | None:
        """The largest number of users that each learns from, and the seed of their draw; None: they have not one."""
        trained = [ranker for ranker in self._used.values() if is_trained(ranker)]
        samples = {ranker.sample if isinstance(ranker, Sampling) else None for ranker in trained}
        return samples.pop() if len(samples) == 1 else None

    def preflight(self) -> None:
        preflight(*self._used.values())

    def without_diagnostics(self) -> Blend:
        """Return the same with rankers that compute no more than their lists need."""
        plain = {
            name: ranker.without_diagnostics() if isinstance(ranker, HasDiagnostics) else ranker
            for name, ranker in self.rankers.items()
        }
        return replace(self, rankers=plain)

    def fit(self, candidates: RankedLists, fold: Fold) -> FittedBlend:
        """Train those of the rankers that are trained and have a weight.

        Args:
            candidates: The candidates of the past fold.
            fold: The past fold, with its targets.

        Raises:
            InputError: A ranker cannot learn from the data.
        """
        fitted = {
            name: ranker.fit(candidates, fold) if is_trained(ranker) else ranker for name, ranker in self._used.items()
        }
        return self._fitted(fitted)

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates in the order of rankers of which none is trained; see ``FittedBlend.rank``.

        Raises:
            RecxError: A ranker is one that is trained.
        """
        return self._untrained().rank(candidates, history, requests)

    def for_users(self, history: Interactions) -> FittedBlend:
        return self._untrained().for_users(history)

    def _untrained(self) -> FittedBlend:
        rankers = {name: ranker for name, ranker in self._used.items() if not is_trained(ranker)}
        if len(rankers) < len(self._used):
            name = next(name for name in self._used if name not in rankers)
            raise RecxError(f"ranker=blend: {name} must be trained first: call fit")
        return self._fitted(rankers)

    def _fitted(self, rankers: Mapping[str, FittedRanker]) -> FittedBlend:
        return FittedBlend(rankers, {name: self.weights.get(name, 1.0) for name in rankers})


@dataclass(frozen=True, eq=False)
class FittedBlend:
    """The fitted rankers.

    Attributes:
        rankers: Name -> fitted ranker.
        weights: Name -> weight.
    """

    rankers: Mapping[str, FittedRanker]
    weights: Mapping[str, float]
    gives_probabilities: ClassVar[bool] = False

    @property
    def summary(self) -> FitSummary:
        """The counts and curves of all rankers, each under ``<ranker>_`` or ``<ranker>/``.

        Weights, with their tables, and importances are those of the only ranker that has some, since those of several
        cannot be compared.
        """
        of = {name: summary_of(ranker) for name, ranker in self.rankers.items()}
        weighted = [summary for summary in of.values() if summary.weights]
        important = [summary for summary in of.values() if summary.importances]
        return FitSummary(
            notes={_note(name, note): count for name, one in of.items() for note, count in one.notes.items()},
            curves={
                f"{name}/{figure.rpartition('/')[2]}": values
                for name, one in of.items()
                for figure, values in one.curves.items()
            },
            tables=weighted[0].tables if len(weighted) == 1 else {},
            weights=weighted[0].weights if len(weighted) == 1 else {},
            collinear=weighted[0].collinear if len(weighted) == 1 else (),
            importances=important[0].importances if len(important) == 1 else {},
        )

    @property
    def features(self) -> Features:
        """The features of the rankers that have some; {} if they have not all the same."""
        return _shared(self.rankers)

    def with_features(self, features: Features) -> FittedBlend:
        """Return the same with other features, under the same names, for all rankers that have some."""
        return replace(
            self,
            rankers={
                name: ranker.with_features(features) if isinstance(ranker, ByFeatures) else ranker
                for name, ranker in self.rankers.items()
            },
        )

    def for_users(self, history: Interactions) -> FittedBlend:
        return replace(self, rankers={name: for_users(ranker, history) for name, ranker in self.rankers.items()})

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates by the weighted sum of the standardised scores.

        A standardised score is 0 at the mean of the list and 1 a standard deviation above it; in a list of equal scores
        all are 0.
        """
        place, group = _by_item(candidates), group_of_rows(candidates.indptr)
        total, notes = np.zeros(len(candidates)), dict(candidates.notes)
        for name, ranker in self.rankers.items():
            ranked = ranker.rank(candidates, history, requests)
            check_same_pairs(candidates, ranked)
            standard = _standardised(ranked.score, candidates.indptr, group)
            total[place] += self.weights[name] * standard[_by_item(ranked)]
            notes |= {_note(name, note): count for note, count in ranked.notes.items() if note not in candidates.notes}
        return replace(candidates.reorder(total), notes=notes)


def _shared(rankers: Mapping[str, Ranker | FittedRanker]) -> Features:
    """Return the features that all rankers with features have; {} if they differ."""
    first, *others = [ranker.features for ranker in rankers.values() if isinstance(ranker, Featured)] or [{}]
    return first if all(other == first for other in others) else {}


def _note(name: str, note: str) -> str:
    """Return the name of a ranker's count among those of all rankers."""
    return note if note.startswith(f"{name}_") else f"{name}_{note}"


def _by_item(lists: RankedLists) -> Longs:
    """Return the rows, list after list, each list's by item [n_rows]."""
    return np.lexsort((lists.item, group_of_rows(lists.indptr)))


def _standardised(score: Array, indptr: Longs, group: Longs) -> Doubles:
    """Return scores [n_rows] less their list's mean, over its standard deviation; 0 where all are equal."""
    largest = max_of_groups(np.abs(score.astype(np.float64)), indptr)
    share = score / np.where(largest > 0, largest, 1.0)[group]  # squares of which are finite
    n = np.maximum(np.diff(indptr), 1)
    centred = share - (sum_of_groups(share, indptr) / n)[group]
    deviation = np.sqrt(sum_of_groups(centred**2, indptr) / n)
    varies = deviation > EQUAL
    return np.asarray(np.where(varies[group], centred / np.where(varies, deviation, 1.0)[group], 0.0))
