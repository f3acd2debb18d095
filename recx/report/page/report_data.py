"""A run's lists matched with the ground truth: most of the page's figures are computed from these."""

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
"""The outcomes of a user, see ``ReportData.kind``."""
USUAL_CUT = 10


@dataclass(frozen=True, eq=False)
class ReportData:
    """The judged lists of a run.

    Attributes:
        result: The run.
        truth: The ground truth.
        before: The judged candidates.
        after: The judged recommendations of the same users.
        k: The cut that the page uses.
    """

    result: Result
    truth: GroundTruth
    before: JudgedLists
    after: JudgedLists
    k: int

    @classmethod
    def of(cls, result: Result, config: Mapping[str, Any]) -> ReportData | None:
        """Judge the run's lists; None if it predicted, so that the targets are unknown."""
        if result.report is None:
            return None
        truth = GroundTruth.for_evaluator(result.experiment.evaluator, result.split.fold)
        before, after = truth.judge(result.candidates), truth.judge(result.recommendations)
        return cls(result, truth, before, after, cut_of(str(config.get("objective", "")), result.report.means))

    @property
    def n_users(self) -> int:
        """Number of judged users."""
        return self.before.n_users

    @cached_property
    def list_of_user(self) -> Longs:
        """Every judged user's index among the requests [n_users]."""
        return np.searchsorted(self.result.split.fold.requests.user, self.truth.user)

    @cached_property
    def retrieved(self) -> Longs:
        """Rank of every user's first relevant target among the candidates, 0 if there is none [n_users]."""
        return first_rank(self.before)

    @cached_property
    def rank(self) -> Longs:
        """Rank of every user's first relevant target among the recommendations, 0 if there is none [n_users]."""
        return first_rank(self.after)

    @cached_property
    def is_shown(self) -> Bools:
        """Whether the first k recommendations contain a target [n_users]."""
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
        """The outcome of every user [n_users], as an index into ``KINDS``.

        Hit: the target is in the first k before and after ranking. Gained, lost by the ranker: only after, only before.
        Lost in ranking: among the candidates, but never in the first k. Lost in retrieval: not a candidate.
        """
        was_shown = (self.retrieved > 0) & (self.retrieved <= self.k)
        return np.select([was_shown & self.is_shown, self.is_shown, was_shown, self.retrieved > 0], [0, 1, 2, 3], 4)


def cut_of(objective: str, means: Mapping[str, float]) -> int:
    """Return the cut of the objective; without one, the smallest end-to-end cut, but no more than 10."""
    found = re.search(r"_at_(\d+)$|top_(\d+)_accuracy$", objective)
    if found:
        return int(found[1] or found[2])
    cuts = [int(cut) for name in means for cut in re.findall(r"^end_to_end/.*_at_(\d+)$", name)]
    return min([*cuts, USUAL_CUT])


def first_rank(judged: JudgedLists) -> Longs:
    """Return the rank of every user's first relevant target, 0 if the list contains none [n_users]."""
    users, first = judged.first_hits(None)
    rank = np.zeros(judged.n_users, dtype=np.int64)
    rank[users] = judged.hit_rank[first]
    return rank
