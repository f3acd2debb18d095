"""The parts of a chain with the stage cache around them: each keeps its method, and computes only what is not cached.

A fitted retriever or ranker that is cached gets a stand-in, which has its summary. The part itself is read from the
cache, or fitted again if it cannot be kept, only when lists are requested that are not cached.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache as once
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from recx.config.part_classes import locate
from recx.core.evaluation import Evaluation
from recx.core.fit_summary import FitSummary, summary_of
from recx.core.protocols import Dataset, Evaluator, FittedRanker, FoldName, Preflight, Ranker, Sampling, is_trained
from recx.core.pruning import noted, reached
from recx.core.types import Fold, Interactions, RankedLists, Requests, Split
from recx.parts.reranker.reranked import Reranked, TrainedThenReranked
from recx.storage import values
from recx.storage.cache import keys

if TYPE_CHECKING:
    from recx.experiment.experiment import Experiment
    from recx.storage.cache.store import Cache

T = TypeVar("T")
SUMMARY = "summary"
"""Key of a fitted part's summary in its entry (see ``recx.core.fit_summary``)."""
FITTED = "fitted"
"""The folder in the entry that holds the fitted part."""
NOT_FITTED = "not_fitted"
"""Key of the reason why the entry has no such folder (see ``recx.storage.values.why_not_storable``)."""
STEPS = "steps"
"""Key of the values that the part reported while it was fitted (see ``recx.core.pruning``)."""


def cached(experiment: Experiment, cache: Cache) -> Experiment:
    """Return the same chain with the cache around its parts."""
    ranker = experiment.ranker
    chain = (experiment.splitter, experiment.retriever, ranker, experiment.evaluator)
    for part in (experiment.dataset, *experiment.filters.values(), *chain):
        with suppress(keys.NoKeyError):  # read the code now, so that edits during the run are noticed
            keys.code_of_part(part)
    return replace(
        experiment,
        dataset=_Dataset(cache, experiment.dataset),
        filters={name: _Filter(cache, part) for name, part in experiment.filters.items()},
        splitter=_Splitter(cache, experiment.splitter),
        retriever=_Retriever(cache, experiment.retriever),
        ranker=_of_ranker(cache, ranker),
        evaluator=_Evaluator(cache, experiment.evaluator),
    )


def _of_ranker(cache: Cache, ranker: Ranker | FittedRanker) -> Any:
    """Return the ranker with the cache around it; a re-ranker's settings do not count in what the ranker learned."""
    if isinstance(ranker, TrainedThenReranked | Reranked):
        return replace(ranker, ranker=_of_ranker(cache, ranker.ranker), reranker=_Untrained(cache, ranker.reranker))
    return _Ranker(cache, ranker) if is_trained(ranker) else _Untrained(cache, ranker)


@dataclass(frozen=True, eq=False)
class _Stage:
    """A part with the cache around it; for a fitted part, the key of its fit (None: not cacheable)."""

    cache: Cache
    part: Any

    def _kept(self, stage: str, make: Callable[..., T], *inputs: Any) -> T:
        key = partial(self.cache.key, stage, self.part, *inputs)
        return self.cache.kept(stage, key, lambda: make(*inputs))


class _Dataset(_Stage):
    part: Dataset

    def load(self) -> Interactions:
        return self._kept("load", self.part.load)


class _Filter(_Stage):
    """Only passes the key on: to filter again is faster than to read what is left from files."""

    def apply(self, interactions: Interactions) -> Interactions:
        left: Interactions = self.part.apply(interactions)
        key = None if left is interactions else self.cache.key("filter", self.part, interactions)
        if key is not None:
            keys.know(left, key)
        return left


class _Splitter(_Stage):
    """Only passes the key on: to split again is faster than to read the folds from files."""

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        split: Split = self.part.split(interactions, fold)
        key = self.cache.key("split", self.part, interactions, fold)
        if key is not None:
            keys.know(split, key)
        return split


class _Preflighted(_Stage):
    def preflight(self) -> None:
        if isinstance(self.part, Preflight):
            self.part.preflight()


class _Retriever(_Preflighted):
    def fit(self, history: Interactions) -> _Fitted:
        key = partial(self.cache.key, "fit_retriever", self.part, history)
        return _Fitted.of(self.cache, "fit_retriever", key, lambda: self.part.fit(history))


class _Ranker(_Preflighted):
    @property
    def sample(self) -> tuple[int, int] | None:
        return self.part.sample if isinstance(self.part, Sampling) else None

    def fit(self, candidates: RankedLists, fold: Fold) -> _Fitted:
        key = partial(self.cache.key, "fit_ranker", self.part, candidates, fold)
        return _Fitted.of(self.cache, "fit_ranker", key, lambda: self.part.fit(candidates, fold))


class _Untrained(_Preflighted):
    part: FittedRanker

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        """In another process, it is the part itself: results are kept and looked for in this one only."""
        return _itself, (self.part,)

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        return self._kept("rank", self.part.rank, candidates, history, requests)

    @property
    def summary(self) -> FitSummary:
        return summary_of(self.part)


class _Evaluator(_Stage):
    part: Evaluator

    def evaluate(self, candidates: RankedLists, recommendations: RankedLists, fold: Fold) -> Evaluation:
        return self._kept("evaluate", self.part.evaluate, candidates, recommendations, fold)


def _itself(part: T) -> T:
    return part


@dataclass(frozen=True, eq=False)
class _Fitted(_Stage):
    """Stand-in for a fitted retriever or ranker.

    Attributes:
        stage: The stage that fits it.
        fitted: Returns the fitted part; fits at the first call.
        outcome: What its entry holds: the summary, why it has no files of the part, and the reported values.
    """

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        """In another process, it is the fitted part itself."""
        return _itself, (self.fitted(),)

    stage: str
    fitted: Callable[[], Any]
    outcome: Mapping[str, Any]

    @classmethod
    def of(cls, cache: Cache, stage: str, key: Callable[[], str | None], fit: Callable[[], Any]) -> _Fitted:
        before, hits, was_kept = key(), cache.hits[stage], False

        @once
        def fitted() -> Any:
            if was_kept:
                found = None
                if before is not None and not outcome.get(NOT_FITTED):
                    found = cache.read(stage, before, FITTED, locate)
                if found:
                    return found[0]
                cache.take_back(stage)  # the entry was not enough
            return fit()

        def make() -> dict[str, Any]:
            with noted() as steps:
                fitted()
            outcome = {SUMMARY: summary_of(fitted()), NOT_FITTED: values.why_not_storable(fitted(), locate)}
            return {**outcome, **({STEPS: steps} if steps else {})}

        def save(outcome: Mapping[str, Any], folder: Path) -> None:
            if not outcome.get(NOT_FITTED):
                (folder / FITTED).mkdir()
                values.write(fitted(), folder / FITTED, locate)

        outcome = cache.kept(stage, key, make, save)
        was_kept = cache.hits[stage] > hits
        for step, value in outcome.get(STEPS, ()):  # so that a cached fit is pruned like a new one
            reached(step, value)
        return cls(cache, before if key() == before else None, stage, fitted, outcome)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        lists: RankedLists = self._kept("retrieve", lambda *given: self.fitted().retrieve(*given), history, requests, k)
        return lists

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        lists: RankedLists = self._kept(
            "rank", lambda *given: self.fitted().rank(*given), candidates, history, requests
        )
        return lists

    @property
    def summary(self) -> FitSummary:
        """What the fitted part reports of its fit."""
        summary: FitSummary = self.outcome[SUMMARY]
        return summary


def uncached(part: Any) -> Any:
    """Return a fitted part itself, without the cache around it.

    Raises:
        NotStorableError: It would have to be fitted again, since the cache could not keep it.
    """
    if isinstance(part, Reranked):
        return Reranked(uncached(part.ranker), uncached(part.reranker))
    if isinstance(part, _Fitted):
        if part.outcome.get(NOT_FITTED):
            raise values.NotStorableError(*part.outcome[NOT_FITTED])
        return part.fitted()
    return part.part if isinstance(part, _Untrained) else part
