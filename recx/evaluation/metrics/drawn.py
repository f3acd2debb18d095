"""Metrics of sampled items that are drawn for each request of a run, from lists of all items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.judged_lists import JudgedLists
from recx.core.memo import once_per_input
from recx.core.ragged import indptr_of
from recx.core.types import Doubles, Longs
from recx.evaluation.matching import matches
from recx.evaluation.metrics.sampled import SampledMetric
from recx.evaluation.negatives import Negatives


@dataclass(frozen=True)
class DrawnMetric:
    """A sampled metric of the rank of the target among itself and the negatives of its user.

    The rank is 1 + the number of negatives above the target in the list, which is exact wherever the target is in the
    list: what was not retrieved is below it. A user whose target was not retrieved has 0, as in other metrics, though
    some negatives were not retrieved either.

    Attributes:
        metric: The metric.
        negatives: Draws the items.
    """

    metric: SampledMetric
    negatives: Negatives

    @property
    def name(self) -> str:
        return self.metric.name

    @property
    def k(self) -> int | None:
        return self.metric.k

    def __call__(self, judged: JudgedLists) -> Doubles:
        """Return one value per user [n_users].

        Raises:
            InputError: A user has several targets, or there are too few items to draw from.
        """
        self.metric.check_targets(judged)
        return self.metric.of_ranks(judged, *_ranks(judged, self.negatives, self.metric.n))


@once_per_input  # all figures of one number of items
def _ranks(judged: JudgedLists, negatives: Negatives, n: int) -> tuple[Longs, Longs]:
    """Return the users whose target is in their list, and its rank among itself and ``n`` negatives."""
    users, first = judged.first_hits(None)
    items = negatives.items(judged.lists.user, n)
    borders = indptr_of(np.full(judged.n_users, n))
    rows, _ = matches(judged.lists.indptr, judged.lists.item, borders, items.ravel())
    above = np.searchsorted(rows, judged.hit_row[first]) - np.searchsorted(rows, judged.lists.indptr[:-1][users])
    return users, above + 1
