"""The sequence of each user's clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.memo import once_per_input
from recx.core.ragged import check_borders, check_numbers, indptr_of, position_of_rows
from recx.core.types import Interactions, Ints, Longs, Requests


@dataclass(frozen=True, eq=False)
class Sequences:
    """The items that each user clicked, oldest first.

    Attributes:
        indptr: Borders of the users' clicks [n_users + 1].
        item: The item of each click [n].
        n_items: Number of items.
    """

    indptr: Longs
    item: Ints
    n_items: int

    def for_users(self, history: Interactions) -> Sequences:
        return sequences(history)

    def check_read(self) -> None:
        check_borders(self.indptr, len(self.item))
        check_numbers(self.item, self.n_items)

    def lengths(self, user: Ints) -> Longs:
        """Return the number of clicks of each user [n]."""
        return self.indptr[user + 1] - self.indptr[user]

    def last(self, user: Ints, n: int) -> Ints:
        """Return the items of each user's last clicks, newest first [n_users, n]; -1 where the user has fewer."""
        row = self.indptr[user + 1, None] - 1 - np.arange(n)
        exists = row >= self.indptr[user, None]
        clicked = np.full(row.shape, -1, dtype=np.int32)
        clicked[exists] = self.item[row[exists]]
        return clicked

    def weighted(self, requests: Requests, last: int, recency: float) -> Any:
        """Return the CSR [n_lists, n_items] of the users' last clicks, the n-th newest weighted ``recency ** n``."""
        return _weighted(requests, self, last, recency)


@once_per_input
def sequences(history: Interactions) -> Sequences:
    """Return the sequences of a history."""
    return Sequences(history.indptr, history.item, history.n_items)


@once_per_input
def _weighted(requests: Requests, clicked: Sequences, last: int, recency: float) -> Any:
    lengths = np.minimum(clicked.lengths(requests.user), last)
    indptr = indptr_of(lengths)
    position = position_of_rows(indptr)
    rows = clicked.indptr[requests.user + 1].repeat(lengths) - 1 - position
    weight = (recency**position).astype(np.float32)
    return sparse.csr_array((weight, clicked.item[rows], indptr), shape=(len(requests), clicked.n_items))
