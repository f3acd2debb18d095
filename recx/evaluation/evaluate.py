"""The door for people who only want to evaluate: two tables in, figures with intervals out.

ev = recx.evaluate(recommendations, relevance, metrics=["ndcg_at_10", "recall_at_50"])
ev.means, ev.per_user, ev.interval("ndcg_at_10"), ev.notes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recx.core.bounds import PositiveFloat, coerce
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.judged_lists import JudgedLists
from recx.core.protocols import Metric
from recx.core.ragged import repeats
from recx.core.types import Array, Bools, Interactions, RankedLists
from recx.evaluation import frames
from recx.evaluation.evaluator import slices_of
from recx.evaluation.ground_truth import GroundTruth
from recx.evaluation.inputs import inputs_of
from recx.evaluation.measure import cut_of, measure, tied
from recx.evaluation.metrics.ranking import Grade
from recx.evaluation.metrics.registry import NEEDS_SCORES, NamedMetric, resolve
from recx.evaluation.rules import MEAN, TIES

if TYPE_CHECKING:
    import pandas as pd

OnDuplicates = Literal["error", "first"]
METRICS_AT_10 = tuple(f"{figure}_at_10" for figure in ("ndcg", "recall", "hit", "precision", "map", "mrr"))


def evaluate(
    recommendations: pd.DataFrame | str | Path | RankedLists,
    relevance: pd.DataFrame | str | Path | Interactions,
    metrics: Sequence[str | Metric] = METRICS_AT_10,
    *,
    order: frames.Order = "score",
    on_duplicates: OnDuplicates = "error",
    rel_threshold: float = 1.0,
    max_grade: float | None = None,
    threshold: float = 0.5,
    history: pd.DataFrame | str | Path | Interactions | None = None,
    items: pd.DataFrame | str | Path | Entities | None = None,
    name: str | None = None,
) -> Evaluation:
    """Judge lists by the truth.

    Args:
        recommendations: a frame with columns user, item and score (or rank, from 1), the path of such a table (CSV,
            TSV, Parquet) or of a TREC run, or lists of recx.
        relevance: a frame with columns user, item and, if it is graded, grade; a path of such a table or of TREC qrels;
            or, with lists of recx, the events that are the targets.
        metrics: names (``recx list metric`` shows them), or what ``recx.metric`` or a plugin makes.
        order: ``score``: stable sort by falling score, ties in the order given. ``given``: the rows as they stand.
        on_duplicates: an item twice in a list is an ``error``, or counts the ``first`` time, and the later copy keeps
            its place as an item that is no target.
        rel_threshold: the grade from which a target is relevant, for metrics without one of their own.
        max_grade: the highest grade that there can be, for err and cascade.
        threshold: the score from which a row is predicted to be a target, for accuracy and class_precision ...
        history: what was known before, with columns user and item: novelty, popularity, serendipity, new_items and the
            slices of ``recx.compare`` need it.
        items: more of the catalogue, with a column item and, as the metrics need them, category and embedding (one
            array an item). The catalogue is every item of all tables; those that stand in the lists alone are counted
            as ``items_unknown``.
        name: what the evaluation is called in comparisons: without one, the path, or ``run``.

    Raises:
        InputError: a table, a name or a setting cannot be used; the sentence says which and why.
    """
    order, on_duplicates = coerce(order, frames.Order, "order"), coerce(on_duplicates, OnDuplicates, "on_duplicates")
    defaults = {
        "rel_threshold": coerce(rel_threshold, PositiveFloat, "rel_threshold"),
        "max_grade": coerce(max_grade, Grade | None, "max_grade"),
        "threshold": coerce(threshold, float, "threshold"),
    }
    chosen = _resolved(metrics, defaults)
    own = [getattr(metric, "rel_threshold", None) or rel_threshold for metric in chosen]
    world = inputs_of(recommendations, relevance, order=order, history=history, items=items)
    if not world.scored:
        _refuse_scores_asked_for(chosen)
    truth = GroundTruth.of_pairs(
        world.target_user, world.target_item, world.grade, world.history, min([rel_threshold, *own])
    )
    judged = truth.judge(world.lists)
    later = _later_copies(judged, world.history.users.ids, on_duplicates)
    if later.any():
        kept = ~later[judged.hit_row]
        judged = replace(judged, hit_row=judged.hit_row[kept], hit_gain=judged.hit_gain[kept])
    values, scalars, counts = measure(chosen, judged, rel_threshold)
    return Evaluation(
        name=name or (str(recommendations) if isinstance(recommendations, str | Path) else "run"),
        users=world.history.users.ids[truth.user],
        values=values,
        scalars=scalars,
        notes={
            **world.notes,
            **truth.notes,
            "users_judged": judged.n_users,
            "users_without_target": int((np.bincount(world.target_user) > 0).sum()) - judged.n_users,
            "users_without_list": int((judged.lists.lengths == 0).sum()),
            "duplicates_in_lists": int(later.sum()),
            **_tied(chosen, judged, order),
            **counts,
        },
        rules={
            "order": TIES if order == "score" else "the order given",
            "on_duplicates": on_duplicates,
            "mean": MEAN,
            **defaults,
            "metrics": _odd_params(chosen, defaults),
            "catalogue": None if items is None else len(world.history.items),
            "history_events": len(world.history),
        },
        slices=slices_of(truth, world.history) if len(world.history) else {},
        truth=truth,
    )


def _resolved(metrics: Iterable[str | Metric], defaults: Mapping[str, float | None]) -> list[Metric]:
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        example = metrics if isinstance(metrics, str) else "ndcg_at_10"
        raise InputError(f"metrics={metrics!r}: give a list, such as [{example!r}]")
    chosen = [resolve(given, defaults) for given in metrics]
    names = [metric.name for metric in chosen]
    for metric in chosen:
        if names.count(metric.name) > 1:
            raise InputError(f"the metric {metric.name!r} is asked for twice: take one away, or give it a label")
        if metric.name == "user":
            raise InputError("a metric cannot be called 'user', as the column of users is: rename it")
    return chosen


def _refuse_scores_asked_for(metrics: Sequence[Metric]) -> None:
    for metric in metrics:
        if isinstance(metric, NamedMetric) and metric.figure in NEEDS_SCORES:
            raise InputError(
                f'the metric {metric.name!r} looks at scores, not at ranks: say order="score" and give a column score'
            )


def _odd_params(metrics: Sequence[Metric], defaults: Mapping[str, float | None]) -> dict[str, dict[str, float]]:
    """Return metric -> its params that are others than those of all."""
    params = {metric.name: {key: getattr(metric, key, None) for key in defaults} for metric in metrics}
    odd = {
        name: {key: value for key, value in of.items() if value is not None and value != defaults[key]}
        for name, of in params.items()
    }
    return {name: of for name, of in odd.items() if of}


def _later_copies(judged: JudgedLists, users: Array, on_duplicates: OnDuplicates) -> Bools:
    """Return which rows show an item that their list has shown before [n].

    Raises:
        InputError: there is such a row and duplicates are an error.
    """
    lists = judged.lists
    later = repeats(lists.item, lists.indptr)
    if on_duplicates == "error" and later.any():
        row = int(np.argmax(later))
        user, item = users[lists.user[lists.list_of_row[row]]], judged.items.ids[lists.item[row]]
        raise InputError(
            f"the list of user {_word(user)} shows the item {_word(item)} twice: drop the later row, or say "
            'on_duplicates="first", by which later copies keep their place and count as no target'
        )
    return later


def _tied(metrics: Sequence[Metric], judged: JudgedLists, order: frames.Order) -> dict[str, float]:
    """Return the share of users with a tie at each cut, where the scores give the order."""
    cuts = sorted({cut for metric in metrics if (cut := cut_of(metric)) is not None})
    return {f"tied_at_{k}": tied(judged.lists, k) for k in cuts} if order == "score" else {}


def _word(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)
