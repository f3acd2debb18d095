"""What is left of a run when all is fitted: it retrieves and ranks for any history of its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recx.core.contracts import check_type
from recx.core.entities import Entities
from recx.core.memo import Made, made_of, remember
from recx.core.protocols import FittedRanker, FittedRetriever
from recx.core.types import Interactions
from recx.experiment.caching import uncached
from recx.experiment.experiment import Result
from recx.storage import values

NOT_MADE_BY_PARTS = "recx.evaluation."


@dataclass(frozen=True, eq=False)
class Chain:
    """The fitted parts of a run.

    Attributes:
        retriever: Finds the candidates.
        ranker: Orders them.
        n_candidates: How many candidates a request may have.
        items: The items that they know, by the numbers that they use.
        history: All events that the run had read, including those it held out; None if they were not kept.
        made: What features and others made of the history, so that it need not be made again.
    """

    retriever: FittedRetriever
    ranker: FittedRanker
    n_candidates: int
    items: Entities
    history: Interactions | None = None
    made: Sequence[Made] = ()

    def __post_init__(self) -> None:
        check_type(self.retriever, FittedRetriever, "the model's retriever")
        check_type(self.ranker, FittedRanker, "the model's ranker")
        check_type(self.items, Entities, "the model's items")
        if self.history is not None:
            remember(self.history, self.made)

    @classmethod
    def of(cls, result: Result) -> Chain:
        """Return the chain of a finished run, without its history."""
        items = replace(result.interactions.items, names=None)
        parts = (uncached(result.retriever), uncached(result.ranker))
        return cls(*parts, result.experiment.n_candidates, items)

    def with_history(self, history: Interactions, locate: values.Locate) -> Chain:
        """Return the chain with a history, and with what has been made of it and can be kept."""
        made = [one for one in made_of(history) if not one.function.startswith(NOT_MADE_BY_PARTS)]
        return replace(self, history=history, made=[one for one in made if values.is_storable(one, locate)])
