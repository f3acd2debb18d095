"""Permutation importance: how much worse a run's lists get if a feature's values are shuffled among the candidates.

It says what the whole ranker gets from a feature on users that it was not fitted on, which weights do not. Sources:
Breiman, Random Forests (2001); Fisher, Rudin and Dominici, All Models are Wrong, but Many are Useful (JMLR 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from recx.core.precision import Reals
from recx.core.protocols import ByFeatures, Featured, FittedRanker
from recx.core.ragged import position_of_rows
from recx.core.resampling import bootstrap
from recx.core.types import Array, Doubles, Interactions, Longs, RankedLists, Requests
from recx.evaluation.ground_truth import GroundTruth
from recx.experiment.caching import uncached
from recx.experiment.contributions import PLUS
from recx.experiment.experiment import Result
from recx.parts.shared.design_matrix import design_matrix, names_of
from recx.storage.values import NotStorableError

SAMPLE, WORK = 300, 12_000_000
"""Most users whose lists are ranked again for every feature, and approximately most values that are read for that."""
RESAMPLES, SEED = 1_000, 0


@dataclass(frozen=True)
class Given:
    """A feature whose values stand in a column of the candidates.

    Attributes:
        column: The name of the column.
    """

    column: str

    def fit(self, history: Interactions) -> Given:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Reals:
        return candidates.columns[self.column]


def importance(result: Result, k: int) -> dict[str, Array]:
    """Return the loss of end-to-end NDCG at k by shuffling each feature within each list, largest first.

    Collinear features are shuffled together, in the same order, and are one row named ``a + b``. A seeded sample of the
    judged users is ranked.

    Args:
        result: A finished run.
        k: The cut of NDCG.

    Returns:
        feature, ndcg_lost, and the bounds low and high of its 95 % bootstrap interval over the users; {} if the run
        predicted, or its ranker has no features.
    """
    ranker, fold, fitted = result.experiment.ranker, result.split.fold, _fitted(result)
    if result.report is None or not (isinstance(ranker, Featured) and isinstance(fitted, ByFeatures)):
        return {}
    truth = GroundTruth.for_evaluator(result.experiment.evaluator, fold)
    names = names_of(ranker.features, result.candidates)
    if not names:
        return {}
    place_of_user = np.searchsorted(fold.requests.user, truth.user)
    users = _sample(result.candidates.lengths[place_of_user], len(names))
    places = place_of_user[users]
    lists, requests = result.candidates.take(places), fold.requests[places]
    table = design_matrix(ranker.features, lists, fold.history, requests)
    given = fitted.with_features({name: Given(name) for name in names})
    columns = dict(zip(names, table.T, strict=True))
    again = Shuffled(given, lists, fold.history, requests, columns)
    judged = truth.of_users(users).match(lists)
    ideal = np.array([dcg_of(judged.ideal[start:stop], k) for start, stop in pairwise(judged.ideal_indptr.tolist())])
    return again.importance(units_of(names, result.collinear), judged.gain, ideal, k)


def _fitted(result: Result) -> FittedRanker | None:
    """Return the fitted ranker of a run; None if the run had it from the cache, which could not keep it."""
    try:
        ranker: FittedRanker = uncached(result.ranker)
    except NotStorableError:
        return None
    return ranker


def _sample(lengths: Longs, n_features: int) -> Longs:
    """Return the judged users whose lists are ranked again, drawn at random, increasing."""
    rows_of_user = max(float(lengths.mean()), 1.0)
    n = min(SAMPLE, len(lengths), max(int(WORK / n_features**2 / rows_of_user), 1))
    return np.sort(np.random.default_rng(SEED).choice(len(lengths), n, replace=False))


def units_of(names: Sequence[str], groups: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the features to shuffle together: groups of collinear ones, and every other feature on its own."""
    grouped = {name for group in groups for name in group}
    return [*map(tuple, groups), *((name,) for name in names if name not in grouped)]


def dcg_of(gains: Array, k: int) -> float:
    """Return the discounted cumulative gain of one list of gains, best rank first, cut at k."""
    shown = gains[:k]
    return float(shown @ (1 / np.log2(np.arange(len(shown)) + 2)))


@dataclass(frozen=True, eq=False)
class Shuffled:
    """Candidates that a ranker can rank again with other values of its features.

    Attributes:
        ranker: The fitted ranker, whose features are ``Given``.
        lists: The candidates.
        history: The events before the requests.
        requests: One per list.
        columns: The values of each feature [n_rows].
    """

    ranker: FittedRanker
    lists: RankedLists
    history: Interactions
    requests: Requests
    columns: dict[str, Array]

    def importance(self, units: Sequence[tuple[str, ...]], gains: Array, ideal: Doubles, k: int) -> dict[str, Array]:
        """Return the table of ``importance``.

        Args:
            units: The features that are shuffled together.
            gains: Gain of each candidate [n_rows].
            ideal: DCG at k of each list if it were perfect [n_lists].
            k: The cut.
        """
        before, lost = self._ndcg({}, gains, ideal, k), []
        for n, unit in enumerate(units):
            random = np.random.default_rng([SEED, n]).random(len(self.lists))
            order = np.lexsort((random, self.lists.list_of_row))  # of the rows of each list, which lie together
            shuffled = {name: self.columns[name][order] for name in unit}
            lost.append(before - self._ndcg(shuffled, gains, ideal, k))
        low, high = bootstrap(np.stack(lost, axis=1), resamples=RESAMPLES, seed=SEED)
        mean = np.mean(lost, axis=1)
        best = np.argsort(-mean, kind="stable")
        names = np.array([PLUS.join(unit) for unit in units], dtype=object)
        columns = {"feature": names, "ndcg_lost": mean, "low": low, "high": high}
        return {name: column[best] for name, column in columns.items()}

    def _ndcg(self, changed: dict[str, Array], gains: Array, ideal: Doubles, k: int) -> Doubles:
        """Return the NDCG at k of each list [n_lists] with other values of some features; 0 without a target."""
        lists = replace(self.lists, columns={**self.columns, **changed})
        ranked = self.ranker.rank(lists, self.history, self.requests)
        gain = np.empty(len(lists))
        gain[_by_item(ranked)] = np.asarray(gains, dtype=np.float64)[_by_item(lists)]
        position = position_of_rows(ranked.indptr)
        worth = np.where(position < k, gain / np.log2(position + 2), 0.0)
        found = np.bincount(ranked.list_of_row, weights=worth, minlength=ranked.n_lists)
        return np.divide(found, ideal, out=np.zeros(len(ideal)), where=ideal > 0)


def _by_item(lists: RankedLists) -> Longs:
    return np.lexsort((lists.item, lists.list_of_row))
