"""The items that a factor model has vectors of, the matrix that it learns from, and the lists made of its vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from recx.core.errors import InputError
from recx.core.progress import track
from recx.core.protocols import Seen
from recx.core.ragged import blocks, group_of_rows, indptr_of, rows_of_groups
from recx.core.similar import Similar
from recx.core.stored_lists import concat
from recx.core.system.threads import ahead, one_blas_thread
from recx.core.types import Bools, Floats, Interactions, Ints, RankedLists, Requests
from recx.parts.shared.top_k import CELLS, OfItems, top_k
from recx.parts.shared.vectors import unit

PairValue = Literal["one", "weight"]
"""What a user's events of an item count: one, or the sum of their weights."""


@dataclass(frozen=True, eq=False)
class ClickedItems:
    """The items that were clicked before the fit.

    Attributes:
        items: Their numbers, increasing [n].
        n_items: The number of all items.
    """

    items: Ints
    n_items: int

    @classmethod
    def of(cls, history: Interactions) -> ClickedItems:
        """Return the items that have a click.

        Args:
            history: The events of the fit.
        """
        return cls(np.flatnonzero(history.clicks).astype(np.int32), history.n_items)

    def __len__(self) -> int:
        return len(self.items)

    def check_read(self) -> None:
        """Check what was read from a file.

        Raises:
            ValueError: They are not numbers of items in rising order.
        """
        items = self.items
        if items.dtype.kind not in "iu" or items.ndim != 1 or not (np.diff(items) > 0).all():
            raise ValueError("numbers of items that do not increase")
        if items.size and not 0 <= items[0] <= items[-1] < self.n_items:
            raise ValueError(f"numbers of items that are not all among {self.n_items}")

    def matrix(self, history: Interactions, users: Ints, value: PairValue) -> Any:
        """Return what some users have clicked of these items, a CSR [n_users, n] of float32 with sorted columns.

        Args:
            history: The events.
            users: Numbers of users [n_users].
            value: What a pair of user and item counts.
        """
        rows = rows_of_groups(history.indptr, users)
        column = np.full(self.n_items, -1, dtype=np.int32)
        column[self.items] = np.arange(len(self.items), dtype=np.int32)
        at, user = column[history.item[rows]], group_of_rows(indptr_of(history.lengths[users]))
        known = at >= 0
        weight = history.weight[rows][known].astype(np.float32)
        found = sparse.csr_matrix((weight, (user[known], at[known])), shape=(len(users), len(self.items)))
        found.sum_duplicates()  # sorts the columns too
        if value == "one":
            found.data[:] = 1
        return found

    def similar(self, vectors: Floats, item: int, k: int) -> Similar:
        """Return the items whose vectors have the largest cosine with this one's; none if it was not clicked.

        Args:
            vectors: A vector of each clicked item [n, d].
            item: The number of the item.
            k: How many there may be.
        """
        own, units = self.items == item, unit(vectors)
        cosine = units @ units[own].sum(axis=0)
        others = ~own if own.any() else own
        return Similar.best(self.items[others], cosine[others], k)

    def check_same(self, history: Interactions, option: str) -> None:
        """Check that a history has the items of the fit.

        Args:
            history: The events that are asked about.
            option: The word of the part, for the error.

        Raises:
            InputError: The items are others.
        """
        if history.n_items != self.n_items:
            raise InputError(
                f"retriever={option} was fitted on {self.n_items} items, and this history has {history.n_items}: use "
                "one of the same items"
            )

    def lists(
        self, users: Floats, known: Bools, items: Floats, history: Interactions, requests: Requests, k: int, seen: Seen
    ) -> RankedLists:
        """Return the clicked items whose vectors have the largest products with the user's.

        Args:
            users: The vectors of the users who ask [n_requests, d].
            known: Which of them have one [n_requests]; the lists of others are empty.
            items: A vector of each clicked item [n, d].
            history: The history that each user has at the request.
            requests: Who asks, and when.
            k: The length of a list at most.
            seen: Whether items that the user has clicked are dropped or kept.
        """

        def score(block: Requests) -> OfItems:
            at = np.searchsorted(requests.user, block.user)
            table = users[at] @ items.T
            table[~known[at]] = -np.inf
            return OfItems(table, self.items.astype(np.int64))

        def best(piece: tuple[int, int]) -> RankedLists:
            return top_k(score, history, requests[slice(*piece)], k, seen)

        pieces = list(blocks(len(requests), max(1, CELLS // max(1, self.n_items))))
        if len(pieces) == 1:
            return top_k(score, history, requests, k, seen)
        with one_blas_thread():  # the cores are shared by the pieces, not by the threads of each product
            return concat(ahead(best, track(pieces, "blocks of requests")))
