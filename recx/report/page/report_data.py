"""The outcome of every judged user of a run: most of the page's figures are computed from these."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np

from recx.core.judged_lists import JudgedLists
from recx.core.total import Total
from recx.core.types import Array, Bools, Doubles, Longs
from recx.evaluation.blocks import Blocks
from recx.evaluation.ground_truth import GroundTruth
from recx.evaluation.metrics.ranking import means_by_cut, ndcg
from recx.experiment.experiment import Result

KINDS = ("hit", "gained", "lost by the ranker", "lost in ranking", "lost in retrieval")
"""The outcomes of a user, see ``ReportData.kind``."""
USUAL_CUT = 10
EVERY_CUT, MOST_CUTS = 100, 60
"""Lists up to the first length have a point for every cut; longer ones this number of points, denser at the top."""


@dataclass(frozen=True, eq=False)
class ReportData:
    """What the page shows of the judged users of a run, collected block by block.

    Attributes:
        result: The run.
        truth: The ground truth.
        k: The cut that the page uses.
        retrieved: Rank of every user's first relevant target among the candidates, 0 if there is none [n_users].
        rank: Rank of every user's first relevant target among the recommendations, 0 if there is none [n_users].
        ndcg: NDCG of the recommendations, cut at k [n_users].
        lift: What the ranker adds to NDCG cut at k [n_users].
        curves: Candidates and recommendations -> the means of recall and NDCG at each of ``cuts``.
        cuts: Up to the longest list, rising.
    """

    result: Result
    truth: GroundTruth
    k: int
    retrieved: Longs
    rank: Longs
    ndcg: Doubles
    lift: Doubles
    curves: Mapping[str, Mapping[str, Sequence[float]]]
    cuts: Longs

    @classmethod
    def of(cls, result: Result, config: Mapping[str, Any]) -> ReportData | None:
        """Judge the run's lists; None if it predicted, so that the targets are unknown."""
        if result.report is None:
            return None
        truth = GroundTruth.for_evaluator(result.experiment.evaluator, result.split.fold)
        k = cut_of(str(config.get("objective", "")), result.report.means)
        blocks = Blocks(truth, [result.candidates, result.recommendations])
        return cls(result, truth, k, **outcomes(blocks, k))

    @property
    def n_users(self) -> int:
        """Number of judged users."""
        return len(self.truth.user)

    @cached_property
    def list_of_user(self) -> Longs:
        """Every judged user's index among the requests [n_users]."""
        return np.searchsorted(self.result.split.fold.requests.user, self.truth.user)

    @cached_property
    def is_shown(self) -> Bools:
        """Whether the first k recommendations contain a target [n_users]."""
        return (self.rank > 0) & (self.rank <= self.k)

    @cached_property
    def kind(self) -> Array:
        """The outcome of every user [n_users], as an index into ``KINDS``.

        Hit: the target is in the first k before and after ranking. Gained, lost by the ranker: only after, only before.
        Lost in ranking: among the candidates, but never in the first k. Lost in retrieval: not a candidate.
        """
        was_shown = (self.retrieved > 0) & (self.retrieved <= self.k)
        return np.select([was_shown & self.is_shown, self.is_shown, was_shown, self.retrieved > 0], [0, 1, 2, 3], 4)


def outcomes(blocks: Blocks, k: int) -> dict[str, Any]:
    """Return what ``ReportData`` has of judged candidates and recommendations, by its names."""
    cuts = _cuts(int(blocks.lists[0].lengths.max(initial=1)))
    found: dict[str, list[Array]] = {name: [] for name in ("retrieved", "rank", "ndcg", "lift")}
    totals: dict[str, list[Total[Any]]] = {"candidates": [], "recommendations": []}
    for before, after in blocks:
        of_after = ndcg(after, k)
        columns = first_rank(before), first_rank(after), of_after, of_after - ndcg(before, k)
        for column, values in zip(found.values(), columns, strict=True):
            column.append(values)
        for of, judged in zip(totals.values(), (before, after), strict=True):
            of.append(means_by_cut(judged, cuts))
    curves = {name: reduce(add, of).value for name, of in totals.items()}
    return {**{name: np.concatenate(parts) for name, parts in found.items()}, "curves": curves, "cuts": cuts}


def _cuts(longest: int) -> Longs:
    if longest <= EVERY_CUT:
        return np.arange(1, max(longest, 1) + 1)
    return np.unique(np.geomspace(1, longest, MOST_CUTS).round().astype(np.int64))


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
