"""What a benchmark found: a row a ranker, the tests against the first, the front, and all of it as plain tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from recx.evaluation.pareto import front
from recx.jobs.benchmark.figures import balance
from recx.jobs.benchmark.rerank import Rerank

LINE = "end_to_end/"
Interval = tuple[float, float, float]
"""A mean and the ends of its 95 % bootstrap interval over the queries."""


@dataclass(frozen=True, eq=False)
class Row:
    """A ranker, or a pair of a retriever and a ranker.

    reason: why it failed, "" where it did not. quality: metric -> interval. figures: latency/, throughput/, memory/,
    cost/, time/ -> number, NaN or missing where it was not measured. queries, documents: how many it ranked, of
    ``queries_in_all``. cached: whether some of its calls were measured before, in another run or row; measured_at:
    when the oldest of them were. load: of the machine, before that. differ: how many lists came out otherwise in
    batches.
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
    cached: bool = False
    measured_at: str = ""
    load: float = 0.0
    differ: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """rows: in the order of the settings. tests: rows of ``recx.compare`` against the first. told_apart: name of a
    row -> p of the paired test between it and the best in quality. machine: what it was measured on. warnings: what to
    know before believing the tests.
    """

    settings: Rerank
    rows: Sequence[Row]
    tests: Sequence[Mapping[str, Any]]
    told_apart: Mapping[str, float]
    machine: Mapping[str, Any]
    warnings: Sequence[str] = ()

    @property
    def finished(self) -> list[Row]:
        return [row for row in self.rows if not row.reason]

    @property
    def failed(self) -> list[Row]:
        return [row for row in self.rows if row.reason]

    def quality(self, row: Row) -> float:
        """Return the metric that is weighed against latency and cost."""
        return row.quality.get(self.settings.quality, (float("nan"),) * 3)[0]

    def score(self, row: Row) -> float:
        """Return the balance of quality and latency."""
        mean = row.figures.get("latency/mean_ms", float("nan"))
        return balance(self.quality(row), mean, self.settings.weight(row.ranker))

    @cached_property
    def on_front(self) -> set[str]:
        """Names of the rows that no other one beats in quality, p95 latency and cost together."""
        rows = self.finished
        points = [
            [-self.quality(row), row.figures.get("latency/p95_ms", np.nan), row.figures.get("cost/total", np.nan)]
            for row in rows
        ]
        kept = front(np.array(points, dtype=np.float64).reshape(len(rows), 3))
        return {row.name for row, on in zip(rows, kept.tolist(), strict=True) if on}

    def test(self, row: Row, metric: str) -> Mapping[str, Any] | None:
        """Return the paired test of a row against the first, None where there is none."""
        wanted = (row.name, LINE + metric)
        return next((test for test in self.tests if (test["run"], test["metric"]) == wanted), None)

    def columns(self) -> dict[str, list[Any]]:
        """Return the whole table: column -> a value a row; NaN or "" where there is none."""
        known = dict.fromkeys(name for row in self.rows for name in row.figures)
        columns: dict[str, list[Any]] = {
            "name": [row.name for row in self.rows],
            "status": ["failed" if row.reason else "finished" for row in self.rows],
            "queries": [row.queries for row in self.rows],
            "documents": [row.documents for row in self.rows],
        }
        for metric in self.settings.metrics:
            values = [row.quality.get(metric, (np.nan,) * 3) for row in self.rows]
            for place, end in enumerate(("", "_low", "_high")):
                columns[f"quality/{metric}{end}"] = [value[place] for value in values]
            columns[f"quality/{metric}_p_holm"] = [
                np.nan if (test := self.test(row, metric)) is None else test["p_holm"] for row in self.rows
            ]
        for name in known:
            columns[name] = [row.figures.get(name, np.nan) for row in self.rows]
        return {
            **columns,
            "currency": [self.settings.currency] * len(self.rows),
            "balance": [self.score(row) for row in self.rows],
            "on_front": [row.name in self.on_front for row in self.rows],
            "differ_in_batches": [row.differ for row in self.rows],
            "cached": [row.cached for row in self.rows],
            "measured_at": [row.measured_at for row in self.rows],
            "reason": [row.reason for row in self.rows],
        }
