"""The vectors that LightGCN has learnt, and the lists made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recx.plugin import (
    Array,
    Bools,
    ClickedItems,
    FitSummary,
    Floats,
    Interactions,
    Ints,
    RankedLists,
    Requests,
    Similar,
)
from recx_graph.graph import edges_of

if TYPE_CHECKING:
    from recx_graph.retriever import LightGCN


@dataclass(frozen=True, eq=False)
class FittedLightGCN:
    """A fitted LightGCN.

    The last vector of a user u with the clicks N(u) is

        1/(K+1) e_u + sum over i in N(u) of a_ui / sqrt(d_u) * 1/(K+1) (e_i + ... + e_i^(K-1)) / sqrt(d_i)

    where e^(k) are the vectors after k layers, a_ui is the weight of the edge and d the sums of these. The first term
    is the user's ``own``, the last factor what an item has ``passed_on``. Both are kept, and the sum is taken over what
    the user has clicked at the request: for the clicks of the fit the vector is that of the fit, later clicks count by
    a step of propagation from the items as they were, and a user who was not there at the fit has the second term alone
    (as if u were in the graph with e_u = 0 and changed no other vector).

    Attributes:
        settings: The settings of the fit.
        clicked: The items that have vectors.
        item_vectors: The last vectors of these items [n_items, d].
        passed_on: What each of these items passes on to its users [n_items, d].
        users: The raw ids of the users of the fit, increasing [n_users].
        own: What each of these users has besides [n_users, d].
        summary: Counts and curves of the fit.
    """

    settings: LightGCN
    clicked: ClickedItems
    item_vectors: Floats
    passed_on: Floats
    users: Array
    own: Floats
    summary: FitSummary

    def check_read(self) -> None:
        n, d = len(self.clicked), self.settings.factors
        shapes = [self.item_vectors.shape, self.passed_on.shape, self.own.shape]
        if shapes != [(n, d), (n, d), (len(self.users), d)]:
            raise ValueError("vectors of other users or items than those of the fit")

    def for_users(self, history: Interactions) -> FittedLightGCN:
        return self

    def similar(self, item: int, k: int) -> Similar:
        """Return the items whose vectors have the largest cosine with this one's; none if it was not clicked."""
        return self.clicked.similar(self.item_vectors, item, k)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the clicked items whose vectors have the largest products with the user's.

        A user who was not there at the fit and has clicked none of its items gets an empty list and is counted.

        Raises:
            InputError: The history has other items than the one of the fit.
        """
        self.clicked.check_same(history, "lightgcn")
        vectors, known = self.vectors(history, requests.user)
        lists = self.clicked.lists(vectors, known, self.item_vectors, history, requests, k, self.settings.seen)
        return replace(lists, notes={"lightgcn_requests_without_vector": int((~known).sum())})

    def vectors(self, history: Interactions, users: Ints) -> tuple[Floats, Bools]:
        """Return the last vectors of users [n, d], and who has one [n]; that of others is 0.

        Without layers no item passes anything on, so that only users of the fit have a vector.
        """
        edges = edges_of(self.clicked, history, users, self.settings.value)
        degree = np.asarray(edges.sum(axis=1), dtype=np.float64).ravel()
        clicked = degree > 0
        found: Floats = edges @ self.passed_on
        found /= np.sqrt(np.where(clicked, degree, 1)).astype(np.float32)[:, None]
        ids = history.users.ids[users]
        at = np.minimum(np.searchsorted(self.users, ids), max(0, len(self.users) - 1))
        of_fit = self.users[at] == ids if len(self.users) else np.zeros(len(ids), dtype=bool)
        found[of_fit] += self.own[at[of_fit]]
        return found, of_fit | (clicked & (self.settings.layers > 0))
