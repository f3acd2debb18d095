"""What is left of a run when all is fitted: it retrieves and ranks for any history of its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from recx.core.contracts import check_type
from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.memo import Made, made_of, remember
from recx.core.protocols import FittedRanker, FittedRetriever
from recx.core.ragged import check_borders, check_numbers
from recx.core.types import Fold, Interactions
from recx.experiment.caching import uncached
from recx.experiment.experiment import Result
from recx.storage.values import Locate, is_storable, storable

OF_EVALUATION = "recx.evaluation."
"""Where functions stand whose results no part needs."""


@storable
@dataclass(frozen=True, eq=False)
class Chain:
    """The fitted parts of a run.

    Attributes:
        retriever: Finds the candidates.
        ranker: Orders them.
        n_candidates: How many candidates a request may have.
        items: The items that they know, by the numbers that they use, with the time since which each was there.
        known: All events that the run has read, also those that it held out, and the requests of its users after them;
            None if they were not kept.
        made: What features and others made of these events, so that it need not be made again.
    """

    retriever: FittedRetriever
    ranker: FittedRanker
    n_candidates: int
    items: Entities
    known: Fold | None = None
    made: Sequence[Made] = ()

    def __post_init__(self) -> None:
        check_type(self.retriever, FittedRetriever, "the model's retriever")
        if not hasattr(type(self.ranker), "rank"):
            raise TypeError(f"{type(self.ranker).__name__} is no ranker")
        if type(self.n_candidates) is not int or self.n_candidates < 1:
            raise ValueError(f"{self.n_candidates} candidates")
        if self.known is not None:
            remember(self.known.history, self.made)

    def check_read(self) -> None:
        if self.known is None:
            return
        history, requests = self.known.history, self.known.requests
        check_borders(history.indptr, len(history.item))
        check_numbers(history.item, len(self.items))
        check_numbers(requests.user, history.n_users)
        times = (history.time, requests.time)
        lengths = [len(history.item), len(requests.user)]
        if len(history.items) != len(self.items) or len(history.users) != history.n_users:
            raise ValueError("events of other users or items than those of the chain")
        if any(time is not None and len(time) != n for time, n in zip(times, lengths, strict=True)):
            raise ValueError("events or requests without a time")
        if (slates := history.slates) is not None:
            check_borders(slates.indptr, len(slates.item))
            check_numbers(slates.item, len(self.items))

    @classmethod
    def of(cls, result: Result) -> Chain:
        """Return the chain of a finished run, without its events."""
        items = _since_when(result.interactions)
        parts = (uncached(result.retriever), uncached(result.ranker))
        return cls(*parts, result.experiment.n_candidates, items)

    def with_events(self, known: Fold, locate: Locate) -> Chain:
        """Return the chain with events, and with all that has been made of them and can be kept."""
        made = [one for one in made_of(known.history) if not one.function.startswith(OF_EVALUATION)]
        return replace(self, known=known, made=[one for one in made if is_storable(one, locate)])


def _since_when(interactions: Interactions) -> Entities:
    """Return the items without names; those of unknown creation were created at their first click.

    So an item may be shown, and has its age, also where the events of the run are not at hand.
    """
    items = replace(interactions.items, names=None)
    if interactions.time is None:
        return items
    created, first = items.table.get("created_at"), interactions.first_seen
    since = first if created is None else np.where(created == UNKNOWN_TIME, first, created)
    return replace(items, table={**items.table, "created_at": since})
