"""Another retriever's lists, each with the item that stands for no answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recx.core.abstaining import abstains
from recx.core.bounds import checked
from recx.core.errors import InputError
from recx.core.fit_summary import FitSummary, summary_of
from recx.core.per_user import for_users
from recx.core.precision import Reals
from recx.core.protocols import FittedRetriever, Retriever, retrieves_slates
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.allowed import retrieved, rows_only


@dataclass(frozen=True)
@checked("retriever")
class Abstain:
    """Adds the item that stands for no answer to every list, below the items that the source scores high enough.

    A ranker that learns (with the feature ``is_abstain``) puts it where it belongs. Without one, this is selective
    answering by the source's score: a request is answered if its best item reaches ``threshold`` (Chow 1970).

    Attributes:
        source: Retrieves all other items.
        threshold: Score of the source from which an item is better than none.
    """

    source: Retriever
    threshold: float = 0.0
    gives_probabilities: ClassVar[bool] = False

    @property
    def retrieves_slates(self) -> bool:
        """Whether the source retrieves the lists that the data itself offers."""
        return retrieves_slates(self.source)

    def fit(self, history: Interactions) -> FittedAbstain:
        """Fit the source.

        Raises:
            InputError: The data has no item that stands for no answer.
        """
        items = np.flatnonzero(abstains(history.items))
        if len(items) != 1:
            raise InputError(
                f"retriever=abstain needs one item that stands for no answer, and the data has {len(items)}: set "
                "dataset.abstain=NAME, or choose another retriever"
            )
        return FittedAbstain(self, self.source.fit(history), int(items[0]))


@dataclass(frozen=True, eq=False)
class FittedAbstain:
    """The fitted source.

    Attributes:
        settings: The settings of the fit.
        source: The fitted retriever of all other items.
        item: The item that stands for no answer.
    """

    settings: Abstain
    source: FittedRetriever
    item: int

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return ``k - 1`` items of the source and the one that stands for no answer, whose score is the threshold.

        It stands below the items with the same score. The columns of the source are NaN for it.
        """
        lists = retrieved(self.source, history, requests, max(k - 1, 1), "the source of retriever=abstain")
        lists = rows_only(lists, lists.item != self.item)
        if k == 1:
            lists = lists.top(0)
        if requests.allowed is not None and not requests.allowed[self.item]:
            return lists
        return _with(lists, self.item, float(lists.score.dtype.type(self.settings.threshold)))

    def for_users(self, history: Interactions) -> FittedAbstain:
        return replace(self, source=for_users(self.source, history))

    @property
    def summary(self) -> FitSummary:
        """That of the source."""
        return summary_of(self.source)


def _with(lists: RankedLists, item: int, score: float) -> RankedLists:
    """Return the lists with one more row each, below the rows whose score is not lower."""
    above = np.bincount(lists.list_of_row[lists.score >= score], minlength=lists.n_lists)
    indptr = lists.indptr + np.arange(lists.n_lists + 1)
    place = indptr[:-1] + above
    rest = np.ones(int(indptr[-1]), dtype=bool)
    rest[place] = False

    def spread(values: Reals, added: float) -> Reals:
        found = np.full(len(rest), added, dtype=values.dtype)
        found[rest] = values
        return found

    new = np.full(len(rest), item, dtype=lists.item.dtype)
    new[rest] = lists.item
    columns = {name: spread(column, np.nan) for name, column in lists.columns.items()}
    return replace(lists, indptr=indptr, item=new, score=spread(lists.score, score), columns=columns)
