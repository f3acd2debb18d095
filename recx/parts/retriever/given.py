"""The candidate lists (slates) that the data provides, such as impressions or the candidate tools of a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recx.core.bounds import Seed, checked
from recx.core.errors import InputError
from recx.core.ragged import indptr_of, order_in_groups
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.retriever.random import noise


@dataclass(frozen=True)
@checked("retriever")
class Given:
    """Returns the whole slate of each user, shuffled so that the order of the file cannot favour the targets.

    Attributes:
        seed: Seed of the shuffle.
    """

    seed: Seed = 0
    retrieves_slates: ClassVar = True

    def fit(self, history: Interactions) -> Given:
        """Return this retriever, which learns nothing."""
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the slates with score 0; ``k`` does not cut them. A user without a slate gets an empty list.

        Raises:
            InputError: The data provides no candidate lists.
        """
        slates = history.slates
        if slates is None:
            raise InputError(
                "retriever=given needs candidate lists in the data, and this dataset has none: choose another retriever"
            )
        found = np.isin(requests.user, slates.user)
        lists = slates.take(np.searchsorted(slates.user, requests.user[found]))
        order = order_in_groups(noise(np.repeat(lists.user, lists.lengths), lists.item, self.seed), lists.indptr)
        lengths = np.zeros(len(requests), dtype=np.int64)
        lengths[found] = lists.lengths
        return RankedLists(
            user=requests.user,
            indptr=indptr_of(lengths),
            item=lists.item[order],
            score=np.zeros(len(lists), dtype=np.float32),
            columns={name: column[order] for name, column in lists.columns.items()},
            notes={"requests_without_slate": int((~found).sum())},
        )
