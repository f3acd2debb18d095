"""The factors that implicit has learnt, and the lists made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from implicit.cpu.als import AlternatingLeastSquares

from recx.plugin import (
    Array,
    Bools,
    ClickedItems,
    FitSummary,
    Floats,
    Interactions,
    Ints,
    Longs,
    PairValue,
    RankedLists,
    Requests,
    Seen,
    Similar,
    available,
    one_blas_thread,
)
from recx_implicit.clicks import fingerprints


@dataclass(frozen=True, eq=False)
class FittedFactors:
    """A fitted matrix factorisation, which knows the users of its fit as they were then.

    Attributes:
        option: The retriever, such as ``bpr``.
        seen: Whether items that the user has clicked are dropped or kept.
        clicked: The items that have factors.
        item_factors: The factors of these items [n, d].
        users: The raw ids of the users who have factors, increasing [n_known].
        user_factors: The factors of these users [n_known, d].
        summary: Counts and curves of the fit.
    """

    option: str
    seen: Seen
    clicked: ClickedItems
    item_factors: Floats
    users: Array
    user_factors: Floats
    summary: FitSummary

    def check_read(self) -> None:
        n, d = self.item_factors.shape
        if n != len(self.clicked) or self.user_factors.shape != (len(self.users), d):
            raise ValueError("factors of other users or items than those of the fit")

    def for_users(self, history: Interactions) -> Self:
        return self

    def similar(self, item: int, k: int) -> Similar:
        """Return the items whose factors have the largest cosine with those of this one; none if it was not clicked."""
        return self.clicked.similar(self.item_factors, item, k)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the clicked items whose factors have the largest products with the user's.

        A user without factors gets an empty list and is counted in the notes.

        Raises:
            InputError: The history has other items than the one of the fit.
        """
        self.clicked.check_same(history, self.option)
        factors, known, notes = self._vectors(history, requests.user)
        lists = self.clicked.lists(factors, known, self.item_factors, history, requests, k, self.seen)
        return replace(lists, notes={f"{self.option}_requests_without_factors": int((~known).sum()), **notes})

    def _vectors(self, history: Interactions, users: Ints) -> tuple[Floats, Bools, dict[str, int]]:
        """Return the factors of users [n, d], who has some [n], and counts of these."""
        at, known = self._of_the_fit(history, users)
        return self.user_factors[at], known, {}

    def _of_the_fit(self, history: Interactions, users: Ints) -> tuple[Longs, Bools]:
        """Return the row of each user's factors [n], and who has some [n]; the row of others says nothing."""
        ids = history.users.ids[users]
        at = np.minimum(np.searchsorted(self.users, ids), len(self.users) - 1)
        return at, self.users[at] == ids


@dataclass(frozen=True, eq=False)
class FittedALS(FittedFactors):
    """A fitted ALS, which solves for the factors of users whose clicks are others than those of the fit.

    Attributes:
        clicks: A fingerprint of the clicks of each user of the fit [n_known].
        regularization: Penalty on the squared factors.
        alpha: Confidence of a click relative to that of no click.
        value: What a user's events of an item count.
    """

    clicks: Array
    regularization: float
    alpha: float
    value: PairValue

    def check_read(self) -> None:
        super().check_read()
        if self.clicks.shape != self.users.shape:
            raise ValueError("clicks of other users than those of the fit")

    @cached_property
    def _model(self) -> AlternatingLeastSquares:
        settings = {"regularization": self.regularization, "alpha": self.alpha}
        model = AlternatingLeastSquares(self.item_factors.shape[1], **settings)
        model.item_factors = np.require(self.item_factors, requirements=["C", "W"])  # as its compiled code takes it
        return model

    def _vectors(self, history: Interactions, users: Ints) -> tuple[Floats, Bools, dict[str, int]]:
        matrix = self.clicked.matrix(history, users, self.value)
        at, of_fit = self._of_the_fit(history, users)
        known = matrix.getnnz(axis=1) > 0
        changed = np.flatnonzero(known & (~of_fit | (self.clicks[at] != fingerprints(matrix))))
        factors = self.user_factors[at]
        factors[changed] = self._solved(matrix[changed])
        return factors, known, {f"{self.option}_requests_solved_anew": len(changed)}

    def _solved(self, matrix: Any) -> Floats:
        """Return the factors of users with these clicks [n, d]."""
        if not matrix.shape[0]:
            return np.zeros((0, self.item_factors.shape[1]), dtype=np.float32)
        with one_blas_thread():
            self._model.num_threads = available()
            found: Floats = self._model.recalculate_user(np.arange(matrix.shape[0]), matrix)
        return found
