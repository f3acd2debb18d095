"""Parts that take the place of a ranker or a retriever in a chain, and measure it while they do its work.

The chain is that of ``Experiment.run``: it fits, calls and evaluates as usual, and what it evaluates are the lists that
the timed calls returned. The stage cache keeps measurements by model, data and settings.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextvars import Context
from dataclasses import dataclass, field, replace
from functools import cache as once
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from recx.config.part_classes import locate
from recx.core.fit_summary import FitSummary, summary_of
from recx.core.protocols import FittedRanker, FittedRetriever, Ranker, Retriever
from recx.core.ragged import blocks
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.jobs.benchmark.calls import Batches, Timing, first_ranked
from recx.jobs.benchmark.peak_memory import Memory
from recx.storage import values

Renewed = Callable[[Interactions], Interactions]
"""Returns the same history as another object, the same one each time."""


@dataclass(frozen=True, eq=False)
class TimedFit:
    """Takes the place of a ranker that learns; it is fitted when lists are requested, unless they are in the cache.

    Attributes:
        timing: How to measure.
        part: The ranker.
    """

    timing: Timing
    part: Ranker

    def fit(self, candidates: RankedLists, fold: Fold) -> TimedRanker:
        """Return the ranker, which is not fitted yet."""

        def fitted(renewed: Renewed) -> FittedRanker:
            return self.part.fit(candidates, replace(fold, history=renewed(fold.history)))

        return TimedRanker(self.timing, self.part, fitted, (candidates, fold))


@dataclass(frozen=True, eq=False)
class TimedRanker:
    """Takes the place of a fitted ranker.

    Attributes:
        timing: How to measure.
        part: The ranker, whose settings are part of the key in the cache.
        fitted: Fits it, given what makes new objects of histories.
        learned_from: What it is fitted on.
        measured: The measurements, filled by ``rank``.
    """

    timing: Timing
    part: Ranker | FittedRanker
    fitted: Callable[[Renewed], FittedRanker]
    learned_from: tuple[Any, ...] = ()
    measured: dict[str, Any] = field(default_factory=dict)

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the ranker's lists, and measure the calls that make them."""

        def make() -> dict[str, Any]:
            # In an empty context there is no stage cache: what is measured is the work, not reading a file
            return Context().run(self._served, candidates, history, requests)

        inputs = (*self.learned_from, candidates, history, requests)
        self.measured.update(self.timing.kept("rank", self.part, inputs, make))
        lists: RankedLists = self.measured["lists"]
        return lists

    def _served(self, candidates: RankedLists, history: Interactions, requests: Requests) -> dict[str, Any]:
        renewed = once(lambda of: replace(of))  # forgets what the retriever memoised about a history
        memory = Memory.now(self.timing.built)  # the candidates are there already
        start = time.perf_counter()
        fitted = self.fitted(renewed)
        fit_s = time.perf_counter() - start

        def of(lists: RankedLists) -> Batches:
            def batches(size: int) -> Iterator[tuple[Any, ...]]:
                for start, stop in blocks(len(requests), size):
                    yield lists[start:stop], renewed(history), requests[start:stop]

            return batches

        measured = self.timing.calls(fitted.rank, of(candidates), len(requests))
        measured["lists"] = replace(measured["lists"], notes=candidates.notes)
        summary = summary_of(fitted)
        kept = FitSummary(notes=summary.notes, weights=summary.weights)
        measured |= {"summary": kept, "memory": memory.rise(), "fit_s": fit_s, "size": _size(fitted)}
        return {**measured, **self._with_fewer(fitted, candidates, of, measured)}

    def _with_fewer(
        self, fitted: FittedRanker, candidates: RankedLists, of: Callable[[RankedLists], Batches], whole: dict[str, Any]
    ) -> dict[str, Any]:
        """Rank only the first documents of each list, for every budget below the longest list.

        Returns:
            ``budgets``: documents per query -> ``lists``, whole ones, ``ns``, and how many ``documents`` were ranked;
            ``left_out``: passes for which the time was too short, those of ``whole`` included.
        """
        found: dict[str, dict[str, Any]] = {}
        left_out = list(whole.get("left_out", ()))
        longest = int(candidates.lengths.max(initial=0))
        for k in (k for k in self.timing.budgets if k < longest):
            if not self.timing.has_time_like(whole):
                left_out.append(f"{k} documents per query")
                continue
            head = candidates.top(k)
            made = self.timing.singles(fitted.rank, of(head), head.n_lists)
            lists = replace(first_ranked(candidates, made.pop("lists"), k), notes=candidates.notes)
            found[str(k)] = {**made, "lists": lists, "documents": len(head)}
        return {"budgets": found, "left_out": left_out}

    @property
    def summary(self) -> FitSummary:
        """The notes and the weights of the fitted ranker."""
        summary: FitSummary = self.measured["summary"]
        return summary


@dataclass(frozen=True, eq=False)
class TimedRetriever:
    """Takes the place of a retriever whose calls for some requests are measured.

    Attributes:
        timing: How to measure.
        part: The retriever.
        requests: The requests whose calls are measured.
        since: The moment from which its memory counts.
        measured: The measurements, filled when these requests are served.
    """

    timing: Timing
    part: Retriever
    requests: Requests
    since: Memory = field(default_factory=Memory.now)
    measured: dict[str, Any] = field(default_factory=dict)

    def fit(self, history: Interactions) -> FittedTimedRetriever:
        """Fit the retriever."""
        return FittedTimedRetriever(self, Context().run(self.part.fit, history), history)


@dataclass(frozen=True, eq=False)
class FittedTimedRetriever:
    """Takes the place of a fitted retriever.

    Attributes:
        timed: What holds the measurements.
        fitted: The fitted retriever.
        learned_from: What it was fitted on.
    """

    timed: TimedRetriever
    fitted: FittedRetriever
    learned_from: Interactions

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the retriever's lists, and measure the calls if these are the requests in question."""
        timed = self.timed
        if requests is not timed.requests:
            return self.fitted.retrieve(history, requests, k)

        def batches(size: int) -> Iterator[tuple[Any, ...]]:
            for start, stop in blocks(len(requests), size):
                yield history, requests[start:stop], k

        def make() -> dict[str, Any]:
            measured = Context().run(timed.timing.calls, self.fitted.retrieve, batches, len(requests))
            return {**measured, "memory": timed.since.rise()}

        inputs = (self.learned_from, history, requests, k)
        timed.measured.update(timed.timing.kept("retrieve", timed.part, inputs, make))
        lists: RankedLists = timed.measured["lists"]
        return lists


def _size(fitted: FittedRanker) -> float:
    """Return the bytes of the files that a fitted ranker is written into; NaN if it cannot be."""
    with TemporaryDirectory() as name:
        try:
            values.write(fitted, Path(name), locate)
        except values.NotStorableError:
            return math.nan
        return float(sum(file.stat().st_size for file in Path(name).rglob("*") if file.is_file()))
