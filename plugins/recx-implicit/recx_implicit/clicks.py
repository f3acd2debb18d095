"""The users' clicks as the matrix that implicit learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from recx.plugin import Array, Interactions, Ints, group_of_rows, indptr_of, rows_of_groups

Value = Literal["one", "weight"]
"""What a user's events of an item count: one, or the sum of their weights."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The items that were clicked before the fit, which are the columns of the matrix.

    Attributes:
        items: Their numbers, increasing [n].
        n_items: The number of all items.
    """

    items: Ints
    n_items: int

    @classmethod
    def of(cls, history: Interactions) -> Columns:
        return cls(np.flatnonzero(history.clicks).astype(np.int32), history.n_items)

    def check_read(self) -> None:
        rising = (np.diff(self.items) > 0).all()
        if self.items.dtype.kind not in "iu" or not rising or (self.items.size and self.items[0] < 0):
            raise ValueError("numbers of items that do not increase from 0 on")
        if self.items.size and self.items[-1] >= self.n_items:
            raise ValueError(f"numbers of items that are not all below {self.n_items}")

    def matrix(self, history: Interactions, users: Ints, value: Value) -> Any:
        """Return what some users have clicked of these items, a CSR [n_users, n] of float32."""
        rows = rows_of_groups(history.indptr, users)
        column = np.full(self.n_items, -1, dtype=np.int32)
        column[self.items] = np.arange(len(self.items), dtype=np.int32)
        at, user = column[history.item[rows]], group_of_rows(indptr_of(history.lengths[users]))
        known = at >= 0
        data = history.weight[rows][known].astype(np.float32)
        shape = (len(users), len(self.items))
        matrix = sparse.csr_matrix((data, (user[known], at[known])), shape=shape)  # adds up the events of a pair
        if value == "one":
            matrix.data[:] = 1
        return matrix


def fingerprints(matrix: Any) -> Array:
    """Return a number per row of a CSR [n_users], equal for rows with the same entries."""
    mixed = (matrix.indices.astype(np.uint64) << np.uint64(32)) | matrix.data.view(np.uint32)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # of SplitMix64 (Steele et al. 2014)
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)])
    found: Array = total[matrix.indptr[1:]] - total[matrix.indptr[:-1]]  # modulo 2^64
    return found
