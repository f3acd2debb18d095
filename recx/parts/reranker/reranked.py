"""A ranker whose lists are ordered once more: by a re-ranker, which looks at a whole list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recx.core.contracts import check_same_pairs
from recx.core.fit_summary import FitSummary, summary_of
from recx.core.per_user import for_users
from recx.core.precision import floats_of
from recx.core.preflight import preflight
from recx.core.protocols import (
    Feature,
    Featured,
    FeatureSet,
    FittedRanker,
    HasDiagnostics,
    Ranker,
    Sampling,
    is_trained,
)
from recx.core.types import Fold, Interactions, RankedLists, Requests


def reranked(ranker: Ranker | FittedRanker, reranker: FittedRanker | None) -> Ranker | FittedRanker:
    """Return a ranker with a re-ranker after it; the ranker itself without one."""
    if reranker is None:
        return ranker
    return TrainedThenReranked(ranker, reranker) if is_trained(ranker) else Reranked(ranker, reranker)


@dataclass(frozen=True)
class TrainedThenReranked:
    """A ranker that is trained, and a re-ranker after it.

    Attributes:
        ranker: The ranker.
        reranker: The re-ranker, which needs no training.
    """

    ranker: Ranker
    reranker: FittedRanker
    gives_probabilities: ClassVar[bool] = False

    @property
    def features(self) -> Mapping[str, Feature | FeatureSet]:
        """The features of the ranker; {} if it has none."""
        return self.ranker.features if isinstance(self.ranker, Featured) else {}

    @property
    def sample(self) -> tuple[int, int] | None:
        return self.ranker.sample if isinstance(self.ranker, Sampling) else None

    def preflight(self) -> None:
        preflight(self.ranker, self.reranker)

    def without_diagnostics(self) -> TrainedThenReranked:
        """Return the same with a ranker that computes no more than its lists need."""
        ranker = self.ranker
        return replace(self, ranker=ranker.without_diagnostics() if isinstance(ranker, HasDiagnostics) else ranker)

    def fit(self, candidates: RankedLists, fold: Fold) -> Reranked:
        """Train the ranker.

        Raises:
            InputError: The ranker cannot learn from the data, or the re-ranker lacks something in it.
        """
        self.reranker.rank(candidates[:0], fold.history, fold.requests[:0])  # says what it lacks before any training
        return Reranked(self.ranker.fit(candidates, fold), self.reranker)


@dataclass(frozen=True)
class Reranked:
    """A fitted ranker, and a re-ranker after it.

    The lists have the columns ``ranker_rank``, from 1, and ``ranker_score``: where the ranker had each item.

    Attributes:
        ranker: The ranker.
        reranker: The re-ranker.
    """

    ranker: FittedRanker
    reranker: FittedRanker
    gives_probabilities: ClassVar[bool] = False

    @property
    def summary(self) -> FitSummary:
        """What the ranker reports of its fit."""
        return summary_of(self.ranker)

    def preflight(self) -> None:
        preflight(self.ranker, self.reranker)

    def for_users(self, history: Interactions) -> Reranked:
        return Reranked(for_users(self.ranker, history), for_users(self.reranker, history))

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates in the re-ranker's order."""
        lists = self.ranker.rank(candidates, history, requests)
        check_same_pairs(candidates, lists)
        before = {"ranker_rank": lists.rank.astype(np.float32), "ranker_score": floats_of(lists.score, "scores")}
        return self.reranker.rank(replace(lists, columns={**lists.columns, **before}), history, requests)
