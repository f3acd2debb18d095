"""Which ranker is recommended within a latency and a cost: rows and figures per query made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recx.core.evaluation import Evaluation
from recx.jobs.benchmark.outcome import Row
from recx.jobs.benchmark.prepare import Chosen
from recx.jobs.benchmark.recommend import recommended
from recx.jobs.benchmark.rerank import Rerank

N, METRIC = 200, "end_to_end/ndcg_at_10"
NOISE = np.random.default_rng(0).normal(0, 0.1, N)
NOISE -= NOISE.mean()


def row(name: str, quality: float, p95: float, cost: float = 0.0, k: int | None = None) -> Row:
    figures = {"latency/p95_ms": p95, "cost/per_1000_queries": cost}
    ranker = name.partition(" at ")[0]
    return Row(
        name,
        ranker,
        Path(name),
        quality={"ndcg_at_10": (quality, quality - 0.02, quality + 0.02)},
        figures=figures,
        k=k,
    )


ROWS = [
    row("none", 0.3, 0.0001),
    row("quick", 0.6, 1.0),
    row("deep", 0.75, 90.0, cost=2.0),
    row("deep at 10", 0.5, 10.0, cost=0.2, k=10),
    row("deep at 50", 0.7, 45.0, cost=1.0, k=50),
    row("wide", 0.699, 20.0, cost=1.0),
]
RANKERS = {
    "none": Chosen({"_target_": "recx.parts.ranker.identity.Identity"}),
    **dict.fromkeys(("quick", "deep", "wide"), Chosen({"_target_": "x.Y"})),
}


def found(rows: list[Row], values: dict[str, Any] | None = None, **budget: float) -> dict[str, Any]:
    """Return what is recommended where each ranker's figures per query are its mean with noise of its own sign."""
    evaluations = {
        one.name: Evaluation(
            np.arange(N), {"end_to_end/ndcg_at_10": one.quality["ndcg_at_10"][0] + sign * NOISE}, name=one.name
        )
        for sign, one in zip((1, -1, 1, -1, 1, -1), rows, strict=False)
    }
    settings = Rerank(RANKERS, budget=budget or None)
    return recommended(settings, rows, evaluations | (values or {}))


def test_the_best_within_the_latency_may_be_one_that_ranks_fewer_documents() -> None:
    answer = found(ROWS, p95_ms=50)
    assert answer["name"] == "deep at 50"
    assert answer["within"] == ["quick", "deep at 10", "deep at 50", "wide"]
    assert (answer["ranker"], answer["documents"], answer["options"]) == ("deep", 50, 5)
    assert [one["name"] for one in answer["alike"]] == ["wide"]  # 0.001 apart, with noise of 0.2
    assert answer["said"] == [
        "recommended for p95 latency of at most 50 ms: deep at 50 (the first 50 documents of each query), ndcg_at_10 "
        "0.7000 (0.6800 to 0.7200), p95 45 ms, 1 USD per 1,000 queries, the best in ndcg_at_10 of 4 within it (5 "
        "rankers and budgets of documents); not told apart from it: wide (faster, p95 20 ms; "
        f"-0.0010, {answer['alike'][0]['low']:+.4f} to {answer['alike'][0]['high']:+.4f})"
    ]


def test_both_limits_hold_and_each_alone() -> None:
    assert found(ROWS, p95_ms=50, cost_per_1000=0.5)["name"] == "quick"
    assert found(ROWS, cost_per_1000=1.0)["name"] == "deep at 50"  # a limit is within itself
    assert found(ROWS, cost_per_1000=0.0)["name"] == "quick"
    assert found(ROWS, p95_ms=1000)["name"] == "deep"
    assert found(ROWS) == {}


@pytest.mark.parametrize(
    ("budget", "name"),
    [({"p95_ms": 0.5}, "quick"), ({"p95_ms": 0.1, "cost_per_1000": 0.01}, "quick"), ({"p95_ms": 0.9}, "quick")],
)
def test_where_nothing_is_within_the_nearest_is_named(budget: dict[str, float], name: str) -> None:
    answer = found(ROWS, **budget)
    assert (answer["within"], answer["nearest"]["name"], "name" in answer) == ([], name, False)
    assert answer["said"][0].startswith("no ranker is within p95 latency of at most ")
    assert answer["said"][0].endswith(": the nearest is quick, ndcg_at_10 0.6000 (0.5800 to 0.6200), p95 1 ms")


def test_the_nearest_is_what_exceeds_its_worse_limit_least() -> None:
    rows = [row("quick", 0.6, 100.0, cost=1.0), row("wide", 0.5, 30.0, cost=3.0)]  # 10 and 1, 3 and 3 times
    assert found(rows, p95_ms=10, cost_per_1000=1)["nearest"]["name"] == "wide"
    assert found(rows, p95_ms=10, cost_per_1000=0.1)["nearest"]["name"] == "quick"  # 10 and 10, 3 and 30 times
    assert found([row("none", 0.9, 0.1)], p95_ms=1)["said"] == [
        "no ranker finished that could be recommended for p95 latency of at most 1 ms"
    ]


def test_a_latency_that_is_too_near_to_the_limit_is_said() -> None:
    def near(name: str, p95: float, low: float, high: float) -> Row:
        made = row(name, 0.6, p95)
        ends = {"latency/p95_low_ms": low, "latency/p95_high_ms": high}
        return replace(made, figures={**made.figures, **ends})

    rows = [near("quick", 49.0, 45.0, 55.0), near("wide", 51.0, 48.0, math.nan), near("deep", 20.0, 10.0, 50.0)]
    answer = found(rows, p95_ms=50)
    assert answer["uncertain"] == ["quick", "wide"]
    assert answer["said"][1] == (
        "too near to 50 ms to be sure by these queries, so that another measurement may recommend otherwise (95 % "
        "interval of p95): quick (45 to 55 ms), wide (48 ms or more)"
    )
    assert len(found(rows, cost_per_1000=1)["said"]) == 1


def test_what_was_not_timed_is_not_within_a_latency() -> None:
    assert found([row("quick", 0.6, math.nan)], p95_ms=1000)["within"] == []
    assert found([row("quick", 0.6, math.nan)], cost_per_1000=1)["name"] == "quick"


def test_no_ranker_is_needed_where_the_first_search_is_as_good() -> None:
    rows = [row("none", 0.8, 0.0001), *ROWS[1:]]
    assert found(rows, p95_ms=50)["said"][0].endswith(
        "none, the order of the first search, is no worse: no ranker is needed"
    )
    [alike] = found([row("none", 0.599, 0.0001), ROWS[1]], p95_ms=50)["alike"]
    assert (alike["name"], alike["is"]) == ("none", ["faster"])
    assert found([row("quick", 0.6, 2.0), row("wide", 0.6, 1.0)], p95_ms=50)["name"] == "wide"  # the faster of equals
