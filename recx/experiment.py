"""The map: dataset -> split -> retriever -> ranker -> evaluator. Read this file first.

``Experiment.run`` is the whole flow. What the parts must be able to do stands in ``protocols.py``, what passes between
them in ``types.py``. ``recx/launch.py`` runs an experiment that Hydra composed: folder, tracker, printed table.
``recx/cached.py`` puts the stage cache around the parts, of which this file need not know.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.errors import InputError, RecxError
from recx.progress import Stages
from recx.protocols import (
    Dataset,
    Evaluator,
    FittedRanker,
    FittedRetriever,
    FoldName,
    Ranker,
    Readied,
    Retriever,
    Splitter,
)
from recx.ragged import same_items
from recx.results import Result
from recx.types import Fold, RankedLists


@dataclass(frozen=True)
class Experiment:
    """One chain of parts.

    fold: ``test`` judges the last step, ``valid`` the one before, ``predict`` holds nothing out and judges nothing.
    n_candidates: how many items the retriever may hand to the ranker for each request.
    refit: fit the retriever once more, on all that is known at the fold, after the ranker has been trained one step
        earlier. False serves with the earlier model.
    """

    dataset: Dataset
    splitter: Splitter
    retriever: Retriever
    ranker: Ranker | FittedRanker
    evaluator: Evaluator
    fold: FoldName = "test"
    n_candidates: int = 100
    refit: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.n_candidates, bool) or not isinstance(self.n_candidates, int) or self.n_candidates < 1:
            raise InputError(f"n_candidates={self.n_candidates!r}: it must be a whole number from 1 up, such as 100")
        if self.fold not in ("predict", "test", "valid"):
            raise InputError(f"fold={self.fold!r}: choose one of predict, test, valid")

    def run(self) -> Result:
        """Run the chain once.

        Raises:
            InputError: the data or the settings cannot be used.
            RecxError: a part broke a promise of its protocol.
        """
        stage = Stages()
        if isinstance(self.ranker, Readied):
            self.ranker.ready()
        with stage("load"):
            interactions = self.dataset.load()
        with stage("split"):
            split = self.splitter.split(interactions.unnamed(), self.fold)

        early, ranker = self._learn_from_past(split.past, stage)

        now, late = split.fold, early
        if late is None:
            with stage("fit_retriever"):
                late = self.retriever.fit(now.history)
        with stage("retrieve"):
            candidates = self._retrieve(late, now)
        with stage("rank"):
            recommendations = ranker.rank(candidates, now.history, now.requests)
            recommendations.check(now.requests, now.history.n_items, "the ranker")
            _check_same_pairs(candidates, recommendations)

        report = None
        if now.target is not None:
            with stage("evaluate"):
                report = self.evaluator.evaluate(candidates, recommendations, now)
        made = (candidates, recommendations, report, stage.total())
        return Result(self, interactions, split, late, ranker, *made, peaks=stage.peaks, passes=stage.passes)

    def _learn_from_past(self, past: Fold | None, stage: Stages) -> tuple[FittedRetriever | None, FittedRanker]:
        """Train the ranker one step back, on labels later than all that this retriever saw."""
        if not isinstance(self.ranker, Ranker):
            if self.refit or past is None:
                return None, self.ranker  # needs no training
            with stage("fit_retriever", "past"):
                return self.retriever.fit(past.history), self.ranker
        if past is None:
            raise InputError(
                f"the ranker {type(self.ranker).__name__} learns from the step before the fold, and this split has "
                "none: choose ranker=identity, or a split with a past"
            )
        with stage("fit_retriever", "past"):
            early = self.retriever.fit(past.history)
        with stage("retrieve", "past"):
            candidates = self._retrieve(early, past)
        with stage("fit_ranker"):
            ranker = self.ranker.fit(candidates, past)
        return None if self.refit else early, ranker

    def _retrieve(self, retriever: FittedRetriever, fold: Fold) -> RankedLists:
        k = min(self.n_candidates, fold.history.n_items)
        candidates = retriever.retrieve(fold.history, fold.requests, k)
        return candidates.check(fold.requests, fold.history.n_items, "the retriever")


def _check_same_pairs(candidates: RankedLists, recommendations: RankedLists) -> None:
    """Raise RecxError unless the recommendations are the very candidates, in whatever order."""
    if recommendations is candidates:
        return
    same_lists = np.array_equal(candidates.indptr, recommendations.indptr)
    if not same_lists or not same_items(candidates.item, recommendations.item, candidates.indptr):
        raise RecxError(
            "the ranker must return the very candidates that it was given, none more and none less: "
            "let it make its lists with candidates.reorder(score)"
        )
