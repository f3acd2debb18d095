"""The k best items for each request, from blocks of scores: the last step of every retriever that scores items.

The eligibility rules are the same for all retrievers: if the data has times, an item is eligible once it was created or
clicked before the request; items that the user has seen are dropped or kept according to the setting ``seen``. Ties are
broken by the item's number, which follows the raw id, never by the order of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.errors import RecxError
from recx.core.precision import Reals, floats_of
from recx.core.progress import track
from recx.core.protocols import Seen
from recx.core.ragged import blocks, indptr_of, order_in_groups, position_of_rows, rows_of_groups
from recx.core.types import Array, Bools, Floats, Interactions, Ints, Longs, RankedLists, Requests

Scores = Any
"""Floats [n_lists, n_items]: a dense array (-inf: not eligible), a CSR (not stored: not eligible), or ``OfItems``."""

CELLS = 16_000_000  # cells of one block of scores: 64 MB
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class OfItems:
    """Scores of a subset of the items.

    Attributes:
        score: The scores [n_lists, n].
        item: Numbers of the items, increasing [n].
    """

    score: Reals
    item: Longs


@dataclass(frozen=True, eq=False)
class Eligibility:
    """Which items may be shown at a request.

    Attributes:
        history: The events before the requests.
        seen: Whether items of the user's history are dropped or kept.
    """

    history: Interactions
    seen: Seen

    @cached_property
    def since(self) -> Longs | None:
        """Time in ms when each item was created or first clicked [n_items]; None if the data has no times."""
        if self.history.time is None:
            return None
        created = self.history.items.table.get("created_at")
        return self.history.first_seen if created is None else np.minimum(created, self.history.first_seen)

    def seen_pairs(self, requests: Requests) -> tuple[Longs, Ints]:
        """Return (list, item) of all events in the histories of the requests' users."""
        rows = rows_of_groups(self.history.indptr, requests.user)
        return np.repeat(np.arange(len(requests)), self.history.lengths[requests.user]), self.history.item[rows]

    def hidden(self, requests: Requests) -> Bools:
        """Return the mask of the items that are not eligible [n_lists, n_items]."""
        if self.since is not None and requests.time is not None:
            mask: Bools = self.since >= requests.time[:, None]
        else:
            mask = np.zeros((len(requests), self.history.n_items), dtype=bool)
        if self.seen == "drop":
            mask[self.seen_pairs(requests)] = True
        return mask


def top_k(
    score: Callable[[Requests], Scores], history: Interactions, requests: Requests, k: int, seen: Seen
) -> RankedLists:
    """Return the ``k`` best eligible items of each request.

    Args:
        score: Returns the scores of a block of requests.
        history: The events before the requests.
        requests: The requests.
        k: Length of the lists; a list is shorter if fewer items are eligible.
        seen: Whether items of the user's history are dropped or kept.

    Raises:
        RecxError: A score is NaN.
    """
    eligibility = Eligibility(history, seen)
    lists: list[RankedLists] = []
    borders = list(blocks(len(requests), max(1, CELLS // max(1, history.n_items))))
    for start, stop in track(borders, "blocks of requests"):
        block = requests[start:stop]
        table = score(block)
        hidden = eligibility.hidden(block)
        if sparse.issparse(table):
            lengths, item, value = _best_stored(table, hidden, k)
        elif isinstance(table, OfItems):
            lengths, column, value = _best_dense(table.score, hidden[:, table.item], k)
            item = table.item[column].astype(np.int32)
        else:
            lengths, item, value = _best_dense(table, hidden, k)
        lists.append(RankedLists(block.user, indptr_of(lengths), item, value))
    return RankedLists.concat(lists)


def _best_dense(table: Reals, hidden: Bools, k: int) -> tuple[Longs, Ints, Reals]:
    return top_of_table(np.where(hidden, np.float32(-np.inf), table), k)  # a copy: the table may belong to the model


def _best_stored(table: Any, hidden: Bools, k: int) -> tuple[Longs, Ints, Reals]:
    """Pad the stored entries of the rows to the same width, so that the cost depends on them, not on the catalogue."""
    table.sort_indices()
    lengths = np.diff(table.indptr)
    row = np.repeat(np.arange(len(lengths)), lengths)
    position = position_of_rows(table.indptr.astype(np.int64))
    width = int(lengths.max(initial=0))
    score = np.full((len(lengths), width), -np.inf, dtype=np.result_type(table.dtype, np.float32))
    item = np.zeros((len(lengths), width), dtype=np.int32)
    score[row, position] = np.where(hidden[row, table.indices], -np.inf, table.data)
    item[row, position] = table.indices
    counts, column, value = top_of_table(score, k)
    return counts, item[np.repeat(np.arange(len(lengths)), counts), column], value


def top_of_table(table: Array, k: int) -> tuple[Longs, Ints, Reals]:
    """Return the ``k`` largest entries of each row, ties broken by column, -inf left out.

    Scores of another type than float32 are ranked as float64.

    Returns:
        The number of entries of each row [n_lists], and the columns and scores of all entries.

    Raises:
        RecxError: A score is NaN.
        InputError: A score is a whole number that float64 does not hold.
    """
    table = np.ascontiguousarray(floats_of(table, "scores of the retriever"))
    if np.isnan(table).any():
        raise RecxError("a score of the retriever is NaN: its model did not converge, or its data contains NaN")
    worth = table > -np.inf
    if table.shape[1] > k:
        # Rounding never reverses an order, so that no score as high as the k-th largest is left out.
        rounded = table if table.dtype == np.float32 else np.clip(table, -LARGEST, LARGEST).astype(np.float32)
        worth &= rounded >= _kth_largest(rounded, k)[:, None]
    row, column = np.divmod(np.flatnonzero(worth), max(1, table.shape[1]))
    value = table[row, column]
    indptr = indptr_of(np.bincount(row, minlength=len(table)))
    rows = order_in_groups(value, indptr)
    rows = rows[position_of_rows(indptr) < k]
    return np.minimum(np.diff(indptr), k), column[rows].astype(np.int32), value[rows]


def _kth_largest(table: Floats, k: int) -> Floats:
    """Return the k-th largest score of each row [n_lists], or the lowest float if fewer are above -inf.

    FAISS's heaps take one multi-threaded pass; NumPy's partition is forty times slower on the many equal scores of
    counts. Only the threshold is taken from the heaps, since they break ties arbitrarily.
    """
    import faiss

    value = np.empty((len(table), k), dtype=np.float32)
    number = np.empty((len(table), k), dtype=np.int64)
    heaps: Any = faiss.float_minheap_array_t()
    heaps.nh, heaps.k = len(table), k
    heaps.val, heaps.ids = faiss.swig_ptr(value), faiss.swig_ptr(number)
    heaps.heapify()
    heaps.addn(table.shape[1], faiss.swig_ptr(table), 0, 0, len(table))
    return np.asarray(value.min(axis=1))
