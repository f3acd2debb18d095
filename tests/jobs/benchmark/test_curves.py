from __future__ import annotations

from typing import Any

from recx.jobs.benchmark.curves import budget_rows, curves_of


def facts(name: str, **more: Any) -> dict[str, Any]:
    quality = {"ndcg_at_10": {"mean": 0.7, "low": 0.6, "high": 0.8}}
    whole = {"quality": quality, "figures": {"latency/p95_ms": 9.0, "latency/mean_ms": 7.0}, "longest": 120}
    return {"name": name, **whole, "budgets": [], "batches": [], **more}


AT = [
    {"k": k, "quality": {"ndcg_at_10": {"mean": q, "low": q - 0.1, "high": q + 0.1}}, "figures": {"latency/p95_ms": ms}}
    for k, q, ms in ((10, 0.5, 1.0), (50, 0.6, 4.0))
]
BATCHES = [
    {"queries_per_call": 1, "documents_per_s": 100.0, "call_p50_ms": 5.0},
    {"queries_per_call": 8, "documents_per_s": 400.0, "call_p50_ms": 9.0},
]


def test_curves_end_with_whole_lists_at_the_longest() -> None:
    rankers = [facts("deep", budgets=AT, batches=BATCHES), facts("short", batches=BATCHES[:1])]
    curves = curves_of(rankers, "ndcg_at_10")
    assert [(curve["title"], curve["y_label"], curve["log_y"]) for curve in curves] == [
        ("Quality by documents", "ndcg_at_10", False),
        ("Latency by documents", "p95 latency in ms", True),
        ("Throughput by queries per call", "documents per second", True),
        ("Latency by queries per call", "median latency of a call in ms", True),
    ]
    assert [curve["series"] for curve in curves] == [
        {"deep": [(10, 0.5), (50, 0.6), (120, 0.7)]},
        {"deep": [(10, 1.0), (50, 4.0), (120, 9.0)]},
        {"deep": [(1, 100.0), (8, 400.0)]},
        {"deep": [(1, 5.0), (8, 9.0)]},
    ]
    assert [
        (row["documents"], row["value"], row["p95_ms"], row["mean_ms"]) for row in budget_rows(rankers, "ndcg_at_10")
    ] == [
        (10, 0.5, 1.0, None),
        (50, 0.6, 4.0, None),
        (None, 0.7, 9.0, 7.0),
    ]


def test_what_was_not_measured_has_no_curve() -> None:
    assert curves_of([facts("failed"), {"name": "earlier", "quality": {}, "figures": {}}], "ndcg_at_10") == []
    untimed = [{**at, "figures": {}} for at in AT]
    [curve] = curves_of([facts("deep", budgets=untimed, figures={})], "ndcg_at_10")
    assert curve["title"] == "Quality by documents"
