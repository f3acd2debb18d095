"""iALS: factors of the clicks by alternating least squares (Hu et al. 2008, with the penalty of Rendle et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from recx.core.bounds import NonNegativeFloat, PositiveFloat, PositiveInt, checked
from recx.core.errors import InputError
from recx.core.fit_summary import FitSummary
from recx.core.protocols import Seen
from recx.core.ragged import blocks, rows_of_groups
from recx.core.room import check_room
from recx.core.similar import Similar
from recx.core.system.threads import one_blas_thread, side_by_side
from recx.core.types import Array, Bools, Doubles, Floats, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.shared.epochs import Epochs
from recx.parts.shared.item_weights import DistinctClicks, distinct_clicks, distinct_pairs
from recx.parts.shared.top_k import top_k
from recx.parts.shared.training import After, trained
from recx.parts.shared.vectors import unit

CELLS = 1_000_000  # numbers of the vectors that are gathered at once: 8 MB


@dataclass(frozen=True)
@checked("retriever")
class IALS(Epochs):
    """Learns a vector w of each user and a vector h of each item, whose product is the score, that minimise

        sum over the clicks (u, i) of (1 - w_u h_i) ** 2 + unobserved * sum over all u, i of (w_u h_i) ** 2
            + sum over u of ridge(n_u, n_items) |w_u| ** 2 + sum over i of ridge(n_i, n_users) |h_i| ** 2,
        ridge(n, m) = l2 * (n + unobserved * m) ** exponent

    where n_u and n_i count the items of a user and the users of an item. Users and items without a click count nowhere.
    An iteration solves for all users, given the items, and then for all items, given the users. Only the items are
    stored: a user's vector is solved for at the request, so that new users and later clicks count. With an inner
    validation (``Epochs``), an iteration is an epoch, and the curve ``ials/loss`` has what is minimised.

    Sources: Hu, Koren and Volinsky 2008, "Collaborative filtering for implicit feedback datasets"; Rendle, Krichene,
    Zhang and Koren 2022, "Revisiting the performance of iALS on item recommendation benchmarks".

    Attributes:
        factors: Length of the vectors.
        unobserved: Weight of the pairs of a user and an item, relative to a click.
        l2: Penalty on the squared vectors.
        exponent: How much more a vector with many clicks is penalised; 0: all alike.
        iterations: Number of times that all users and all items are solved for; with a validation, the maximum.
        std: Scale of the first vectors: the standard deviation of each number is this over ``sqrt(factors)``.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    factors: PositiveInt = 128
    unobserved: PositiveFloat = 0.1
    l2: PositiveFloat = 0.003
    exponent: NonNegativeFloat = 1.0
    iterations: PositiveInt = 16
    std: PositiveFloat = 0.1
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedIALS:
        """Draw the items' vectors, and solve for users and items in turn.

        Raises:
            InputError: The vectors do not fit into memory, or the checkpoint cannot be used.
        """
        numbers = 4 * (history.n_users + history.n_items) + 16 * max(history.n_users, history.n_items)
        check_room(
            f"retriever=ials with retriever.factors={self.factors} for {history.n_users:,} users and "
            f"{history.n_items:,} items",
            numbers * self.factors,
            "lower retriever.factors, or drop rare users and items with filter",
        )
        learner, summary = trained(self, "ials", self.iterations, history, lambda part: Alternation.of(self, part))
        return FittedIALS(self, learner.items, summary)


@dataclass(eq=False)
class Alternation:
    """The training: all users are solved for, given the items, and then all items, given the users.

    Attributes:
        settings: The settings of the fit.
        of_user: What each user has clicked.
        of_item: By whom each item was clicked.
        items: The items' vectors [n_items, factors], on which alone the next iteration depends.
    """

    settings: IALS
    of_user: DistinctClicks
    of_item: DistinctClicks
    items: Floats

    @classmethod
    def of(cls, settings: IALS, history: Interactions) -> Alternation:
        """Return the training of a history at its start."""
        of_user = distinct_clicks(history)
        of_item = DistinctClicks(*of_user.by_item(history.n_items))
        known = np.flatnonzero(np.diff(of_item.indptr))
        items = np.zeros((history.n_items, settings.factors), dtype=np.float32)
        drawn = np.random.default_rng(settings.seed).standard_normal((len(known), settings.factors))
        items[known] = drawn * (settings.std / np.sqrt(settings.factors))
        return cls(settings, of_user, of_item, items)

    def train(self, done: int, epochs: int, after: After) -> None:
        for _ in range(done, epochs):
            users = HalfStep(self.settings, self.items).solve(self.of_user)
            self.items = HalfStep(self.settings, users).solve(self.of_item)
            if not after({"loss": self.loss(users)} if self.settings.validation_users else {}):
                return

    def loss(self, users: Floats) -> float:
        """Return what the training minimises (see ``IALS``), divided by the number of clicks.

        Args:
            users: The users' vectors [n_users, factors].
        """
        of, clicked, indptr = self.settings, self.of_user.item, self.of_user.indptr
        found, user = 0.0, np.repeat(np.arange(len(users)), np.diff(indptr))
        for start, stop in blocks(len(clicked), max(1, CELLS // of.factors)):
            score = np.einsum("nf,nf->n", users[user[start:stop]], self.items[clicked[start:stop]])
            found += float(((1 - score.astype(np.float64)) ** 2).sum())
        with one_blas_thread():
            exact = [vectors.astype(np.float64) for vectors in (users, self.items)]
            found += of.unobserved * float(((exact[0].T @ exact[0]) * (exact[1].T @ exact[1])).sum())
        lengths = [np.diff(clicks.indptr) for clicks in (self.of_user, self.of_item)]
        for vectors, length, other in zip(exact, lengths, reversed(lengths), strict=True):
            ridge = of.l2 * (length + of.unobserved * np.count_nonzero(other)) ** of.exponent
            found += float(ridge @ (vectors**2).sum(axis=1))
        return found / max(1, len(clicked))

    def fitted(self) -> FittedIALS:
        return FittedIALS(self.settings, self.items, FitSummary())

    def arrays(self) -> dict[str, Array]:
        return {"items": self.items}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        self.items = arrays["items"]


@dataclass(frozen=True, eq=False)
class HalfStep:
    """What the vectors of one side, users or items, are solved from.

    With G the Gram matrix of the other side and H the vectors of what one has clicked, its own vector is the solution
    of ``(H'H + unobserved * G + ridge) w = H'1``. In the axes of G's eigenvectors the last two terms are a diagonal D,
    so that with ``Z = H D ** -0.5`` it is ``D ** -0.5 Z' (1 + Z Z') ** -1 1``, or ``D ** -0.5 (1 + Z'Z) ** -1 Z'1``:
    the smaller matrix is solved, as large as the clicks are many for nearly all users and items. Both are exact.

    Attributes:
        settings: The settings of the fit.
        other: The vectors of the other side [m, factors]; 0 for what has no click.
    """

    settings: IALS
    other: Floats

    def solve(self, clicks: DistinctClicks) -> Floats:
        """Return the vectors [n, factors] for clicks on the other side; 0 for those without any."""
        indptr, lengths = clicks.indptr, np.diff(clicks.indptr)
        found = np.zeros((len(lengths), self.settings.factors), dtype=np.float32)
        with one_blas_thread():
            parts = self._parts  # before the threads, which share them

            def solve(rows: Longs) -> None:
                places = indptr[rows][:, None] + np.arange(lengths[rows[0]])
                found[rows] = self._solved(clicks.item[places], *parts)

            side_by_side(solve, self._pieces(lengths))
        return found

    @cached_property
    def _parts(self) -> tuple[Doubles, Doubles, Doubles, int]:
        """The eigenvalues and eigenvectors of the Gram matrix, the vectors in these axes, and how many are not 0."""
        with one_blas_thread():
            exact = self.other.astype(np.float64)
            spectrum, axes = np.linalg.eigh(exact.T @ exact)
            return np.maximum(spectrum, 0), axes, exact @ axes, int(self.other.any(axis=1).sum())

    def _pieces(self, lengths: Longs) -> Iterator[Longs]:
        """Yield rows with equally many clicks, which are solved by one stack of matrices."""
        order = np.argsort(lengths, kind="stable")
        starts = np.flatnonzero(np.diff(lengths[order], prepend=0))
        for group in np.split(order, starts)[1:]:
            side = int(min(lengths[group[0]], self.settings.factors))
            for start, stop in blocks(len(group), max(1, CELLS // (side * self.settings.factors))):
                yield group[start:stop]

    def _solved(self, clicked: Ints, spectrum: Doubles, axes: Doubles, rotated: Doubles, m: int) -> Doubles:
        """Return the vectors [n, factors] of rows with equally many clicks [n, clicks]."""
        of, length = self.settings, clicked.shape[1]
        ridge = of.l2 * (length + of.unobserved * m) ** of.exponent
        scale = 1 / np.sqrt(of.unobserved * spectrum + ridge)
        if length < of.factors:
            z = rotated[clicked] * scale
            ones = np.ones((len(clicked), length, 1))
            solved = np.swapaxes(z, 1, 2) @ np.linalg.solve(z @ np.swapaxes(z, 1, 2) + np.eye(length), ones)
        else:
            matrix, right = np.tile(np.eye(of.factors), (len(clicked), 1, 1)), np.zeros((len(clicked), of.factors, 1))
            for start, stop in blocks(length, max(1, CELLS // (of.factors * len(clicked)))):
                z = rotated[clicked[:, start:stop]] * scale
                matrix += np.swapaxes(z, 1, 2) @ z
                right[..., 0] += z.sum(axis=1)
            solved = np.linalg.solve(matrix, right)
        vectors: Doubles = (solved[..., 0] * scale) @ axes.T
        return vectors


@dataclass(frozen=True, eq=False)
class FittedIALS:
    """The fitted retriever.

    Attributes:
        settings: The settings of the fit.
        vectors: The items' vectors [n_items, factors]; 0 for an item without a click.
        summary: Counts and curves of the fit.
    """

    settings: IALS
    vectors: Floats
    summary: FitSummary

    def check_read(self) -> None:
        if self.vectors.ndim != 2 or self.vectors.shape[1] != self.settings.factors:
            raise ValueError(f"vectors that are not {self.settings.factors} numbers long")

    def for_users(self, history: Interactions) -> FittedIALS:
        return self

    def similar(self, item: int, k: int) -> Similar:
        """Return the items whose vectors have the largest cosine with this one's, if it is above 0."""
        vectors = unit(self.vectors)
        cosine = vectors @ vectors[item]
        cosine[item] = 0
        near = np.flatnonzero(cosine > 0)
        return Similar.best(near, cosine[near], k)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the items with the largest products; a user without a click on an item of the fit gets none.

        Raises:
            InputError: The history has other items than that of the fit.
        """
        if history.n_items != len(self.vectors):
            raise InputError(
                f"retriever=ials was fitted on {len(self.vectors)} items, and this history has {history.n_items}: use "
                "one of the same items"
            )

        def score(block: Requests) -> Floats:
            users = self.users(history, block.user)
            table: Floats = users @ self.vectors.T
            table[~users.any(axis=1)] = -np.inf
            table[:, ~self._known] = -np.inf
            return table

        return top_k(score, history, requests, k, self.settings.seen)

    def users(self, history: Interactions, users: Ints) -> Floats:
        """Return these users' vectors [n, factors], solved for from what each has clicked; 0 without such a click."""
        item = history.item[rows_of_groups(history.indptr, users)]
        row = np.repeat(np.arange(len(users)), history.lengths[users])
        kept = self._known[item]
        return self._half_step.solve(distinct_pairs(row[kept], item[kept], len(users), history.n_items))

    @cached_property
    def _half_step(self) -> HalfStep:
        return HalfStep(self.settings, self.vectors)

    @cached_property
    def _known(self) -> Bools:
        """Whether each item has a vector [n_items]."""
        return np.asarray(self.vectors.any(axis=1))
