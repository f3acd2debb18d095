"""The results of a benchmark: one row per ranker, the tests against the first, the front, and a plain table of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from recx.core.fold_names import outside_name
from recx.evaluation.pareto import front
from recx.jobs.benchmark.figures import balance
from recx.jobs.benchmark.rerank import Rerank

STAGE = "end_to_end/"
MEAN_MS, P95_MS, COST = "latency/mean_ms", "latency/p95_ms", "cost/per_1000_queries"
OF_BATCHES = ("queries_per_s", "documents_per_s", "ms_per_query", "call_p50_ms", "call_p95_ms")
"""Figures of a number of queries per call that the table shows."""
KEEPS_THE_ORDER = "recx.parts.ranker.identity.Identity"
Interval = tuple[float, float, float]
"""A mean and the ends of its 95 % bootstrap interval over the queries."""


@dataclass(frozen=True, eq=False)
class Row:
    """The results of a ranker, or of a pair of a retriever and a ranker.

    Attributes:
        name: The name of the row.
        ranker: The name of the ranker.
        folder: Where its files are.
        reason: Why it failed, "" if it did not.
        quality: Metric -> interval.
        figures: ``latency/``, ``throughput/``, ``memory/``, ``cost/`` and ``time/`` figures; NaN or missing if not
            measured.
        grades: Grade -> number of documents.
        queries: How many queries it served.
        queries_in_all: How many queries the fold has.
        documents: How many documents it ranked.
        longest: How many documents the longest list has.
        k: How many documents of each list it ranked at most, the others following in their order; None: all.
        batches: Figures of each number of queries per call (see ``recx.jobs.benchmark.figures.batches_of``).
        left_out: Passes for which the time was too short.
        unordered: Whether all candidates have the same score, so that the first of a list are any of them.
        cached: Whether some of its calls were measured before, in another run or row.
        measured_at: When the oldest of them were measured.
        load: The load of the machine before that.
        differ: How many lists differ in batches.
        seconds: What its process took.
    """

    name: str
    ranker: str
    folder: Path
    reason: str = ""
    quality: Mapping[str, Interval] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    grades: Mapping[str, int] = field(default_factory=dict)
    queries: int = 0
    queries_in_all: int = 0
    documents: int = 0
    longest: int = 0
    k: int | None = None
    batches: Sequence[Mapping[str, float]] = ()
    left_out: Sequence[str] = ()
    unordered: bool = False
    cached: bool = False
    measured_at: str = ""
    load: float = 0.0
    differ: int = 0
    seconds: float = 0.0

    @property
    def status(self) -> str:
        """``finished`` or ``failed``."""
        return "failed" if self.reason else "finished"

    def figure(self, name: str) -> float:
        """Return a figure, NaN if it was not measured."""
        return self.figures.get(name, math.nan)

    def interval(self, metric: str) -> Interval:
        """Return the interval of a metric, of NaN if there is none."""
        return self.quality.get(metric, (math.nan,) * 3)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of a benchmark.

    Attributes:
        settings: Its settings.
        rows: One per ranker or pair, in the order of the settings.
        tests: Rows of ``recx.compare`` against the first.
        against_best: Rows of ``recx.compare`` against the best in quality, by that metric.
        machine: What it was measured on.
        warnings: What to know before relying on the tests.
        pairs: Rows of ``recx.compare`` of all pairs, by that metric; of two rankers, none.
        budgets: For every row, itself with each budget of documents below its longest list, as a row of its own.
        recommended: The ranker for the budget (see ``recx.jobs.benchmark.recommend``); {} without a budget.
    """

    settings: Rerank
    rows: Sequence[Row]
    tests: Sequence[Mapping[str, Any]]
    against_best: Sequence[Mapping[str, Any]]
    machine: Mapping[str, Any]
    warnings: Sequence[str] = ()
    pairs: Sequence[Mapping[str, Any]] = ()
    budgets: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    recommended: Mapping[str, Any] = field(default_factory=dict)

    @property
    def told_apart(self) -> dict[str, float]:
        """Name of a row -> p of the paired test between it and the best in quality, adjusted by Holm."""
        return {test["run"]: test["p_holm"] for test in self.against_best}

    @property
    def finished(self) -> list[Row]:
        """The rows that did not fail."""
        return [row for row in self.rows if not row.reason]

    @property
    def failed(self) -> list[Row]:
        """The rows that failed."""
        return [row for row in self.rows if row.reason]

    def is_yardstick(self, row: Row) -> bool:
        """Return whether a row only keeps the order of the candidates, which is what rankers are held against."""
        return keeps_the_order(self.settings, row.ranker)

    def quality(self, row: Row) -> float:
        """Return the metric that is weighed against latency and cost."""
        return row.interval(self.settings.quality)[0]

    def score(self, row: Row) -> float:
        """Return the balance of quality and latency."""
        return balance(self.quality(row), row.figure(MEAN_MS), self.settings.weight(row.ranker))

    @cached_property
    def on_front(self) -> set[str]:
        """Names of the rows that no other dominates in quality, p95 latency and cost."""
        rows = self.finished
        points = [[-self.quality(row), row.figure(P95_MS), row.figure("cost/total")] for row in rows]
        kept = front(np.array(points, dtype=np.float64).reshape(len(rows), 3))
        return {row.name for row, on in zip(rows, kept.tolist(), strict=True) if on}

    def test(self, row: Row, metric: str) -> Mapping[str, Any] | None:
        """Return the paired test of a row against the first, None if there is none."""
        wanted = (row.name, STAGE + metric)
        return next((test for test in self.tests if (test["run"], test["metric"]) == wanted), None)

    def columns(self, fold: str) -> dict[str, list[Any]]:
        """Return the whole table: column -> one value per row, NaN or "" where there is none.

        Args:
            fold: The fold that the rankers were compared on, which the names of quality say.
        """
        rows = self.rows

        def of(*names: str) -> dict[str, list[Any]]:
            return {name: [getattr(row, name) for row in rows] for name in names}

        columns = of("name", "status", "queries", "documents")
        for metric in self.settings.metrics:
            for end, values in zip(
                ("", "_low", "_high"), zip(*(row.interval(metric) for row in rows), strict=True), strict=True
            ):
                columns[outside_name(f"quality/{metric}{end}", fold)] = list(values)
            tests = (self.test(row, metric) for row in rows)
            adjusted = [math.nan if test is None else test["p_holm"] for test in tests]
            columns[outside_name(f"quality/{metric}_p_holm", fold)] = adjusted
        for name in dict.fromkeys(name for row in rows for name in row.figures):
            columns[name] = [row.figure(name) for row in rows]
        return {
            **columns,
            **self._curves(fold),
            "currency": [self.settings.currency] * len(rows),
            "balance": [self.score(row) for row in rows],
            "on_front": [row.name in self.on_front for row in rows],
            "differ_in_batches": of("differ")["differ"],
            **of("cached", "measured_at", "reason"),
        }

    def _curves(self, fold: str) -> dict[str, list[float]]:
        """Return the columns of each budget of documents, and of each number of queries per call."""
        found = [self.on_curves(row, fold) for row in self.rows]
        names = dict.fromkeys(name for of_row in found for name in of_row)
        return {name: [of_row.get(name, math.nan) for of_row in found] for name in names}

    def on_curves(self, row: Row, fold: str) -> dict[str, float]:
        """Return the figures of a row for each budget of documents, and for each number of queries per call.

        Args:
            row: A ranker; where none of its lists is longer than the budget, the figures are those of whole lists.
            fold: The fold that the rankers were compared on, which the names of quality say.

        Returns:
            ``budget_10/ndcg_at_10`` with the ends of its interval, ``budget_10/p95_ms``, ``batch_8/documents_per_s``...
        """
        figures: dict[str, float] = {}
        metric, by_k = self.settings.quality, {at.k: at for at in self.budgets.get(row.name, ())}
        for k in self.settings.budgets or ():
            at = row if k >= row.longest else by_k.get(k)
            if at is None:  # no time was left for it
                continue
            for end, value in zip(("", "_low", "_high"), at.interval(metric), strict=True):
                figures[outside_name(f"budget_{k}/{metric}{end}", fold)] = value
            for name, figure in (("mean_ms", MEAN_MS), ("p95_ms", P95_MS), ("cost_per_1000", COST)):
                figures[f"budget_{k}/{name}"] = at.figure(figure)
        for of in row.batches:
            figures |= {f"batch_{of['queries_per_call']:.0f}/{name}": of[name] for name in OF_BATCHES}
        return figures


def keeps_the_order(settings: Rerank, ranker: str) -> bool:
    """Return whether a ranker keeps the order of the candidates."""
    option = getattr(settings.rankers[ranker], "option", None)
    return isinstance(option, Mapping) and option.get("_target_") == KEEPS_THE_ORDER


def best(rows: Iterable[Row], value: Callable[[Row], float]) -> Row | None:
    """Return the row with the largest value, the first of equals; None if no value is known."""
    return max((row for row in rows if not math.isnan(value(row))), key=value, default=None)
