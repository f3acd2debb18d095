"""The settings of a benchmark of rankers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recx.core.bounds import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, Seed, check, coerce
from recx.core.errors import InputError, did_you_mean

METRICS = ("ndcg_at_1", "ndcg_at_3", "ndcg_at_5", "ndcg_at_10", "mrr", "mrr_at_10", "map_at_10")
LIMITS = {"p95_ms": PositiveFloat, "cost_per_1000": NonNegativeFloat}
"""What can be limited: the 95th percentile of a query's latency in milliseconds, and the cost of 1,000 queries."""


@dataclass(frozen=True)
class Rerank:
    """Settings of a benchmark of rankers on the same queries.

    Attributes:
        rankers: Name -> ranker; all others are tested against the first.
        retrievers: Name -> retriever; {}: the experiment's own. With several, every pair of a retriever and a ranker is
            a row, and the latency of a query is that of both.
        metrics: Metrics of the stage end_to_end, as the evaluator names them.
        quality: The metric that is weighed against latency.
        sample: ``queries`` of the fold, drawn with ``seed``, with all their documents; None: all.
        warmup: Calls before the first one that counts.
        budgets: Numbers of documents: for each, the ranker orders only so many of the first search's best per query,
            the others follow in their order, and quality and latency are measured; None: no such passes.
        batch_sizes: Queries per call: latency and throughput are measured for each; None: of single calls only.
        timeout_s: Seconds that a ranker may take, from reading the data to the last call.
        parallel: How many rankers (``workers``) run in parallel, for their quality only: nothing is timed then.
        cost_per_document: Name of a ranker -> price of a document in ``currency`` (0).
        cost_per_query: Name of a ranker -> price of a query in ``currency`` (0).
        currency: Of the prices.
        cost_weight: Weight in the score quality / (mean latency in ms x weight): one number, or name of a ranker ->
            weight (1).
        budget: What a query may take: ``p95_ms``, and ``cost_per_1000`` queries in ``currency``; None: no limit. If
            there is one, the conclusions recommend the best ranker within it.
    """

    rankers: Mapping[str, Any]
    retrievers: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[str, ...] = METRICS
    quality: str = "ndcg_at_10"
    sample: Mapping[str, int] | None = field(default_factory=lambda: {"queries": 500, "seed": 0})
    warmup: NonNegativeInt = 10
    budgets: tuple[PositiveInt, ...] | None = (10, 20, 50, 100)
    batch_sizes: tuple[PositiveInt, ...] | None = (1, 8, 32)
    timeout_s: PositiveFloat = 600.0
    parallel: Mapping[str, int] | None = None
    cost_per_document: Mapping[str, NonNegativeFloat] = field(default_factory=dict)
    cost_per_query: Mapping[str, NonNegativeFloat] = field(default_factory=dict)
    currency: str = "USD"
    cost_weight: PositiveFloat | Mapping[str, PositiveFloat] = 1.0
    budget: Mapping[str, float | None] | None = field(default_factory=lambda: dict.fromkeys(LIMITS))

    def __post_init__(self) -> None:
        check(self, "benchmark")
        if not self.rankers:
            raise InputError("benchmark.rankers is empty: add one with +ranker@benchmark.rankers.NAME=OPTION")
        for kind in ("rankers", "retrievers"):
            for name in getattr(self, kind):
                if not re.fullmatch(r"\w[\w.-]{0,60}", name):
                    raise InputError(f"benchmark.{kind}: {name!r} names a folder: use letters, digits, _, - and .")
        if self.quality not in self.metrics:
            raise InputError(f"benchmark.quality={self.quality}: {did_you_mean(self.quality, self.metrics)}")
        _check_keys("sample", self.sample, {"queries": PositiveInt, "seed": Seed})
        _check_keys("parallel", self.parallel, {"workers": PositiveInt})
        for key in ("budgets", "batch_sizes"):
            _check_rising(key, getattr(self, key))
        self._check_budget()
        for key in ("cost_per_document", "cost_per_query", "cost_weight"):
            named = getattr(self, key)
            for name in named if isinstance(named, Mapping) else ():
                if name not in self.rankers:
                    near = did_you_mean(name, self.rankers)
                    raise InputError(f"benchmark.{key}.{name}: there is no ranker of that name: {near}")

    def _check_budget(self) -> None:
        """Check that the limits are known, positive, and of what is measured."""
        for name, limit in (self.budget or {}).items():
            if name not in LIMITS:
                raise InputError(f"benchmark.budget.{name}: {did_you_mean(name, LIMITS)}")
            if limit is not None:
                coerce(limit, LIMITS[name], f"benchmark.budget.{name}")
        if "p95_ms" in self.limits and not self.clocked:
            raise InputError(
                "benchmark.budget.p95_ms: rankers that run in parallel are not timed: set benchmark.parallel=null or "
                "leave out p95_ms"
            )

    @property
    def limits(self) -> dict[str, float]:
        """What a query may take at most: ``p95_ms`` and ``cost_per_1000``, where they are limited."""
        return {name: float(limit) for name, limit in (self.budget or {}).items() if limit is not None}

    @property
    def clocked(self) -> bool:
        """Whether anything is timed: not if rankers run in parallel."""
        return self.parallel is None

    @property
    def retrieves(self) -> bool:
        """Whether retrieval is part of what is measured."""
        return len(self.retrievers) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rows."""
        return tuple(name for name, _, _ in self.pairs())

    def pairs(self) -> list[tuple[str, str | None, str]]:
        """Return for every row its name, that of its retriever (None: the experiment's own) and that of its ranker."""
        if self.retrieves:
            return [(f"{one} + {other}", one, other) for one in self.retrievers for other in self.rankers]
        return [(ranker, next(iter(self.retrievers), None), ranker) for ranker in self.rankers]

    def weight(self, ranker: str) -> float:
        """Return the weight of a ranker's latency in the score."""
        return self.cost_weight.get(ranker, 1.0) if isinstance(self.cost_weight, Mapping) else self.cost_weight

    def cost(self, ranker: str, queries: int, documents: int) -> dict[str, float]:
        """Return the cost of ranking in ``currency``: ``total``, ``per_query``, ``per_document``, ``per_1000_queries``.

        Args:
            ranker: The name of a ranker.
            queries: How many queries it served.
            documents: How many documents it ranked.
        """
        total = self.cost_per_document.get(ranker, 0.0) * documents + self.cost_per_query.get(ranker, 0.0) * queries
        per_query = total / queries if queries else math.nan
        per_document = total / documents if documents else math.nan
        costs = {"total": total, "per_query": per_query, "per_document": per_document}
        return {**costs, "per_1000_queries": 1000 * per_query}


def _check_rising(key: str, numbers: tuple[int, ...] | None) -> None:
    """Check that a list of numbers is not empty, and that each is larger than the one before."""
    if numbers is not None and (not numbers or list(numbers) != sorted(set(numbers))):
        given = ", ".join(map(str, numbers))
        raise InputError(
            f"benchmark.{key}=[{given}]: give one number or more, each once and the smallest first, or null"
        )


def _check_keys(key: str, given: Mapping[str, int] | None, hints: Mapping[str, Any]) -> None:
    if given is None:
        return
    for name in given:
        if name not in hints:
            raise InputError(f"benchmark.{key}.{name}: {did_you_mean(name, hints)}")
    for name, hint in hints.items():
        coerce(given.get(name), hint, f"benchmark.{key}.{name}")
