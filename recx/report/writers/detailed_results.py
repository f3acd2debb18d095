"""One row a query: what was asked, which candidate was right, what was put first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recx.core.bounds import check
from recx.core.entities import Entities
from recx.core.ragged import order_in_groups
from recx.core.system.atomic import replacing
from recx.core.types import Array, Ints, RankedLists
from recx.evaluation.ground_truth import GroundTruth

if TYPE_CHECKING:
    from recx.experiment.experiment import Result

Rows = dict[str, list[Any]]


@dataclass(frozen=True)
class DetailedResults:
    """Writes ``detailed_results`` as a file, and as a table of the tracker.

    trace_id, node_id: the columns trace and node of the users' table; the user's name, and None, where there are none.
    query: the user's text. true_candidate: the target that was ranked best, else the one of the highest grade.
    predicted_candidate, top3_candidates, top3_scores: what was recommended. rank: of true_candidate, None where it was
    not retrieved. is_top1_correct, is_top3_correct: whether a target is the first, or among the first three. All that
    needs the truth is None when predicting.

    format: ``parquet``, or ``csv`` with the two lists as JSON.
    """

    format: Literal["parquet", "csv"] = "parquet"

    def __post_init__(self) -> None:
        check(self, "report")

    def write(self, result: Result, folder: Path) -> Path:
        """Write one row a user with a target, or a request when predicting."""
        import pandas as pd

        table = self.table(result)
        path = folder / f"detailed_results.{self.format}"
        if self.format == "csv":
            for name in ("top3_candidates", "top3_scores"):
                table[name] = [json.dumps(values, ensure_ascii=False) for values in table[name]]
        frame = pd.DataFrame(table).astype(
            {"rank": "Int32", "is_top1_correct": "boolean", "is_top3_correct": "boolean"}
        )
        with replacing(path) as temporary:
            if self.format == "csv":
                frame.to_csv(temporary, index=False)
            else:
                frame.to_parquet(temporary, index=False)
        return path

    def table(self, result: Result) -> Rows:
        """Return the columns by name, one value a row."""
        users, items = result.interactions.users, result.interactions.items
        lists, true, rank = _judged(result)
        top = lists.top(3)
        shown = items.shown[top.item].tolist()
        score = top.score.tolist()
        borders = list(zip(top.indptr[:-1].tolist(), top.indptr[1:].tolist(), strict=True))
        first = [shown[start] if start < stop else None for start, stop in borders]
        known = true >= 0
        name = items.shown[true].tolist()
        return {
            "trace_id": _column(users, "trace", lists.user, users.shown),
            "node_id": _column(users, "node", lists.user, None),
            "query": _column(users, "text", lists.user, None),
            "true_candidate": [name[row] if known[row] else None for row in range(len(name))],
            "predicted_candidate": first,
            "top3_candidates": [shown[start:stop] for start, stop in borders],
            "top3_scores": [score[start:stop] for start, stop in borders],
            "rank": [int(place) if place > 0 else None for place in rank],
            "is_top1_correct": [_within(place, 1, there) for place, there in zip(rank, known, strict=True)],
            "is_top3_correct": [_within(place, 3, there) for place, there in zip(rank, known, strict=True)],
        }


def _judged(result: Result) -> tuple[RankedLists, Ints, Array]:
    """Return the lists, each one's target and its rank [n_lists]; -1 without a target, 0 where it was not retrieved."""
    fold, lists = result.split.fold, result.recommendations
    if fold.target is None:
        nothing = np.full(lists.n_lists, -1, dtype=np.int32)
        return lists, nothing, nothing
    truth = GroundTruth.for_evaluator(result.experiment.evaluator, fold)
    judged = truth.judge(lists)
    highest = order_in_groups(truth.gain, truth.indptr)[truth.indptr[:-1]]
    true, rank = truth.item[highest].copy(), np.zeros(judged.n_users, dtype=np.int64)
    found, first = judged.first_hits(None)
    true[found] = judged.lists.item[judged.hit_row[first]]
    rank[found] = judged.hit_rank[first]
    return judged.lists, true, rank


def _within(place: int, k: int, known: bool) -> bool | None:
    return bool(0 < place <= k) if known else None


def _column(users: Entities, name: str, chosen: Ints, otherwise: Array | None) -> list[Any]:
    """Return a column of the users' table at the chosen users, or what stands in where there is none."""
    column = users.table.get(name, otherwise)
    return [None] * len(chosen) if column is None else column[chosen].tolist()
