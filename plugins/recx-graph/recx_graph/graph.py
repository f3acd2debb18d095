"""The bipartite graph of users and items, and what is sampled from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from recx.plugin import ClickedItems, Floats, InputError, Interactions, Ints, Longs, PairValue, indptr_of


def edges_of(clicked: ClickedItems, history: Interactions, users: Ints, value: PairValue) -> Any:
    """Return the edges of some users to the clicked items, a CSR [n_users, n] of float32 with sorted columns.

    Raises:
        InputError: An edge's weight is not above 0.
    """
    found = clicked.matrix(history, users, value)
    if not (found.data > 0).all():
        raise InputError(
            f"retriever.value=weight: the weights of {int((found.data <= 0).sum())} pairs of a user and an item "
            "add up to 0 or less, which no edge can weigh: set retriever.value=one or leave these events out"
        )
    return found


@dataclass(frozen=True, eq=False)
class Graph:
    """The edges between the users and the items with events.

    A node is a user or an item; the users come first.

    Attributes:
        edges: CSR [n_users, n_items] with sorted columns, whose numbers are above 0.
    """

    edges: Any

    @property
    def n_users(self) -> int:
        return int(self.edges.shape[0])

    @property
    def n_items(self) -> int:
        return int(self.edges.shape[1])

    @property
    def n_nodes(self) -> int:
        return self.n_users + self.n_items

    @cached_property
    def scale_of_items(self) -> Floats:
        """One over the root of each item's degree, the sum of its edges [n_items]."""
        return _scale(self.edges.sum(axis=0))

    @cached_property
    def adjacency(self) -> Any:
        """``D^(-1/2) A D^(-1/2)`` of the whole graph, a symmetric CSR [n_nodes, n_nodes] of float32.

        A are the edges in both directions, D their sums for each node; the columns are sorted.
        """
        half = sparse.diags(_scale(self.edges.sum(axis=1))) @ self.edges @ sparse.diags(self.scale_of_items)
        whole = sparse.block_array([[None, half], [half.T, None]], format="csr", dtype=np.float32)
        whole.sort_indices()
        return whole

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs that training learns from."""
        return Pairs.of(self.edges)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a user and a clicked item, each once, of the users who have not clicked all items.

    Attributes:
        user: The users, increasing [n].
        item: The items, increasing within a user [n].
        rank: ``user * n_items`` plus the number of items below this one that the user has not clicked, increasing [n].
        first: The first pair of each user [n_users].
        others: The number of items that each user has not clicked [n_users].
        n_items: The number of items.
        without_negative: The number of pairs left out, of users who have clicked all items.
    """

    user: Longs
    item: Longs
    rank: Longs
    first: Longs
    others: Longs
    n_items: int
    without_negative: int

    @classmethod
    def of(cls, edges: Any) -> Pairs:
        """Return the pairs of edges [n_users, n_items] with sorted columns."""
        n_users, n_items = edges.shape
        clicks = np.diff(edges.indptr).astype(np.int64)
        user = np.repeat(np.arange(n_users), clicks)
        kept = clicks[user] < n_items
        user, item = user[kept], edges.indices[kept].astype(np.int64)
        first = indptr_of(np.bincount(user, minlength=n_users))[:-1]
        rank = user * n_items + item - (np.arange(len(user)) - first[user])
        return cls(user, item, rank, first, n_items - clicks, n_items, int((~kept).sum()))

    def __len__(self) -> int:
        return len(self.user)

    def negatives(self, rng: np.random.Generator) -> Longs:
        """Return for each pair an item that its user has not clicked, each of these with the same probability [n].

        The r-th of a user's other items, counted from 0, is r plus the number of clicked items with at most r others
        below them, so that nothing is drawn twice.
        """
        r = rng.integers(0, self.others[self.user])
        below = np.searchsorted(self.rank, self.user * self.n_items + r, side="right") - self.first[self.user]
        found: Longs = r + below
        return found


def _scale(degree: Any) -> Floats:
    """Return one over the root of each degree, computed in float64."""
    found: Floats = (1 / np.sqrt(np.asarray(degree, dtype=np.float64).ravel())).astype(np.float32)
    return found
