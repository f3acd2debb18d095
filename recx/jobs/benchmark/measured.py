"""Parts that stand in a chain where a ranker or a retriever stands, and measure it while they do its work.

The chain is ``Experiment.run``'s: it learns, asks and judges as ever, and what it judges are the very lists that the
timed calls made. What was measured is kept by the stage cache, by model, data and settings.
"""

from __future__ import annotations

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

from recx.core.fit_summary import FitSummary, summary_of
from recx.core.protocols import FittedRanker, FittedRetriever, Ranker, Retriever, Saveable
from recx.core.ragged import blocks
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.jobs.benchmark.peak_memory import Memory
from recx.jobs.benchmark.timing import timed
from recx.storage.cache import keys
from recx.storage.cache.code_version import code_of
from recx.storage.cache.store import Cache

Pieces = Callable[[int], Iterator[tuple[Any, ...]]]
"""Gives the arguments of the calls that together serve all requests, so many requests in each."""
Renewed = Callable[[Interactions], Interactions]
"""Returns the same history as another object, the same one each time."""


@dataclass(frozen=True, eq=False)
class Timing:
    """How calls are measured.

    warmup: calls before the first that counts. batch_size: of a pass of its own; None: none. clocked: False: all
    requests in one call, which nobody times. cache: keeps what was measured; None: nothing is kept. built: bytes that
    the ranker took to build. load: of the machine, before any ranker ran.
    """

    warmup: int
    batch_size: int | None
    clocked: bool
    cache: Cache | None
    built: float = 0.0
    load: float = 0.0

    def kept(self, stage: str, part: Any, inputs: Sequence[Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what was measured now, or once before in the same way.

        ``cached`` says which, ``measured_at`` when, and ``load`` how busy the machine was then.
        """
        made: list[dict[str, Any]] = []

        def now() -> dict[str, Any]:
            at = datetime.now(UTC).isoformat(timespec="seconds")
            made.append({**make(), "measured_at": at, "load": self.load})
            return made[0]

        def key() -> str | None:
            try:
                told = (self.warmup, self.batch_size, self.clocked, code_of((__name__,)))
                return None if self.cache is None else self.cache.key(f"benchmark_{stage}", part, told, *inputs)
            except keys.NoKeyError:
                return None

        if self.cache is None:
            return {**now(), "cached": False}
        kept = self.cache.kept(f"benchmark_{stage}", key, now)
        return {**kept, "cached": not made}

    def calls(self, call: Callable[..., RankedLists], pieces: Pieces, n: int) -> dict[str, Any]:
        """Serve ``n`` requests; return the ``lists``, ``ns`` of each call, ``batch_ns`` of all batches, and more.

        first_ns: of the very first call, in which many a ranker indexes texts or loads its model. differ: how many
        lists came out otherwise in batches.
        """
        if not self.clocked:
            return {"lists": RankedLists.concat([call(*given) for given in pieces(max(1, n))])}
        first_ones = list(islice(pieces(1), self.warmup))  # objects of their own: what is kept of them helps no other
        warm = timed(call, [first_ones[number % n] for number in range(self.warmup)])[1]
        made, spent = timed(call, list(pieces(1)))
        lists, first = RankedLists.concat(made), int(np.append(warm, spent)[0])
        if self.batch_size is None:
            return {"lists": lists, "ns": spent, "first_ns": first}
        batches, of_batches = timed(call, list(pieces(self.batch_size)))
        return {
            "lists": lists,
            "ns": spent,
            "first_ns": first,
            "batch_ns": int(of_batches.sum()),
            "differ": _differing(lists, RankedLists.concat(batches)),
        }


def _differing(lists: RankedLists, others: RankedLists) -> int:
    if not np.array_equal(lists.indptr, others.indptr):
        return int((lists.lengths != others.lengths).sum())
    return len(np.unique(lists.list_of_row[lists.item != others.item]))


@dataclass(frozen=True, eq=False)
class TimedFit:
    """Stands where a ranker stands that learns: it is fitted when the lists are asked for, unless they are kept."""

    how: Timing
    part: Ranker

    def fit(self, candidates: RankedLists, fold: Fold) -> TimedRanker:
        def fitted(renewed: Renewed) -> FittedRanker:
            return self.part.fit(candidates, replace(fold, history=renewed(fold.history)))

        return TimedRanker(self.how, self.part, fitted, (candidates, fold))


@dataclass(frozen=True, eq=False)
class TimedRanker:
    """Stands where a fitted ranker stands. learnt_from: what its fit was given. measured: filled by ``rank``.

    fitted: fits it, given what makes new objects of histories.
    """

    how: Timing
    part: Ranker | FittedRanker
    fitted: Callable[[Renewed], FittedRanker]
    learnt_from: tuple[Any, ...] = ()
    measured: dict[str, Any] = field(default_factory=dict)

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        def make() -> dict[str, Any]:
            # In an empty context there is no stage cache: what is measured is the work, not a look into a file.
            return Context().run(self._served, candidates, history, requests)

        inputs = (*self.learnt_from, candidates, history, requests)
        self.measured.update(self.how.kept("rank", self.part, inputs, make))
        lists: RankedLists = self.measured["lists"]
        return lists

    def _served(self, candidates: RankedLists, history: Interactions, requests: Requests) -> dict[str, Any]:
        renewed = once(lambda of: replace(of))  # whatever the retriever had to remember of a history is forgotten
        memory = Memory.now(self.how.built)  # the candidates are there, whoever made them
        start = time.perf_counter()
        fitted = self.fitted(renewed)
        took = time.perf_counter() - start

        def pieces(size: int) -> Iterator[tuple[Any, ...]]:
            for start, stop in blocks(len(requests), size):
                yield candidates[start:stop], renewed(history), requests[start:stop]

        made = self.how.calls(fitted.rank, pieces, len(requests))
        made["lists"] = replace(made["lists"], notes=candidates.notes)
        told = summary_of(fitted)
        summary = FitSummary(notes=told.notes, weights=told.weights)
        return {**made, "summary": summary, "memory": memory.rise(), "fit_s": took, "size": _size(fitted)}

    @property
    def summary(self) -> FitSummary:
        """The notes and the weights of the fitted ranker."""
        summary: FitSummary = self.measured["summary"]
        return summary


@dataclass(frozen=True, eq=False)
class TimedRetriever:
    """Stands where a retriever stands whose calls for these requests are to be measured.

    since: the moment from which its memory counts.
    """

    how: Timing
    part: Retriever
    asked: Requests
    since: Memory = field(default_factory=Memory.now)
    measured: dict[str, Any] = field(default_factory=dict)

    def fit(self, history: Interactions) -> Finding:
        return Finding(self, Context().run(self.part.fit, history), history)


@dataclass(frozen=True, eq=False)
class Finding:
    """Stands where a fitted retriever stands."""

    of: TimedRetriever
    fitted: FittedRetriever
    learnt_from: Interactions

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        if requests is not self.of.asked:
            return self.fitted.retrieve(history, requests, k)

        def pieces(size: int) -> Iterator[tuple[Any, ...]]:
            for start, stop in blocks(len(requests), size):
                yield history, requests[start:stop], k

        def make() -> dict[str, Any]:
            made = Context().run(self.of.how.calls, self.fitted.retrieve, pieces, len(requests))
            return {**made, "memory": self.of.since.rise()}

        inputs = (self.learnt_from, history, requests, k)
        self.of.measured.update(self.of.how.kept("retrieve", self.of.part, inputs, make))
        lists: RankedLists = self.of.measured["lists"]
        return lists


def _size(fitted: FittedRanker) -> float:
    """Return the bytes of the files that a fitted ranker is saved into; NaN where it saves nothing."""
    if not isinstance(fitted, Saveable):
        return float("nan")
    with TemporaryDirectory() as name:
        folder = Path(name) / "model"
        fitted.save(folder)
        return float(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()))
