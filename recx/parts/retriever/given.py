"""The candidate lists (slates) that the data provides, such as impressions or the candidate tools of a task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recx.core.bounds import Seed, checked
from recx.core.errors import InputError
from recx.core.ragged import indptr_of, max_of_groups, order_in_groups
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.retriever.random import noise
from recx.parts.shared.allowed import rows_only


@dataclass(frozen=True)
@checked("retriever")
class Given:
    """Returns the whole slate of each user in the order of the scores or ranks that the data brings.

    Equal scores, and slates without scores or ranks, are shuffled, so that the order of the file cannot favour the
    targets.

    Attributes:
        seed: Seed of the shuffle.
    """

    seed: Seed = 0
    retrieves_slates: ClassVar = True

    def fit(self, history: Interactions) -> Given:
        """Return this retriever, which learns nothing."""
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the slates; ``k`` does not cut them. A user without a slate gets an empty list.

        Those of several items that all have the same score are counted (``requests_with_shuffled_slate``).

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
        if requests.allowed is not None:
            lists = rows_only(lists, requests.allowed[lists.item])
        shuffled = order_in_groups(noise(np.repeat(lists.user, lists.lengths), lists.item, self.seed), lists.indptr)
        lists = lists.picked(shuffled)
        lists = lists.reorder(lists.score)
        lengths = np.zeros(len(requests), dtype=np.int64)
        lengths[found] = lists.lengths
        same = max_of_groups(lists.score, lists.indptr) == -max_of_groups(-lists.score, lists.indptr)
        notes = {
            "requests_without_slate": int((~found).sum()),
            "requests_with_shuffled_slate": int((same & (lists.lengths > 1)).sum()),
        }
        return replace(lists, user=requests.user, indptr=indptr_of(lengths), notes=notes)
