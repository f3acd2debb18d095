"""Evaluation of lists that come from elsewhere: two tables in, figures with intervals out.

ev = recx.evaluate(recommendations, relevance, metrics=["ndcg_at_10", "recall_at_50"])
ev.means, ev.per_user, ev.interval("ndcg_at_10"), ev.notes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from recx.core.bounds import PositiveFloat, coerce
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.judged_lists import JudgedLists
from recx.core.memo import once_per_input
from recx.core.protocols import Metric
from recx.core.ragged import repeats
from recx.core.types import Array, Bools, Interactions, RankedLists
from recx.evaluation.blocks import Blocks, Figure, Stages, by_blocks
from recx.evaluation.frames import Order, shown_id
from recx.evaluation.ground_truth import GroundTruth
from recx.evaluation.inputs import inputs_of
from recx.evaluation.measure import Measured, cuts_of, measure, needs_all, tied
from recx.evaluation.metrics.ranking import Grade
from recx.evaluation.metrics.registry import NEEDS_SCORES, NamedMetric, resolve_all
from recx.evaluation.rules import MEAN, TIES
from recx.evaluation.slices import slices_of

if TYPE_CHECKING:
    from recx.storage.readers.in_memory import Frame

    Given = Frame | str | Path
    """A data frame of pandas, Polars, PyArrow or the like, or the path of a file."""

OnDuplicates = Literal["error", "first"]
LISTS = "lists"
"""The one stage."""
METRICS_AT_10 = tuple(f"{figure}_at_10" for figure in ("ndcg", "recall", "hit", "precision", "map", "mrr"))


def evaluate(
    recommendations: Given | RankedLists,
    relevance: Given | Interactions,
    metrics: Sequence[str | Metric] = METRICS_AT_10,
    *,
    order: Order = "auto",
    on_duplicates: OnDuplicates = "error",
    rel_threshold: float = 1.0,
    max_grade: float | None = None,
    threshold: float = 0.5,
    history: Given | Interactions | None = None,
    items: Given | Entities | None = None,
    columns: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Evaluation:
    """Evaluate ranked lists against the ground truth.

    Args:
        recommendations: A frame with columns user, item and score (or rank, from 1), the path of such a table (CSV,
            TSV, Parquet, JSON lines) or of a TREC run, or lists of recx. Frames are of pandas, Polars, PyArrow or the
            like. A table may have one row a user, with a list of items (best first, unless there is a list of scores).
        relevance: A frame with columns user, item and, if it is graded, grade; the path of such a table or of TREC
            qrels; or, with lists of recx, the events that are the targets.
        metrics: Names (``recx list metric`` shows them), or metrics made by ``recx.metric`` or a plugin.
        order: ``auto``: stable sort by falling score, equal scores by rank if there is one, or by rank where there is
            no score; an error if the two contradict each other. ``score``, ``rank``: by this one only. ``given``: the
            rows as they are.
        on_duplicates: An item that occurs twice in a list is an ``error``, or counts the ``first`` time; the later
            copy then keeps its rank as an item that is not a target.
        rel_threshold: The grade from which a target is relevant, for metrics without a threshold of their own.
        max_grade: The highest possible grade, for err and cascade.
        threshold: The score from which a row is predicted to be a target, for accuracy, class_precision ...
        history: What was known before, with columns user and item: needed by novelty, popularity, serendipity,
            new_items, aplt, pop_rsp, pop_reo, miscalibration and the slices of ``recx.compare``.
        items: More about the catalogue, with a column item and, as the metrics need them, category, embedding (one
            array per item) and is_abstain (1 for the item that stands for no answer, else 0). The catalogue consists of
            every item of all tables; those that occur only in the lists are counted as ``items_unknown``.
        columns: Role (user, item, score, rank, grade, category) -> its column in the tables, where that has another
            name, such as ``{"user": "uid", "score": "pred"}``.
        name: The name of the evaluation in comparisons; default: the path, or ``run``.

    Returns:
        Values per user, means, counts and the rules behind them.

    Raises:
        InputError: A table, a name or a setting cannot be used; the message says which and why.
    """
    order, on_duplicates = coerce(order, Order, "order"), coerce(on_duplicates, OnDuplicates, "on_duplicates")
    defaults = {
        "rel_threshold": coerce(rel_threshold, PositiveFloat, "rel_threshold"),
        "max_grade": coerce(max_grade, Grade | None, "max_grade"),
        "threshold": coerce(threshold, float, "threshold"),
    }
    chosen = _resolved(metrics, defaults)
    inputs = inputs_of(recommendations, relevance, order=order, history=history, items=items, columns=columns)
    needing = [m.name for m in chosen if isinstance(m, NamedMetric) and m.figure in NEEDS_SCORES]
    if needing and not inputs.scored:
        raise InputError(
            f'the metric {needing[0]!r} uses the scores, not the ranks: set order="score" and give a column score'
        )
    lowest = min([rel_threshold, *(getattr(metric, "rel_threshold", None) or rel_threshold for metric in chosen)])
    truth = GroundTruth.of_pairs(inputs.target_user, inputs.target_item, inputs.grade, inputs.history, lowest)
    lists, known, counts, n_asking = inputs.lists, inputs.history, inputs.notes, inputs.n_asking
    del inputs  # the truth has its targets, and the largest lists fit into memory only once
    users = known.users.ids
    figures: dict[str, Figure] = {
        **{f"metric/{metric.name}": partial(_of_metric, metric, rel_threshold) for metric in chosen},
        "tied": lambda of: tied(of[LISTS].lists, () if order == "given" else cuts_of(chosen)),
        "counts": _counts,
    }
    first_counts = partial(_first_counts, users=users, on_duplicates=on_duplicates)
    at_once = [f"metric/{metric.name}" for metric in chosen if needs_all(metric)]
    found = by_blocks(figures, Blocks(truth, [lists]), first_counts, at_once)
    measured = [found[f"metric/{metric.name}"] for metric in chosen]
    return Evaluation(
        name=name or (str(recommendations) if isinstance(recommendations, str | Path) else "run"),
        users=users if len(users) == len(truth.user) else users[truth.user],
        values=dict(pair for one in measured for pair in one.values.items()),
        scalars=dict(pair for one in measured for pair in one.numbers.items()),
        notes={
            **counts,
            **truth.notes,
            "users_judged": len(truth.user),
            "users_without_target": n_asking - len(truth.user),
            **found["counts"].notes,
            **found["tied"].numbers,
            **dict(pair for one in measured for pair in one.notes.items()),
        },
        rules={
            "order": {"given": "the order given", "rank": "the ranks given"}.get(order, TIES),
            "on_duplicates": on_duplicates,
            "mean": MEAN,
            **defaults,
            "metrics": _own_params(chosen, defaults),
            "catalogue": None if items is None else len(known.items),
            "history_events": len(known),
        },
        slices=slices_of(truth, known) if len(known) else {},
        truth=truth,
    )


def _resolved(metrics: Iterable[str | Metric], defaults: Mapping[str, float | None]) -> list[Metric]:
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        example = metrics if isinstance(metrics, str) else "ndcg_at_10"
        raise InputError(f"metrics={metrics!r}: give a list, such as [{example!r}]")
    chosen = resolve_all(metrics, defaults, "metrics")
    if any(metric.name == "user" for metric in chosen):
        raise InputError("a metric cannot be called 'user', which is the name of the column of users: rename it")
    return chosen


def _own_params(metrics: Sequence[Metric], defaults: Mapping[str, float | None]) -> dict[str, dict[str, float]]:
    """Return metric -> its params that differ from the defaults."""
    own = {}
    for metric in metrics:
        params = {key: getattr(metric, key, None) for key in defaults}
        own[metric.name] = {key: of for key, of in params.items() if of is not None and of != defaults[key]}
    return {name: params for name, params in own.items() if params}


def _of_metric(metric: Metric, rel_threshold: float, of: Stages) -> Measured:
    return measure(metric, of[LISTS], rel_threshold)


def _counts(of: Stages) -> Measured:
    lists = of[LISTS].lists
    later = int(_later_copies(lists).sum())
    return Measured({}, {"users_without_list": int((lists.lengths == 0).sum()), "duplicates_in_lists": later})


def _first_counts(judged: JudgedLists, *, users: Array, on_duplicates: OnDuplicates) -> Stages:
    """Return the lists with every item worth nothing from its second time in a list on.

    Raises:
        InputError: There is such an item, and duplicates are an error.
    """
    lists, later = judged.lists, _later_copies(judged.lists)
    if not later.any():
        return {LISTS: judged}
    if on_duplicates == "error":
        row = int(np.argmax(later))
        user, item = users[lists.user[lists.list_of_row[row]]], judged.items.ids[lists.item[row]]
        raise InputError(
            f"the list of user {shown_id(user)} shows the item {shown_id(item)} twice: drop the later row, or set "
            'on_duplicates="first", so that later copies keep their rank and do not count as targets'
        )
    kept = ~later[judged.hit_row]
    return {LISTS: replace(judged, hit_row=judged.hit_row[kept], hit_gain=judged.hit_gain[kept])}


@once_per_input
def _later_copies(lists: RankedLists) -> Bools:
    """Return which rows show an item that an earlier row of their list shows too [n]."""
    return repeats(lists.item, lists.indptr)
