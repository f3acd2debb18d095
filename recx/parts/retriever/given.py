"""The lists that the data itself offers: impressions with their clicks, the candidate tools of a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recx.core.bounds import Seed, checked
from recx.core.errors import InputError
from recx.core.ragged import order_in_groups
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.retriever.random import noise


@dataclass(frozen=True)
@checked("retriever")
class Given:
    """Returns each requester's slate whole, shuffled by seed, user and item: file order cannot favour the truth."""

    seed: Seed = 0
    retrieves_slates: ClassVar = True

    def fit(self, history: Interactions) -> Given:
        """Return this very retriever: there is nothing to learn."""
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the slates, score 0; ``k`` does not cut them. A requester without a slate gets an empty list.

        Raises:
            InputError: the data offers no lists.
        """
        slates = history.slates
        if slates is None:
            raise InputError(
                "retriever=given needs lists that the data offers, and this dataset has none: choose another retriever"
            )
        at = np.searchsorted(slates.user, requests.user)
        at = np.minimum(at, max(0, slates.n_lists - 1))
        found = slates.user[at] == requests.user if slates.n_lists else np.zeros(len(requests), dtype=bool)
        lists = slates.take(at[found])
        order = order_in_groups(noise(np.repeat(lists.user, lists.lengths), lists.item, self.seed), lists.indptr)
        lengths = np.zeros(len(requests), dtype=np.int64)
        lengths[found] = lists.lengths
        return RankedLists(
            user=requests.user,
            indptr=np.concatenate([[0], np.cumsum(lengths)]),
            item=lists.item[order],
            score=np.zeros(len(lists), dtype=np.float32),
            columns={name: column[order] for name, column in lists.columns.items()},
            notes={"requests_without_slate": int((~found).sum())},
        )
