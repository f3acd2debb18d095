"""What a chain answers in a window, and how that is judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from recx.core.entities import Entities
from recx.core.evaluation import Evaluation
from recx.core.progress import Stages
from recx.core.protocols import Evaluator, FittedRanker, FittedRetriever
from recx.core.types import Fold, Interactions, RankedLists
from recx.experiment.blocks import Serving, serve
from recx.experiment.engine.local import Local
from recx.experiment.saved_runs import JUDGED


@dataclass(frozen=True, eq=False)
class Serves:
    """Fitted parts that know the first items of a log.

    Attributes:
        retriever: Finds the candidates.
        ranker: Orders them.
        n_candidates: How many candidates a request may have.
        items: The first items of the log, of which they know no more; None: all.
    """

    retriever: FittedRetriever
    ranker: FittedRanker
    n_candidates: int
    items: Entities | None = None

    def history_of(self, fold: Fold) -> Interactions:
        """Return the events of a fold's history that the parts can be given: those on items that they know."""
        history = fold.history
        if self.items is None or history.items is self.items:
            return history
        return replace(history.keep(history.item < len(self.items)), items=self.items)


@dataclass(frozen=True, eq=False)
class Answers:
    """The lists of a window.

    Attributes:
        fold: The window's history, requests and targets.
        history: What of the history the parts were given.
        candidates: The lists of the retriever.
        recommendations: The lists of the ranker.
    """

    fold: Fold
    history: Interactions
    candidates: RankedLists
    recommendations: RankedLists

    @classmethod
    def of(cls, serves: Serves, fold: Fold) -> Answers:
        """Ask fitted parts for the requests of a fold."""
        history = serves.history_of(fold)
        serving = Serving(serves.retriever, serves.ranker, history, serves.n_candidates)
        return cls(fold, history, *serve(Local(), serving, fold.requests, Stages(aloud=False)))

    def judged(self, evaluator: Evaluator) -> Evaluation | None:
        """Return the figures of the lists; None if no event of the window counts as a target."""
        target = self.fold.target
        least = float(getattr(evaluator, "rel_threshold", 1.0))
        if target is None or not (target.weight >= least).any():
            return None
        return evaluator.evaluate(self.candidates, self.recommendations, self.fold)

    @cached_property
    def shown(self) -> int:
        """How many different items stand in the first places (``coverage_at_10``)."""
        return len(np.unique(self.recommendations.top(FIRST).item))


FIRST = 10
"""Places of a list that count as shown."""


def figures_of(evaluation: Evaluation | None) -> dict[str, float]:
    """Return the figures of quality by their names in a run."""
    means = {} if evaluation is None else evaluation.means
    return {name: value for name, value in means.items() if name.startswith(JUDGED)}
