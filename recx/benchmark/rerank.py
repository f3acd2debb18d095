"""The settings of a benchmark of rankers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from recx.errors import InputError, did_you_mean

METRICS = ("ndcg_at_1", "ndcg_at_3", "ndcg_at_5", "ndcg_at_10", "mrr", "mrr_at_10", "map_at_10")


@dataclass(frozen=True)
class Rerank:
    """rankers: name -> ranker; the first is the one that all others are tested against.

    retrievers: name -> retriever; {}: the experiment's own. With several, every pair of a retriever and a ranker is a
        row, and a query's latency is that of both.
    metrics: of the line end_to_end, as the evaluator names them. quality: the one that is weighed against latency.
    sample: ``queries`` of the fold, drawn by ``seed``, with all their documents; None: all.
    warmup: calls before the first that counts. batch_size: queries at once in a pass of its own; None: no such pass.
    timeout_s: seconds that a ranker may take, from reading the data to the last call.
    parallel: ``workers`` rankers side by side, which gives their quality and nothing that is measured by a clock.
    cost_per_document, cost_per_query: name of a ranker -> price in ``currency``; 0 where none is named.
    cost_weight: of the score quality / (mean latency in ms x weight): one for all, or name of a ranker -> weight
        (1 where none is named).
    """

    rankers: Mapping[str, Any]
    retrievers: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[str, ...] = METRICS
    quality: str = "ndcg_at_10"
    sample: Mapping[str, int] | None = field(default_factory=lambda: {"queries": 500, "seed": 0})
    warmup: int = 10
    batch_size: int | None = 32
    timeout_s: float = 600.0
    parallel: Mapping[str, int] | None = None
    cost_per_document: Mapping[str, float] = field(default_factory=dict)
    cost_per_query: Mapping[str, float] = field(default_factory=dict)
    currency: str = "USD"
    cost_weight: float | Mapping[str, float] = 1.0

    def __post_init__(self) -> None:
        if not self.rankers:
            raise InputError("benchmark.rankers is empty: name one with +ranker@benchmark.rankers.NAME=OPTION")
        for kind in ("rankers", "retrievers"):
            for name in getattr(self, kind):
                if not re.fullmatch(r"\w[\w.-]{0,60}", name):
                    raise InputError(f"benchmark.{kind}: {name!r} names a folder: use letters, digits, _, - and .")
        if self.quality not in self.metrics:
            raise InputError(f"benchmark.quality={self.quality}: {did_you_mean(self.quality, self.metrics)}")
        self._check_numbers()
        self._check_keys("sample", self.sample, ("queries", "seed"))
        self._check_keys("parallel", self.parallel, ("workers",))
        prices = {"cost_per_document": self.cost_per_document, "cost_per_query": self.cost_per_query}
        for key, named in prices.items():
            self._check_named(key, named, min(named.values(), default=0.0) >= 0.0)
        weights = self.cost_weight if isinstance(self.cost_weight, Mapping) else {"": self.cost_weight}
        self._check_named("cost_weight", weights, min(weights.values(), default=1.0) > 0.0)

    def _check_numbers(self) -> None:
        if not 0 < self.timeout_s < math.inf:
            raise InputError(f"benchmark.timeout_s={self.timeout_s}: it must be positive, such as 600")
        for key, least in {"warmup": 0, "batch_size": 1}.items():
            if (number := getattr(self, key)) is not None and number < least:
                raise InputError(f"benchmark.{key}={number}: it must be {least} or more")

    def _check_keys(self, key: str, given: Mapping[str, int] | None, keys: Iterable[str]) -> None:
        if given is None:
            return
        for name in given:
            if name not in keys:
                raise InputError(f"benchmark.{key}.{name}: {did_you_mean(name, keys)}")
        for name in keys:
            least = 0 if name == "seed" else 1
            if given.get(name, -1) < least:
                raise InputError(f"benchmark.{key}.{name}: it must be a whole number from {least} up")

    def _check_named(self, key: str, given: Mapping[str, float], in_range: bool) -> None:
        for name in given:
            if name and name not in self.rankers:
                raise InputError(f"benchmark.{key}.{name}: no ranker is called so: {did_you_mean(name, self.rankers)}")
        if not in_range or not all(map(math.isfinite, given.values())):
            raise InputError(f"benchmark.{key}: a price is 0 or more, a weight is above 0, and both are finite")

    @property
    def clocked(self) -> bool:
        """Whether anything is measured by a clock: not where rankers run side by side."""
        return self.parallel is None

    @property
    def retrieves(self) -> bool:
        """Whether retrieving is a part of what is measured."""
        return len(self.retrievers) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """What the rows are called, in their order."""
        return tuple(name for name, _, _ in self.pairs())

    def pairs(self) -> list[tuple[str, str | None, str]]:
        """Return a row's name, its retriever's (None: the experiment's own) and its ranker's, row by row."""
        if self.retrieves:
            return [(f"{one} + {other}", one, other) for one in self.retrievers for other in self.rankers]
        return [(ranker, next(iter(self.retrievers), None), ranker) for ranker in self.rankers]

    def weight(self, ranker: str) -> float:
        """Return the weight of a ranker's latency in the score."""
        return self.cost_weight.get(ranker, 1.0) if isinstance(self.cost_weight, Mapping) else self.cost_weight

    def cost(self, ranker: str, queries: int, documents: int) -> dict[str, float]:
        """Return what it cost to rank so much, in ``currency``: total, per_query, per_document, per_1000_queries."""
        total = self.cost_per_document.get(ranker, 0.0) * documents + self.cost_per_query.get(ranker, 0.0) * queries
        per_query = total / queries if queries else math.nan
        per_document = total / documents if documents else math.nan
        return {
            "total": total,
            "per_query": per_query,
            "per_document": per_document,
            "per_1000_queries": 1000 * per_query,
        }
