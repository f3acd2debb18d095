"""Parts that take the place of a ranker or a retriever in a chain, and measure it while they do its work.

The chain is that of ``Experiment.run``: it fits, calls and evaluates as usual, and what it evaluates are the lists that
the timed calls returned. The stage cache keeps measurements by model, data and settings.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache as once
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from recx.config.part_classes import locate
from recx.core.fit_summary import FitSummary, summary_of
from recx.core.protocols import FittedRanker, FittedRetriever, Ranker, Retriever
from recx.core.ragged import blocks
from recx.core.stored_lists import concat
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.jobs.benchmark.peak_memory import Memory
from recx.jobs.benchmark.timing import timed
from recx.storage import values
from recx.storage.cache import keys
from recx.storage.cache.code_version import code_of
from recx.storage.cache.store import Cache

Batches = Callable[[int], Iterator[tuple[Any, ...]]]
"""From a number of requests per call to the arguments of the calls that together serve all requests."""
Renewed = Callable[[Interactions], Interactions]
"""Returns the same history as another object, the same one each time."""


@dataclass(frozen=True, eq=False)
class Timing:
    """How calls are measured.

    Attributes:
        warmup: Calls before the first one that counts.
        batch_size: Requests per call in a separate pass; None: no such pass.
        clocked: False: all requests in one call that is not timed.
        cache: Keeps measurements; None: nothing is kept.
        built: Bytes that building the ranker took.
        load: Load of the machine before any ranker ran.
    """

    warmup: int
    batch_size: int | None
    clocked: bool
    cache: Cache | None
    built: float = 0.0
    load: float = 0.0

    def kept(self, stage: str, part: Any, inputs: Sequence[Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return measurements from the cache, or make them now.

        Args:
            stage: ``rank`` or ``retrieve``.
            part: What is measured.
            inputs: What it is given.
            make: Measures it.

        Returns:
            What ``make`` returns, ``cached``: whether that was done before, ``measured_at``: when, and ``load``: the
            load of the machine then.
        """
        name, fresh = f"benchmark_{stage}", False

        def now() -> dict[str, Any]:
            nonlocal fresh
            fresh, moment = True, datetime.now(UTC).isoformat(timespec="seconds")
            return {**make(), "measured_at": moment, "load": self.load}

        def key(cache: Cache) -> str | None:
            try:
                settings = (self.warmup, self.batch_size, self.clocked, code_of((__name__,)))
                return cache.key(name, part, settings, *inputs)
            except keys.NoKeyError:
                return None

        cache = self.cache
        kept = now() if cache is None else cache.kept(name, lambda: key(cache), now)
        return {**kept, "cached": not fresh}

    def calls(self, call: Callable[..., RankedLists], batches: Batches, n: int) -> dict[str, Any]:
        """Serve ``n`` requests.

        Returns:
            The ``lists``, and if timed: ``ns`` of each call, ``first_ns`` of the very first one (in which many rankers
            index texts or load a model), ``batch_ns`` of all batches, and ``differ``: how many lists differ in batches.
        """
        if not self.clocked:
            return {"lists": concat([call(*given) for given in batches(max(1, n))])}
        first = list(islice(batches(1), self.warmup))  # their own objects, so that nothing cached by them helps others
        warm = timed(call, [first[number % n] for number in range(self.warmup)])[1]
        results, ns = timed(call, list(batches(1)))
        lists = concat(results)
        measured = {"lists": lists, "ns": ns, "first_ns": int(np.append(warm, ns)[0])}
        if self.batch_size is not None:
            in_batches, ns_of_batches = timed(call, list(batches(self.batch_size)))
            measured["batch_ns"] = int(ns_of_batches.sum())
            measured["differ"] = _differing(lists, concat(in_batches))
        return measured


def _differing(lists: RankedLists, others: RankedLists) -> int:
    if not np.array_equal(lists.indptr, others.indptr):
        return int((lists.lengths != others.lengths).sum())
    rows = np.flatnonzero(lists.item != others.item)
    return len(np.unique(np.searchsorted(lists.indptr, rows, side="right")))


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

        def batches(size: int) -> Iterator[tuple[Any, ...]]:
            for start, stop in blocks(len(requests), size):
                yield candidates[start:stop], renewed(history), requests[start:stop]

        measured = self.timing.calls(fitted.rank, batches, len(requests))
        measured["lists"] = replace(measured["lists"], notes=candidates.notes)
        summary = summary_of(fitted)
        kept = FitSummary(notes=summary.notes, weights=summary.weights)
        return {**measured, "summary": kept, "memory": memory.rise(), "fit_s": fit_s, "size": _size(fitted)}

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
