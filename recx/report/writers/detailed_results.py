"""One row per query: its text, the right candidate and the first recommendations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recx.core.bounds import checked
from recx.core.entities import Entities
from recx.core.system.atomic import replacing
from recx.core.types import Array, Ints, RankedLists
from recx.evaluation.ground_truth import GroundTruth

if TYPE_CHECKING:
    from recx.experiment.experiment import Result

Rows = dict[str, list[Any]]


@dataclass(frozen=True)
@checked("report")
class DetailedResults:
    """Writes ``detailed_results`` as a file, and as a table of the tracker.

    Its columns:

    - ``trace_id``, ``node_id``: columns trace and node of the users' table; without it, the user's name and None.
    - ``query``: the user's text.
    - ``true_candidate``: the target that was ranked best, or else the one of the highest grade.
    - ``true_candidates``: all targets, those of the highest grade first.
    - ``predicted_candidate``, ``top3_candidates``, ``top3_scores``: what was recommended.
    - ``rank``: rank of ``true_candidate``, None if it was not retrieved.
    - ``is_top1_correct``, ``is_top3_correct``: whether the first item, or one of the first three, is a target.

    Columns that need the ground truth are None when predicting.

    Attributes:
        format: ``parquet``, or ``csv`` with the three lists as JSON.
    """

    format: Literal["parquet", "csv"] = "parquet"

    def write(self, result: Result, folder: Path) -> Path:
        """Write one row per user with a target, or per request when predicting.

        Args:
            result: The run.
            folder: Where to write.

        Returns:
            Path of the file.
        """
        import pandas as pd

        table = self.table(result)
        path = folder / f"detailed_results.{self.format}"
        if self.format == "csv":
            for name in ("true_candidates", "top3_candidates", "top3_scores"):
                table[name] = [
                    None if values is None else json.dumps(values, ensure_ascii=False) for values in table[name]
                ]
        types = {"rank": "Int32", "is_top1_correct": "boolean", "is_top3_correct": "boolean"}
        frame = pd.DataFrame(table).astype(types)
        with replacing(path) as temporary:
            if self.format == "csv":
                frame.to_csv(temporary, index=False)
            else:
                frame.to_parquet(temporary, index=False)
        return path

    def table(self, result: Result) -> Rows:
        """Return the columns by name, one value per row."""
        users, items = result.interactions.users, result.interactions.items
        lists, targets, true, rank = _judged(result)
        top = lists.top(3)
        shown, score = items.shown[top.item].tolist(), top.score.tolist()
        rows = [slice(start, stop) for start, stop in pairwise(top.indptr.tolist())]
        names, known, rank_of = items.shown[true].tolist(), (true >= 0).tolist(), rank.tolist()
        return {
            "trace_id": _column(users, "trace", lists.user, users.shown),
            "node_id": _column(users, "node", lists.user, None),
            "query": _column(users, "text", lists.user, None),
            "true_candidate": [name if there else None for name, there in zip(names, known, strict=True)],
            "true_candidates": [None if wanted is None else items.shown[wanted].tolist() for wanted in targets],
            "predicted_candidate": [next(iter(shown[row]), None) for row in rows],
            "top3_candidates": [shown[row] for row in rows],
            "top3_scores": [score[row] for row in rows],
            "rank": [place if place > 0 else None for place in rank_of],
            "is_top1_correct": [place == 1 if there else None for place, there in zip(rank_of, known, strict=True)],
            "is_top3_correct": [0 < place <= 3 if there else None for place, there in zip(rank_of, known, strict=True)],
        }


def _judged(result: Result) -> tuple[RankedLists, Sequence[Ints | None], Ints, Array]:
    """Return the lists, each one's targets, the one of them that is ranked best, and its rank [n_lists each].

    Without targets they are None and -1. The rank is 0 if no target was retrieved.
    """
    fold, lists = result.split.fold, result.recommendations
    if fold.target is None:
        unknown = np.full(lists.n_lists, -1, dtype=np.int32)
        return lists, [None] * lists.n_lists, unknown, unknown
    truth = GroundTruth.for_evaluator(result.experiment.evaluator, fold)
    judged = truth.judge(lists)
    wanted = np.split(truth.ideal[1], truth.indptr[1:-1])
    true = truth.ideal[1][truth.indptr[:-1]]
    rank = np.zeros(judged.n_users, dtype=np.int64)
    found, first = judged.first_hits(None)
    true[found], rank[found] = judged.lists.item[judged.hit_row[first]], judged.hit_rank[first]
    return judged.lists, wanted, true, rank


def _column(users: Entities, name: str, chosen: Ints, default: Array | None) -> list[Any]:
    """Return a column of the users' table for the chosen users, or the default if there is no such column."""
    column = users.table.get(name, default)
    return [None] * len(chosen) if column is None else column[chosen].tolist()
