"""Targets that a given split should not have: events that are known already, and those older than what is known."""

from __future__ import annotations

import numpy as np

from recx.core.own_items import among
from recx.core.ragged import indptr_of
from recx.core.row_order import count_in_groups
from recx.core.types import Bools, Interactions, Longs


def in_history_too(data: Interactions, history: Bools, target: Bools) -> Bools:
    """Return which targets the history of their user has too [n]: user, item and time; without times, user and item.

    Args:
        data: All events.
        history: Which of them are the history [n].
        target: Which of them are targets [n].
    """
    found = np.zeros(len(data), dtype=bool)
    indptr, known = (indptr_of(count_in_groups(rows, data.indptr)) for rows in (target, history))
    everyone = np.arange(data.n_users)
    again = among(everyone, indptr, data.item[target], known, data.item[history], data.n_items)
    rows = np.flatnonzero(target)[again]
    if data.time is None or not len(rows):
        found[rows] = True
        return found
    # Of the few pairs that are there twice, the events at one time.
    pair = data.user.astype(np.int64) * data.n_items + data.item
    beside = np.flatnonzero(history & np.isin(pair, pair[rows]))
    both = np.concatenate([beside, rows])
    order = np.lexsort((np.arange(len(both)) >= len(beside), data.time[both], pair[both]))
    both, is_target = both[order], order >= len(beside)
    same = (pair[both][1:] == pair[both][:-1]) & (data.time[both][1:] == data.time[both][:-1])
    first = np.maximum.accumulate(np.where(np.append(True, ~same), np.arange(len(both)), 0))  # of each run of twins
    found[both[is_target & ~is_target[first]]] = True
    return found


def older_than_history(data: Interactions, history: Bools, target: Bools) -> Bools:
    """Return which targets are older than the last event of their user's history [n]; none without times."""
    if data.time is None:
        return np.zeros(len(data), dtype=bool)
    last: Longs = np.full(data.n_users, np.iinfo(np.int64).min)
    np.maximum.at(last, data.user[history], data.time[history])
    return target & (data.time < last[data.user])
