"""A run's lists held against the targets: what most of the page's figures are computed from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from recx.core.judged_lists import JudgedLists
from recx.core.types import Array, Bools, Doubles, Longs
from recx.evaluation.ground_truth import GroundTruth
from recx.evaluation.metrics.ranking import ndcg
from recx.experiment.experiment import Result

KINDS = ("hit", "gained", "lost by the ranker", "lost in ranking", "lost in retrieval")
"""What became of a user: see ``ReportData.kind``."""
USUAL_CUT = 10


@dataclass(frozen=True, eq=False)
class ReportData:
    """before, after: the judged candidates and recommendations of the same users. k: the cut that the page goes by."""

    result: Result
    truth: GroundTruth
    before: JudgedLists
    after: JudgedLists
    k: int

    @classmethod
    def of(cls, result: Result, config: Mapping[str, Any]) -> ReportData | None:
        """Judge the run's lists; None where the run predicted, so that nobody knows the targets."""
        if result.report is None:
            return None
        truth = GroundTruth.for_evaluator(result.experiment.evaluator, result.split.fold)
        before, after = truth.judge(result.candidates), truth.judge(result.recommendations)
        return cls(result, truth, before, after, cut_of(str(config.get("objective", "")), result.report.means))

    @property
    def n_users(self) -> int:
        return self.before.n_users

    @cached_property
    def list_of_user(self) -> Longs:
        """Every judged user's place among the requests [n_users]."""
        return np.searchsorted(self.result.split.fold.requests.user, self.truth.user)

    @cached_property
    def retrieved(self) -> Longs:
        """The candidates' rank of every user's first relevant target, 0 where there is none [n_users]."""
        return first_rank(self.before)

    @cached_property
    def rank(self) -> Longs:
        """The recommendations' rank of every user's first relevant target, 0 where there is none [n_users]."""
        return first_rank(self.after)

    @cached_property
    def was_shown(self) -> Bools:
        """Whether the retriever's own order shows a target in the first k [n_users]."""
        return (self.retrieved > 0) & (self.retrieved <= self.k)

    @cached_property
    def is_shown(self) -> Bools:
        """Whether the ranker shows a target in the first k [n_users]."""
        return (self.rank > 0) & (self.rank <= self.k)

    @cached_property
    def ndcg(self) -> Doubles:
        """NDCG of the recommendations, cut at k [n_users]."""
        return ndcg(self.after, self.k)

    @cached_property
    def lift(self) -> Doubles:
        """What the ranker adds to NDCG cut at k [n_users]."""
        lift: Doubles = self.ndcg - ndcg(self.before, self.k)
        return lift

    @cached_property
    def kind(self) -> Array:
        """What became of every user [n_users], as a place in ``KINDS``.

        Hit: the target is in the first k before and after ranking. Gained, lost by the ranker: only after, only before.
        Lost in ranking: among the candidates, yet in the first k of neither. Lost in retrieval: no candidate.
        """
        return np.select(
            [self.was_shown & self.is_shown, self.is_shown, self.was_shown, self.retrieved > 0], [0, 1, 2, 3], 4
        )


def cut_of(objective: str, means: Mapping[str, float]) -> int:
    """Return the cut of the objective; without one the smallest cut, up to 10, of what users get."""
    found = re.search(r"_at_(\d+)$|top_(\d+)_accuracy$", objective)
    if found:
        return int(found[1] or found[2])
    cuts = [int(cut) for name in means for cut in re.findall(r"^end_to_end/.*_at_(\d+)$", name)]
    return min([*cuts, USUAL_CUT])


def first_rank(judged: JudgedLists) -> Longs:
    """Return the rank of every user's first relevant target, 0 where the list shows none [n_users]."""
    users, first = judged.first_hits(None)
    rank = np.zeros(judged.n_users, dtype=np.int64)
    rank[users] = judged.hit_rank[first]
    return rank
