"""Lists of allowed items from any retriever: one that does not look at what a request allows is asked for more."""

from __future__ import annotations

import numpy as np

from recx.core.contracts import check_lists
from recx.core.protocols import FittedRetriever
from recx.core.ragged import indptr_of
from recx.core.types import Bools, Interactions, RankedLists, Requests


def retrieved(retriever: FittedRetriever, history: Interactions, requests: Requests, k: int, maker: str) -> RankedLists:
    """Return at most ``k`` items for each request, all of them allowed: the ``k`` best of those.

    Args:
        retriever: The retriever.
        history: The events before the requests.
        requests: The requests.
        k: The longest length of a list.
        maker: What to call the retriever in errors.

    Raises:
        RecxError: The retriever violated its protocol.
    """
    n_items = history.n_items
    lists = check_lists(retriever.retrieve(history, requests, k), requests, n_items, maker)
    allowed = requests.allowed
    if allowed is None or allowed[lists.item].all():
        return lists
    asked = k
    while True:
        shown = rows_only(lists, allowed[lists.item])
        short = (shown.lengths < k) & (lists.lengths >= asked)  # the retriever may have more
        if asked >= n_items or not short.any():
            return shown.top(k)
        asked = min(2 * asked, n_items)
        lists = check_lists(retriever.retrieve(history, requests, asked), requests, n_items, maker)


def rows_only(lists: RankedLists, rows: Bools) -> RankedLists:
    """Return the lists with the rows only for which a mask [n_rows] is true."""
    lengths = np.bincount(lists.list_of_row[rows], minlength=lists.n_lists)
    return lists.picked(rows, indptr=indptr_of(lengths))
