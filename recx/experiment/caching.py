"""The parts of a chain with the stage cache around them: each keeps its verb, and computes only what is not kept.

A fitted retriever or ranker whose outcome was kept is stood in for: it has the summary of the fitted one, saves what
that one saved, and is fitted after all only when it is asked for lists that nobody kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.evaluation import Evaluation
from recx.core.fit_summary import FitSummary, summary_of
from recx.core.protocols import (
    Dataset,
    Evaluator,
    FittedRanker,
    FittedRetriever,
    FoldName,
    Preflight,
    Ranker,
    Retriever,
    Saveable,
    Splitter,
)
from recx.core.pruning import noted, reached
from recx.core.types import Fold, Interactions, RankedLists, Requests, Split
from recx.storage.cache import keys

if TYPE_CHECKING:
    from recx.experiment.experiment import Experiment
    from recx.storage.cache.store import Cache

SUMMARY = "summary"
"""What is kept of a fitted part besides its files: see ``recx.core.fit_summary``."""
SAVED = "saved"
"""The folder in an entry that a fitted part was saved into."""
STEPS = "steps"
"""What is kept of what a part told while it was fitted: see ``recx.core.pruning``."""


def cached(experiment: Experiment, cache: Cache) -> Experiment:
    """Return the same chain with the cache around its parts."""
    ranker = experiment.ranker
    for part in (experiment.dataset, experiment.splitter, experiment.retriever, ranker, experiment.evaluator):
        with suppress(keys.NoKeyError):  # read the code now, so that editing it during the run is noticed
            keys.code_of_part(part)
    return replace(
        experiment,
        dataset=_Dataset(cache, experiment.dataset),
        splitter=_Splitter(cache, experiment.splitter),
        retriever=_Retriever(cache, experiment.retriever),
        ranker=_Ranker(cache, ranker) if isinstance(ranker, Ranker) else _Untrained(cache, ranker),
        evaluator=_Evaluator(cache, experiment.evaluator),
    )


@dataclass(frozen=True, eq=False)
class _Dataset:
    cache: Cache
    part: Dataset

    def load(self) -> Interactions:
        return self.cache.kept("load", lambda: self.cache.key("load", self.part), self.part.load)


@dataclass(frozen=True, eq=False)
class _Splitter:
    """Cutting the events anew is faster than reading the folds from files: only their key is told."""

    cache: Cache
    part: Splitter

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        split = self.part.split(interactions, fold)
        key = self.cache.key("split", self.part, interactions, fold)
        if key is not None:
            keys.know(split, key)
        return split


@dataclass(frozen=True, eq=False)
class _Retriever:
    cache: Cache
    part: Retriever

    def fit(self, history: Interactions) -> _Fitted:
        def key() -> str | None:
            return self.cache.key("fit_retriever", self.part, history)

        return _Fitted.of(self.cache, "fit_retriever", key, lambda: self.part.fit(history))


@dataclass(frozen=True, eq=False)
class _Ranker:
    cache: Cache
    part: Ranker

    def preflight(self) -> None:
        _ready(self.part)

    def fit(self, candidates: RankedLists, fold: Fold) -> _Fitted:
        def key() -> str | None:
            return self.cache.key("fit_ranker", self.part, candidates, fold)

        return _Fitted.of(self.cache, "fit_ranker", key, lambda: self.part.fit(candidates, fold))


@dataclass(frozen=True, eq=False)
class _Untrained:
    cache: Cache
    part: FittedRanker

    def preflight(self) -> None:
        _ready(self.part)

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        def key() -> str | None:
            return self.cache.key("rank", self.part, candidates, history, requests)

        return self.cache.kept("rank", key, lambda: self.part.rank(candidates, history, requests))

    def save(self, folder: Path) -> None:
        if isinstance(self.part, Saveable):
            self.part.save(folder)

    @property
    def summary(self) -> FitSummary:
        return summary_of(self.part)


def _ready(ranker: Ranker | FittedRanker) -> None:
    if isinstance(ranker, Preflight):
        ranker.preflight()


@dataclass(frozen=True, eq=False)
class _Evaluator:
    cache: Cache
    part: Evaluator

    def evaluate(self, candidates: RankedLists, recommendations: RankedLists, fold: Fold) -> Evaluation:
        def key() -> str | None:
            return self.cache.key("evaluate", self.part, candidates, recommendations, fold)

        return self.cache.kept("evaluate", key, lambda: self.part.evaluate(candidates, recommendations, fold))


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Stands in for a fitted retriever or ranker.

    key: of the fit; None: it has none. fitted: gives it, fitting at the first call. told: what it tells.
    """

    cache: Cache
    stage: str
    key: str | None
    fitted: Callable[[], Any]
    told: Mapping[str, Any]

    @classmethod
    def of(cls, cache: Cache, stage: str, key: Callable[[], str | None], fit: Callable[[], Any]) -> _Fitted:
        before, found, was_kept = key(), cache.hits[stage], False

        @once
        def fitted() -> Any:
            if was_kept:
                cache.take_back(stage)  # what it told was not enough
            return fit()

        def tell() -> dict[str, Any]:
            with noted() as steps:
                fitted()
            told = {SUMMARY: summary_of(fitted()), SAVED: isinstance(fitted(), Saveable)}
            return {**told, **({STEPS: steps} if steps else {})}

        def save(told: Mapping[str, Any], folder: Path) -> None:
            if told[SAVED]:
                fitted().save(folder / SAVED)

        told = cache.kept(stage, key, tell, save)
        was_kept = cache.hits[stage] > found
        for step, value in told.get(STEPS, ()):  # a fit that was kept is judged like one that is made now
            reached(step, value)
        return cls(cache, stage, before if key() == before else None, fitted, told)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        def key() -> str | None:
            return self.cache.key("retrieve", self.key, history, requests, k)

        fitted: Callable[[], FittedRetriever] = self.fitted
        return self.cache.kept("retrieve", key, lambda: fitted().retrieve(history, requests, k))

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        def key() -> str | None:
            return self.cache.key("rank", self.key, candidates, history, requests)

        fitted: Callable[[], FittedRanker] = self.fitted
        return self.cache.kept("rank", key, lambda: fitted().rank(candidates, history, requests))

    @property
    def summary(self) -> FitSummary:
        """What the fitted part reports of its fit."""
        summary: FitSummary = self.told[SUMMARY]
        return summary

    def save(self, folder: Path) -> None:
        """Write what the fitted part writes, or copy what it wrote into the cache."""
        if self.told[SAVED] and not self._copied(folder):
            self.fitted().save(folder)

    def _copied(self, folder: Path) -> bool:
        entry = None if self.key is None else self.cache.find(self.stage, self.key)
        if entry is None:
            return False
        try:
            if (entry / SAVED).is_dir():
                shutil.copytree(entry / SAVED, folder, dirs_exist_ok=True)
        except OSError:
            if entry.is_dir():
                raise  # it is the other folder that fails
        return entry.is_dir()  # or it was pruned this moment
