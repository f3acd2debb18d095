"""How calls are measured: one at a time, in batches, and with a part of the documents; measurements are cached."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np

from recx.core.ragged import first_rows
from recx.core.stored_lists import concat
from recx.core.types import Bools, RankedLists
from recx.jobs.benchmark.timing import NS_PER_S, timed
from recx.storage.cache import keys
from recx.storage.cache.code_version import code_of
from recx.storage.cache.store import Cache

Batches = Callable[[int], Iterator[tuple[Any, ...]]]
"""From a number of requests per call to the arguments of the calls that together serve all requests."""

MEASURES = (__name__, "recx.jobs.benchmark.measured")
"""The modules that a kept measurement was made by: an edit of either makes it anew."""


@dataclass(frozen=True, eq=False)
class Timing:
    """How calls are measured.

    Attributes:
        warmup: Calls before the first one that counts.
        budgets: Documents per query of further passes over the first documents of each list.
        batch_sizes: Requests per call of further passes.
        clocked: False: all requests in one call that is not timed.
        cache: Keeps measurements; None: nothing is kept.
        timeout_s: Seconds that all of it may take; part of the key in the cache, since passes are left out for it.
        until: The moment (``time.monotonic``) from which no further pass is begun.
        built: Bytes that building the ranker took.
        load: Load of the machine before any ranker ran.
    """

    warmup: int
    budgets: Sequence[int]
    batch_sizes: Sequence[int]
    clocked: bool
    cache: Cache | None
    timeout_s: float = math.inf
    until: float = math.inf
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
                passes = (self.warmup, list(self.budgets), list(self.batch_sizes), self.clocked, self.timeout_s)
                return cache.key(name, part, (*passes, code_of(MEASURES)), *inputs)
            except keys.NoKeyError:
                return None

        cache = self.cache
        kept = now() if cache is None else cache.kept(name, lambda: key(cache), now)
        return {**kept, "cached": not fresh}

    def calls(self, call: Callable[..., RankedLists], batches: Batches, n: int) -> dict[str, Any]:
        """Serve ``n`` requests one at a time and, if timed, in batches.

        Returns:
            The ``lists``, and if timed: ``ns`` of each call, ``first_ns`` of the very first one (in which many rankers
            index texts or load a model), ``batches``: size -> ns of each call, of the sizes that ``batch_sizes`` names
            but 1 and at most ``n``, ``differ``: how many lists differ in any of them, and ``left_out``: passes for
            which the time was too short.
        """
        measured = self.singles(call, batches, n)
        if not self.clocked:
            return measured
        lists, differ, by_size, left_out = measured["lists"], np.zeros(n, dtype=bool), {}, []
        for size in sorted({min(size, n) for size in self.batch_sizes} - {0, 1}):
            if not self.has_time_like(measured):
                left_out.append(f"{size} queries in a call")
                continue
            in_batches, ns = timed(call, list(batches(size)))
            by_size[str(size)] = ns
            differ |= _differing(lists, concat(in_batches))
        return {**measured, "batches": by_size, "differ": int(differ.sum()), "left_out": left_out}

    def singles(self, call: Callable[..., RankedLists], batches: Batches, n: int) -> dict[str, Any]:
        """Serve ``n`` requests one at a time, or all at once if not timed.

        Returns:
            The ``lists`` and, if timed, ``ns`` and ``first_ns`` (see ``calls``).
        """
        if not self.clocked:
            return {"lists": concat([call(*given) for given in batches(max(1, n))])}
        first = list(islice(batches(1), self.warmup))  # their own objects, so that nothing cached by them helps others
        warm = timed(call, [first[number % n] for number in range(self.warmup)])[1]
        results, ns = timed(call, list(batches(1)))
        return {"lists": concat(results), "ns": ns, "first_ns": int(np.append(warm, ns)[0])}

    def has_time_like(self, measured: dict[str, Any]) -> bool:
        """Return whether another pass can be begun, which takes at most what these calls took."""
        return time.monotonic() + float(np.sum(measured.get("ns", 0))) / NS_PER_S < self.until


def _differing(lists: RankedLists, others: RankedLists) -> Bools:
    """Return which lists are not the same [n_lists]."""
    if not np.array_equal(lists.indptr, others.indptr):
        return np.asarray(lists.lengths != others.lengths)
    rows = np.flatnonzero(lists.item != others.item)
    differ = np.zeros(lists.n_lists, dtype=bool)
    differ[np.searchsorted(lists.indptr, rows, side="right") - 1] = True
    return differ


def first_ranked(candidates: RankedLists, ranked: RankedLists, k: int) -> RankedLists:
    """Return whole lists of which only the first ``k`` documents were ranked: the others follow in their own order.

    Args:
        candidates: The lists of the first search.
        ranked: Their first ``k`` rows in the ranker's order.
        k: How many documents of each list were ranked.

    Returns:
        The same pairs as the candidates, whose score is the rank, negated.
    """
    rows, _ = first_rows(candidates.indptr, k)
    head = candidates.top(k)
    rank = candidates.rank
    places = np.empty(len(head), dtype=np.int64)
    places[_by_item(head)] = ranked.rank[_by_item(ranked)]
    rank[rows] = places
    return candidates.reorder(-rank.astype(np.float64))


def _by_item(lists: RankedLists) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the numbers of the rows, list by list, sorted by item."""
    return np.lexsort((lists.item, lists.list_of_row))
