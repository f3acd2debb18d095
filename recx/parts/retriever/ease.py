"""EASE: a linear item-item model with a closed form (Steck 2019, "Embarrassingly shallow autoencoders")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from recx.core.bounds import PositiveFloat, PositiveInt, checked
from recx.core.errors import InputError, RecxError
from recx.core.protocols import Seen
from recx.core.ragged import check_numbers, rows_of_groups
from recx.core.similar import Similar
from recx.core.types import Floats, Interactions, RankedLists, Requests
from recx.parts.shared.top_k import OfItems, top_k


@dataclass(frozen=True)
@checked("retriever")
class EASE:
    """B = I - P / diag(P) with P = (X'X + l2 I)^-1 and X the users' clicks as 0 and 1; the scores are X B.

    The memory is that of one items x items matrix in float32: 0.6 GB for 12,000 items.

    Attributes:
        l2: Penalty on the squared weights.
        max_items: Largest number of clicked items for which the matrix is inverted.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    l2: PositiveFloat = 100.0
    max_items: PositiveInt = 30_000
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedEASE:
        """Invert the Gram matrix of the clicked items.

        Raises:
            InputError: More than ``max_items`` items were clicked.
            RecxError: The matrix cannot be inverted.
        """
        known = np.flatnonzero(history.clicks)
        if len(known) > self.max_items:
            raise InputError(
                f"retriever=ease would invert a matrix of {len(known)} x {len(known)} items "
                f"({len(known) ** 2 * 4 / 1e9:.0f} GB): raise retriever.max_items, or choose item_knn"
            )
        clicks = _clicked(history, np.arange(history.n_users))[:, known]
        gram = np.asfortranarray((clicks.T @ clicks).toarray())
        gram[np.diag_indices_from(gram)] += np.float32(self.l2)
        return FittedEASE(self, known, _weights(gram))


def _weights(gram: Floats) -> Floats:
    """Return B [n_known, n_known] of a positive definite matrix, computed in place."""
    if not len(gram):  # LAPACK rejects an empty matrix
        return gram
    factor, failed = lapack.spotrf(gram, lower=1, overwrite_a=1)
    inverse, also_failed = lapack.spotri(factor, lower=1, overwrite_c=1)
    if failed or also_failed:
        raise RecxError("retriever=ease could not invert the item matrix: raise retriever.l2")
    for start in range(0, len(inverse), 512):  # LAPACK fills only one triangle
        stop = min(start + 512, len(inverse))
        inverse[start:stop, stop:] = inverse[stop:, start:stop].T
        square = np.tril(inverse[start:stop, start:stop])
        inverse[start:stop, start:stop] = square + np.tril(square, -1).T
    diagonal = inverse.diagonal().copy()
    inverse /= -diagonal
    np.fill_diagonal(inverse, 0)
    return np.ascontiguousarray(inverse)


def _clicked(history: Interactions, users: Any) -> Any:
    """Return the users' clicks as a CSR [n_lists, n_items] of ones."""
    item = history.item[rows_of_groups(history.indptr, users)]
    row, shape = np.repeat(np.arange(len(users)), history.lengths[users]), (len(users), history.n_items)
    clicks = sparse.coo_array((np.ones(len(item), np.float32), (row, item)), shape=shape).tocsr()
    clicks.data[:] = 1
    return clicks


@dataclass(frozen=True, eq=False)
class FittedEASE:
    """The fitted retriever.

    Attributes:
        settings: The settings of the fit.
        known: Numbers of the clicked items [n_known].
        weights: The matrix B [n_known, n_known].
    """

    settings: EASE
    known: Any
    weights: Floats

    def check_read(self) -> None:
        check_numbers(self.known, np.iinfo(np.int32).max)
        if self.weights.shape != (len(self.known), len(self.known)):
            raise ValueError("weights of other items than those that were clicked")

    def for_users(self, history: Interactions) -> FittedEASE:
        return self

    def similar(self, item: int, k: int) -> Similar:
        """Return the items with the largest positive weights from this one."""
        row = self.weights[np.flatnonzero(self.known == item)].sum(axis=0)
        return Similar.best(self.known[row > 0], row[row > 0], k)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the clicked items with the highest scores X B; a user without such clicks gets an empty list."""

        def score(block: Requests) -> OfItems:
            clicks = _clicked(history, block.user)[:, self.known]
            table = np.asarray(clicks @ self.weights, dtype=np.float32)
            table[np.diff(clicks.indptr) == 0] = -np.inf
            return OfItems(table, self.known)

        return top_k(score, history, requests, k, self.settings.seen)
