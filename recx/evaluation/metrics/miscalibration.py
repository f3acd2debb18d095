"""Whether lists keep the proportions of categories that a user's history has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import group_of_rows, indptr_of, rows_of_groups
from recx.core.types import Array, Bools, Doubles, Interactions, Ints, Longs, Notes
from recx.evaluation.metrics.beyond_accuracy import history_for, shown_items
from recx.evaluation.metrics.ranking import Figure

SMOOTHING = 0.01
"""The share of the history's proportions that is mixed into those of the list, so that no ratio is infinite."""


def miscalibration(judged: JudgedLists, k: int | None) -> Doubles:
    """Kullback-Leibler divergence, in nats, of the proportions of categories in the list from those in the history.

    The sum over categories c of p(c) · ln(p(c) / q(c)), where p are their shares of the user's earlier events and q =
    0.99 × their shares of the items shown in the first k + 0.01 p. Items without a category are left out. 0: the list
    has the proportions of the history; ln 100 = 4.605: it shows none of its categories, as an empty list. NaN for a
    user without an earlier event of a known category. Steck: Calibrated recommendations, RecSys 2018 (C_KL, with
    equal weights and alpha = 0.01).

    Raises:
        InputError: No item has a category, or the history has no events.
    """
    category, history = _category(judged), history_for(judged, "miscalibration")
    value = np.where(_known(judged), np.log(1 / SMOOTHING), np.nan)  # of an empty list
    for lists, indptr, item in shown_items(judged, k):
        keys, p = _shares(*_earlier(history, judged.lists.user[lists]), category)
        shown, share = _shares(indptr, item, category)
        q = np.zeros(len(p))
        if len(shown):
            place = np.minimum(np.searchsorted(shown, keys), len(shown) - 1)
            q = np.where(shown[place] == keys, share[place], 0.0)
        owner = keys // _width(category)
        terms = p * np.log(p / ((1 - SMOOTHING) * q + SMOOTHING * p))
        divergence = np.bincount(owner, weights=terms, minlength=len(indptr) - 1)
        value[lists] = np.where(np.isnan(value[lists]), np.nan, np.maximum(divergence, 0.0))
    return value


def _category(judged: JudgedLists) -> Array:
    category = judged.items.table.get("category")
    if category is None or not (category >= 0).any():
        raise InputError(
            "miscalibration needs categories, but no item has one: give them with the items (items= in recx.evaluate, "
            "--items on the command line), or leave miscalibration out"
        )
    return category


def _earlier(history: Interactions, users: Ints) -> tuple[Longs, Ints]:
    """Return the borders of these users' events, and their items."""
    known = users[users < history.n_users]  # users only increase
    lengths = np.zeros(len(users), dtype=np.int64)
    lengths[: len(known)] = history.lengths[known]
    return indptr_of(lengths), history.item[rows_of_groups(history.indptr, known)]


def _shares(indptr: Longs, item: Ints, category: Array) -> tuple[Longs, Doubles]:
    """Return group · width + category of all categories that occur in a group, rising, and their shares of it."""
    of_item, width = category[item].astype(np.int64), _width(category)
    known = of_item >= 0
    keys, counts = np.unique(group_of_rows(indptr)[known] * width + of_item[known], return_counts=True)
    totals = np.bincount(keys // width, weights=counts)
    return keys, counts / totals[keys // width]


def _width(category: Array) -> int:
    return int(category.max()) + 1


def _known(judged: JudgedLists) -> Bools:
    """Return which users have an earlier event of a known category [n_users]."""
    indptr, item = _earlier(judged.history, judged.lists.user)
    has = _category(judged)[item] >= 0
    known: Bools = np.bincount(group_of_rows(indptr)[has], minlength=judged.n_users) > 0
    return known


def without_history(judged: JudgedLists, k: int | None) -> Notes:  # one signature for all notes
    """Count the users without an earlier event of a known category, whom miscalibration leaves out."""
    return {"miscalibration_without_history": int(np.count_nonzero(~_known(judged)))}


FIGURES: dict[str, Figure] = {"miscalibration": miscalibration}
"""Name without ``_at_k`` -> figure."""
NOTES: dict[str, Callable[[JudgedLists, int | None], Notes]] = {"miscalibration": without_history}
"""Name of a figure -> its counts."""
