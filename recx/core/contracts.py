"""The checks of lists that pass from one part to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from recx.core.errors import InputError, RecxError
from recx.core.ragged import repeats, rises, same_items
from recx.core.types import Bools, RankedLists, Requests

T = TypeVar("T")
TABLE = ("user", "rank", "item", "score", "retriever_rank", "retriever_score")
"""The columns that the table of a run's lists has for itself, before those that parts give to their lists."""


def check_type(made: T, kind: type, maker: str) -> T:
    """Return what a part made if it is of the kind that its protocol names.

    Raises:
        RecxError: It is something else, such as None of a method that returns nothing.
    """
    if not isinstance(made, kind):
        raise RecxError(f"{maker} must return {kind.__name__}, and returned {type(made).__name__}: correct it")
    return made


def check_lists(lists: RankedLists, requests: Requests, n_items: int, maker: str) -> RankedLists:
    """Return these lists if they satisfy every invariant of the type.

    Args:
        lists: The lists to check.
        requests: The requests that they answer.
        n_items: The size of the catalogue.
        maker: The part that made the lists, for errors.

    Raises:
        RecxError: An invariant is violated; the message names the maker and the user.
    """
    check_type(lists, RankedLists, maker)
    if lists.user is not requests.user and not np.array_equal(lists.user, requests.user):
        raise RecxError(f"{maker} must return one list for each request, in the order of the requests")
    whole = len(lists.indptr) == lists.n_lists + 1 and lists.indptr[0] == 0 and lists.indptr[-1] == len(lists.item)
    if not whole or (lists.lengths < 0).any():
        raise RecxError(f"{maker} returned lists whose indptr does not fit their {len(lists.item)} rows")
    if len(lists.score) != len(lists.item) or any(len(c) != len(lists.item) for c in lists.columns.values()):
        raise RecxError(f"{maker} returned scores or columns that do not fit their {len(lists.item)} rows")
    if lists.n_lists == 1 and _is_valid(lists, n_items):
        return lists
    violations: dict[str, Callable[[], Bools]] = {
        "an item outside the catalogue": lambda: (lists.item < 0) | (lists.item >= n_items),
        "a score that is not finite": lambda: ~np.isfinite(lists.score),
        "an item twice": lambda: repeats(lists.item, lists.indptr),
        "scores that rise along the list": lambda: rises(lists.score, lists.indptr)[:-1],
    }
    for what, where in violations.items():
        rows = where()
        if rows.any():
            user = lists.user[lists.list_of_row[int(np.argmax(rows))]]
            raise RecxError(f"{maker} returned {what} for user {user}")
    return lists


def _is_valid(lists: RankedLists, n_items: int) -> bool:
    """Return whether a single list satisfies the invariants, in a fifth of the time that many need at least."""
    score, item = lists.score, np.sort(lists.item)
    if not len(item):
        return True
    falls = (score[1:] <= score[:-1]).all() and np.isfinite(score[0]) and np.isfinite(score[-1])  # NaN does not fall
    return bool(falls and item[0] >= 0 and item[-1] < n_items and (item[1:] != item[:-1]).all())


def check_made(lists: RankedLists, requests: Requests, n_items: int, maker: str) -> RankedLists:
    """Return lists that a part made if they are valid and no column of theirs is called like one of the run's table.

    Args: as for ``check_lists``.

    Raises:
        RecxError: An invariant is violated.
        InputError: A column has such a name, which may come from a setting, such as a source's name in a union.
    """
    check_lists(lists, requests, n_items, maker)
    check_names_of_columns(lists, maker)
    return lists


def check_names_of_columns(lists: RankedLists, maker: str) -> None:
    """Raise InputError if a column of lists is called like one of the run's table."""
    for name in TABLE:
        if name in lists.columns:
            raise InputError(
                f"{maker} returned a column {name!r}, and recommendations.parquet has one of its own: give it another "
                "name"
            )


def check_same_pairs(candidates: RankedLists, recommendations: RankedLists) -> None:
    """Check that the recommendations are the candidates, in any order.

    Raises:
        RecxError: An item was added, removed or replaced.
    """
    if recommendations is candidates:
        return
    indptr = candidates.indptr
    same_lists = recommendations.indptr is indptr or np.array_equal(indptr, recommendations.indptr)
    if not same_lists or not same_items(candidates.item, recommendations.item, indptr):
        raise RecxError(
            "the ranker must return exactly the candidates that it was given, no more and no fewer: "
            "let it make its lists with candidates.reorder(score)"
        )
