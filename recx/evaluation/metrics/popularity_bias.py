"""Popularity bias: how far the lists favour the items that have most of the history's events.

The short head are the fewest most popular items that have at least a share ``head`` of the events of the history,
0.8 unless another is given; among equally popular items those with the lower code come first. All other items of the
catalogue, those without an event too, are the long tail. (``popularity`` is the average recommendation popularity,
ARP, of the same literature.)
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Interval

from recx.core.judged_lists import JudgedLists
from recx.core.memo import once_per_input
from recx.core.ragged import blocks_of_groups, distinct, group_of_rows
from recx.core.total import Total
from recx.core.types import Array, Bools, Doubles, Interactions, Longs
from recx.evaluation.metrics.beyond_accuracy import ROWS_AT_ONCE, exposure, history_for, mean_of_items
from recx.evaluation.metrics.ranking import Figure

HEAD = 0.8
Head = Annotated[float, Interval(gt=0, lt=1)]


def aplt(judged: JudgedLists, k: int | None, *, head: float = HEAD) -> Doubles:
    """Share of the items shown that belong to the long tail (average percentage of long-tail items).

    Abdollahpouri, Burke, Mobasher: Managing popularity bias in recommender systems with personalized re-ranking,
    FLAIRS 2019.

    Raises:
        InputError: The history has no events.
    """
    return mean_of_items(judged, k, ~short_head(history_for(judged, "aplt"), head))


def pop_rsp(judged: JudgedLists, k: int | None, *, head: float = HEAD) -> Total[float]:
    """Ranking-based statistical parity between short head and long tail: std / mean of P(shown | group).

    P(shown | group) = items of the group shown in the first k, over all users / items of the group that are not in the
    user's own history, over all users. 0: both groups are shown at the same rate; 1: only one of them is. The standard
    deviation is that of the two rates (divided by 2, not 1). A group without any such item is left out. Zhu, Wang,
    Caverlee: Measuring and mitigating item under-recommendation bias in personalized ranking systems, SIGIR 2020.

    Raises:
        InputError: The history has no events.
    """
    history = history_for(judged, "pop_rsp")
    is_head = short_head(history, head)
    shown = _by_group(exposure(judged, k), is_head)
    seen = _seen_by_group(history, head)[judged.lists.user[judged.lists.user < history.n_users]].sum(axis=0)
    return Total(np.array([shown, judged.n_users * _by_group(np.ones(len(is_head)), is_head) - seen]), _disparity)


def pop_reo(judged: JudgedLists, k: int | None, *, head: float = HEAD) -> Total[float]:
    """Ranking-based equal opportunity between short head and long tail: std / mean of P(shown | group, target).

    P(shown | group, target) = targets of the group shown in the first k / all targets of the group, over all users:
    the recall of each group. The rest as of ``pop_rsp``, also the source.

    Raises:
        InputError: The history has no events.
    """
    is_head = short_head(history_for(judged, "pop_reo"), head)
    shown = judged.lists.item[judged.hit_row[judged.relevant_hits(k)]]
    targets = judged.ideal_item[judged.ideal >= judged.rel_threshold]
    return Total(np.array([_counts(is_head[shown]), _counts(is_head[targets])]), _disparity)


def _disparity(sums: Array) -> float:
    """Return std / mean of the rates shown / there to be shown of the groups (``sums`` [2, 2]); 0 if all are 0."""
    shown, there = sums[:, sums[1] > 0]
    rates = shown / there
    mean = float(rates.mean()) if len(rates) else 0.0
    return float(rates.std()) / mean if mean else 0.0


@once_per_input  # every block of users asks
def short_head(history: Interactions, head: float) -> Bools:
    """Return which items belong to the short head [n_items]."""
    clicks = history.clicks
    order = np.argsort(-clicks, kind="stable")
    reached = clicks[order].cumsum()
    least = np.ceil(round(head * int(reached[-1]), 6))  # 0.07 * 100 is a little above 7
    is_head = np.zeros(len(clicks), dtype=bool)
    is_head[order[: np.searchsorted(reached, least) + 1]] = True
    return is_head


@once_per_input
def _seen_by_group(history: Interactions, head: float) -> Longs:
    """Return how many distinct items of short head and long tail every user has had [n_users, 2]."""
    is_head, seen = short_head(history, head), np.zeros((history.n_users, 2), dtype=np.int64)
    for start, stop in blocks_of_groups(history.indptr, ROWS_AT_ONCE):  # all events of a user are in one block
        indptr = history.indptr[start : stop + 1]
        pairs = distinct(group_of_rows(indptr) * history.n_items + history.item[indptr[0] : indptr[-1]])
        user, item = np.divmod(pairs, history.n_items)
        for group, chosen in enumerate((is_head[item], ~is_head[item])):
            seen[start:stop, group] = np.bincount(user[chosen], minlength=stop - start)
    return seen


def _by_group(of_item: Array, is_head: Bools) -> Doubles:
    """Return the sums of a value per item over short head and long tail [2]."""
    return np.array([of_item[is_head].sum(), of_item[~is_head].sum()], dtype=np.float64)


def _counts(is_head: Bools) -> Doubles:
    return np.array([np.count_nonzero(is_head), np.count_nonzero(~is_head)], dtype=np.float64)


FIGURES: dict[str, Figure] = {figure.__name__: figure for figure in (aplt, pop_rsp, pop_reo)}
"""Name without ``_at_k`` -> figure."""
