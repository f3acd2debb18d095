from __future__ import annotations

from typing import Any

import pytest

from recx.core.errors import InputError
from recx.jobs.benchmark.rerank import Rerank

TWO = {"a": None, "b": None}


def test_cost_by_hand() -> None:
    settings = Rerank(TWO, cost_per_document={"a": 0.002}, cost_per_query={"a": 0.01, "b": 0.5})
    # 10 queries, 200 documents: 0.002 x 200 + 0.01 x 10
    assert settings.cost("a", 10, 200) == pytest.approx(
        {"total": 0.5, "per_query": 0.05, "per_document": 0.0025, "per_1000_queries": 50.0}
    )
    assert settings.cost("b", 10, 200)["total"] == pytest.approx(5.0)
    assert Rerank(TWO).cost("a", 10, 200)["total"] == 0


def test_a_weight_is_one_for_all_or_one_by_name() -> None:
    assert [Rerank(TWO, cost_weight=2.0).weight(name) for name in TWO] == [2.0, 2.0]
    assert [Rerank(TWO, cost_weight={"b": 3.0}).weight(name) for name in TWO] == [1.0, 3.0]


def test_rows_are_rankers_or_pairs() -> None:
    assert Rerank(TWO).pairs() == [("a", None, "a"), ("b", None, "b")]
    assert Rerank(TWO, {"x": None}).pairs() == [("a", "x", "a"), ("b", "x", "b")]
    pairs = Rerank({"a": None}, {"x": None, "y": None})
    assert pairs.pairs() == [("x + a", "x", "a"), ("y + a", "y", "a")]
    assert pairs.names == ("x + a", "y + a")
    assert (pairs.retrieves, Rerank(TWO, {"x": None}).retrieves) == (True, False)


def test_limits_are_those_that_are_given() -> None:
    assert [Rerank(TWO).limits, Rerank(TWO, budget=None).limits, Rerank(TWO, budget={"p95_ms": None}).limits] == [
        {}
    ] * 3
    assert Rerank(TWO, budget={"p95_ms": 50, "cost_per_1000": None}).limits == {"p95_ms": 50.0}
    parallel = Rerank(TWO, budget={"cost_per_1000": 0}, parallel={"workers": 2})
    assert parallel.limits == {"cost_per_1000": 0.0}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"rankers": {}}, "benchmark.rankers is empty"),
        ({"rankers": {"../a": None}}, "names a folder"),
        ({"quality": "ndcg_at_7"}, "did you mean"),
        ({"timeout_s": 0.0}, "benchmark.timeout_s=0.0"),
        ({"warmup": -1}, "benchmark.warmup=-1"),
        ({"batch_sizes": [0]}, "benchmark.batch_sizes.0=0: it must be 1 or more"),
        ({"batch_sizes": 8}, "benchmark.batch_sizes=8: it must be a list"),
        ({"batch_sizes": [8, 1]}, r"benchmark.batch_sizes=\[8, 1\]: give one number or more, each once"),
        ({"budgets": []}, r"benchmark.budgets=\[\]: give one number or more"),
        ({"budgets": [10, 10]}, r"benchmark.budgets=\[10, 10\]: .*the smallest first, or null"),
        ({"budgets": [2.5]}, "benchmark.budgets.0=2.5: it must be a whole number"),
        ({"budget": {"p95": 50}}, "benchmark.budget.p95: did you mean 'p95_ms'"),
        ({"budget": {"p95_ms": 0}}, r"benchmark\.budget\.p95_ms=0\.0: it must be a?.*above 0"),
        ({"budget": {"cost_per_1000": -1}}, r"benchmark\.budget\.cost_per_1000=-1\.0: it must be 0 or more"),
        ({"budget": {"p95_ms": "fast"}}, "benchmark.budget.p95_ms=fast: it must be a number"),
        ({"budget": 50}, "benchmark.budget=50: it must be"),
        (
            {"budget": {"p95_ms": 5}, "parallel": {"workers": 2}},
            "budget.p95_ms: rankers that run in parallel",
        ),
        ({"sample": {"queries": 0, "seed": 0}}, "benchmark.sample.queries"),
        ({"sample": {"querys": 5, "seed": 0}}, "did you mean 'queries'"),
        ({"parallel": {}}, "benchmark.parallel.workers"),
        ({"cost_per_query": {"c": 1.0}}, "there is no ranker of that name"),
        ({"cost_per_document": {"a": -1.0}}, "benchmark.cost_per_document.a=-1.0: it must be 0 or more"),
        ({"cost_weight": 0.0}, "benchmark.cost_weight=0.0: it must be a number \\(above 0\\)"),
        ({"cost_weight": {"a": float("inf")}}, "benchmark.cost_weight=.*: it must be a number"),
    ],
)
def test_a_wrong_setting_is_reported_with_its_key(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Rerank(**{"rankers": TWO, **settings})
