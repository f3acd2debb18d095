"""The best k items for each request, from blocks of scores: what every retriever that scores items ends with.

Here stand, once for all retrievers, the rules of who may be shown what: an item is retrievable once it was created or
clicked before the request (where times exist), and what the user has seen is dropped or kept by the common setting
``seen``. Ties are broken by the item's number, which follows the raw id, never by the order of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.errors import RecxError
from recx.core.progress import track
from recx.core.protocols import Seen
from recx.core.ragged import blocks, indptr_of, order_in_groups, position_of_rows, rows_of_groups
from recx.core.types import Bools, Floats, Interactions, Ints, Longs, RankedLists, Requests

Scores = Any
"""float32 [n_lists, n_items]: a dense array (-inf: not to be shown), a sparse CSR (not stored: not to be shown), or
``OfItems``."""

CELLS = 16_000_000  # cells of one block of scores: 64 MB


@dataclass(frozen=True, eq=False)
class OfItems:
    """Scores of some items only. score: float32 [n_lists, n]. item: their numbers, rising [n]."""

    score: Floats
    item: Longs


@dataclass(frozen=True, eq=False)
class Eligibility:
    """Which items may be shown at a request."""

    history: Interactions
    seen: Seen

    @cached_property
    def since(self) -> Longs | None:
        """When every item was created or first clicked [n_items] ms; None where the data has no times."""
        if self.history.time is None:
            return None
        created = self.history.items.table.get("created_at")
        return self.history.first_seen if created is None else np.minimum(created, self.history.first_seen)

    def seen_pairs(self, requests: Requests) -> tuple[Longs, Ints]:
        """Return (line, item) of everything that the requests' users have in their history."""
        rows = rows_of_groups(self.history.indptr, requests.user)
        return np.repeat(np.arange(len(requests)), self.history.lengths[requests.user]), self.history.item[rows]

    def hidden(self, requests: Requests) -> Bools:
        """Return the mask [n_lists, n_items] of what may not be shown."""
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
    """Return each request's ``k`` best items that may be shown; ``score`` is asked for blocks of requests."""
    shelf = Eligibility(history, seen)
    lists: list[RankedLists] = []
    borders = list(blocks(len(requests), max(1, CELLS // max(1, history.n_items))))
    for start, stop in track(borders, "blocks of requests"):
        block = requests[start:stop]
        table = score(block)
        hidden = shelf.hidden(block)
        if sparse.issparse(table):
            lengths, item, value = _best_stored(table, hidden, k)
        elif isinstance(table, OfItems):
            lengths, column, value = _best_dense(table.score, hidden[:, table.item], k)
            item = table.item[column].astype(np.int32)
        else:
            lengths, item, value = _best_dense(table, hidden, k)
        lists.append(RankedLists(block.user, indptr_of(lengths), item, value))
    return RankedLists.concat(lists)


def _best_dense(table: Floats, hidden: Bools, k: int) -> tuple[Longs, Ints, Floats]:
    return top_of_table(np.where(hidden, np.float32(-np.inf), table), k)  # a copy: the table may be the model's own


def _best_stored(table: Any, hidden: Bools, k: int) -> tuple[Longs, Ints, Floats]:
    """Pad the stored entries of every line to one width: cost follows them, not the catalogue."""
    table.sort_indices()
    lengths = np.diff(table.indptr)
    line = np.repeat(np.arange(len(lengths)), lengths)
    place = position_of_rows(table.indptr.astype(np.int64))
    width = int(lengths.max(initial=0))
    score = np.full((len(lengths), width), -np.inf, dtype=np.float32)
    item = np.zeros((len(lengths), width), dtype=np.int32)
    score[line, place] = np.where(hidden[line, table.indices], -np.inf, table.data)
    item[line, place] = table.indices
    counts, column, value = top_of_table(score, k)
    return counts, item[np.repeat(np.arange(len(lengths)), counts), column], value


def top_of_table(table: Floats, k: int) -> tuple[Longs, Ints, Floats]:
    """Return (lengths [n_lines], columns, scores): each line's ``k`` largest, ties by column, -inf left out.

    Raises:
        RecxError: a score is NaN.
    """
    table = np.ascontiguousarray(table, dtype=np.float32)
    if np.isnan(table).any():
        raise RecxError("a score of the retriever is NaN: its model did not converge, or its data holds NaN")
    worth = table > -np.inf
    if table.shape[1] > k:
        worth &= table >= _kth_largest(table, k)[:, None]
    line, column = np.divmod(np.flatnonzero(worth), max(1, table.shape[1]))
    value = table[line, column]
    indptr = indptr_of(np.bincount(line, minlength=len(table)))
    rows = order_in_groups(value, indptr)
    rows = rows[position_of_rows(indptr) < k]
    return np.minimum(np.diff(indptr), k), column[rows].astype(np.int32), value[rows]


def _kth_largest(table: Floats, k: int) -> Floats:
    """Return each line's k-th largest score [n_lines], the lowest float where fewer are above -inf.

    FAISS's heaps take one pass on all threads; NumPy's partition is forty times slower on the many equal scores that
    counts bring. Only the threshold is taken from the heaps: which of several equal items is kept is ours to say.
    """
    import faiss

    value = np.empty((len(table), k), dtype=np.float32)
    number = np.empty((len(table), k), dtype=np.int64)
    heaps: Any = faiss.float_minheap_array_t()
    heaps.nh, heaps.k = len(table), k
    heaps.val, heaps.ids = faiss.swig_ptr(value), faiss.swig_ptr(number)
    heaps.heapify()
    heaps.addn(table.shape[1], faiss.swig_ptr(table), 0, 0, len(table))
    smallest: Floats = value.min(axis=1)
    return smallest
