"""What the tables and sentences say of outcomes made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from recx.jobs.benchmark.conclusions import cautions, conclusions, ms, sampled
from recx.jobs.benchmark.outcome import Outcome, Row, best
from recx.jobs.benchmark.output import print_benchmark
from recx.jobs.benchmark.prepare import Chosen
from recx.jobs.benchmark.rerank import Rerank

METRICS = ("ndcg_at_10", "mrr")


def row(name: str, quality: float, mean: float, p95: float, cost: float = 0.0, **more: Any) -> Row:
    figures = {
        **{f"latency/{kind}_ms": mean for kind in ("mean", "std", "p50", "p99")},
        "latency/p95_ms": p95,
        "throughput/queries_per_s": 1000 / mean,
        "cost/total": cost,
        "cost/per_query": cost / 200,
        "cost/per_document": cost / 4000,
        "cost/per_1000_queries": cost * 5,
    }
    interval = (quality, quality - 0.02, quality + 0.02)
    facts = {"grades": {"0": 3000, "3": 1000}, "queries": 200, "queries_in_all": 800, "documents": 4000}
    return Row(name, name, Path(name), quality={"ndcg_at_10": interval}, figures=figures, **{**facts, **more})


def test(run: str, difference: float, p: float) -> dict[str, Any]:
    return {"run": run, "metric": "end_to_end/ndcg_at_10", "difference": difference, "p_holm": p}


test.__test__ = False  # type: ignore[attr-defined]

ROWS = [row("first", 0.4, 0.001, 0.002), row("good", 0.7, 2.0, 3.0), row("slow", 0.71, 8.0, 9.0, cost=4.0)]


def outcome(rows: list[Row] | None = None, **settings: Any) -> Outcome:
    rows = ROWS if rows is None else rows
    made = Rerank({one.ranker: None for one in rows}, metrics=METRICS, **settings)
    tests = [test("good", 0.3, 0.001), test("slow", 0.31, 0.001)]
    return Outcome(made, rows, tests, {"first": 0.0001, "good": 0.4}, {})


def test_the_sentences_name_the_best_with_the_figures_behind_them() -> None:
    assert conclusions(outcome()) == [
        "best quality: slow, ndcg_at_10 0.7100 (0.6900 to 0.7300); not significantly different from good (p 0.400)",
        "lowest latency: first, 0.001 ms per query on average, p95 0.002 ms",
        "best balance: first, ndcg_at_10 0.4000 / (0.001 ms x 1) = 400",
        "best balance above first in ndcg_at_10 (p < 0.05): good, ndcg_at_10 0.7000 / (2 ms x 1) = 0.35",
        "front of ndcg_at_10, p95 latency and cost: first, good, slow",
    ]


def test_a_ranker_that_keeps_the_order_is_the_yardstick_and_no_candidate_for_speed() -> None:
    identity = Chosen({"_target_": "recx.parts.ranker.identity.Identity"})
    settings = Rerank({"first": identity, "good": Chosen({"_target_": "x.Y"}), "slow": None}, metrics=METRICS)
    found = replace(outcome(), settings=settings)
    assert conclusions(found)[1:] == [
        "lowest latency: good, 2 ms per query on average, p95 3 ms",
        "best balance: good, ndcg_at_10 0.7000 / (2 ms x 1) = 0.35",
        "yardstick: first keeps the order of the candidates, ndcg_at_10 0.4000, and is no candidate for the lowest "
        "latency or the best balance",
        "front of ndcg_at_10, p95 latency and cost: first, good, slow",
    ]
    assert [found.is_yardstick(one) for one in ROWS] == [True, False, False]
    alone = replace(found, rows=ROWS[:1], told_apart={})
    assert [said.partition(":")[0] for said in conclusions(alone)] == [
        "best quality",
        "yardstick",
        "front of ndcg_at_10, p95 latency and cost",
    ]


def test_the_best_is_the_first_of_equals_and_never_unknown() -> None:
    values = dict(zip((Row(name, name, Path(name)) for name in "abcd"), (math.nan, 2.0, 3.0, 3.0), strict=True))
    rows = list(values)
    assert best(rows, values.__getitem__) is rows[2]
    assert best(rows, lambda row: -values[row]) is rows[1]
    assert best(rows[:1], values.__getitem__) is None
    assert best([], values.__getitem__) is None


def test_a_weight_moves_the_balance_and_a_ranker_that_is_beaten_is_off_the_front() -> None:
    worse = row("worse", 0.69, 9.0, 10.0, cost=5.0)
    said = conclusions(outcome([*ROWS, worse], cost_weight={"first": 10_000.0, "good": 2.0}))
    assert said[2] == "best balance: good, ndcg_at_10 0.7000 / (2 ms x 2) = 0.175"
    assert said[3].endswith("first, good, slow; dominated by one of these: worse")


def test_what_to_be_careful_about() -> None:
    assert cautions(outcome()) == []
    few = [replace(one, queries=19) for one in ROWS]
    assert cautions(outcome(few)) == ["19 queries are too few for p95 and p99: measure 100 or more"]
    some = [replace(one, queries=20) for one in ROWS]
    assert cautions(outcome(some)) == ["20 queries are too few for p99: measure 100 or more"]
    assert cautions(outcome([replace(one, queries=100) for one in ROWS])) == []
    assert "latency, throughput and memory were not measured" in cautions(outcome(parallel={"workers": 2}))[0]
    busy = replace(outcome([ROWS[0], replace(ROWS[1], load=5.24), ROWS[2]]), machine={"load_before": 0.1, "cores": 2})
    assert cautions(busy) == [
        "latencies are too high, since the machine was busy with other work (load 5.2 on 2 cores): good"
    ]
    assert cautions(replace(busy, machine={"cores": 8})) == []
    cached = [replace(ROWS[0], cached=True, measured_at="2026-01-02"), *ROWS[1:]]
    assert "first on 2026-01-02" in cautions(outcome(cached))[0]
    assert cautions(outcome([replace(ROWS[0], differ=3), *ROWS[1:]])) == [
        "first: 3 of 200 lists differ in batches of 32"
    ]


def test_what_the_comparison_warns_of_is_to_be_read_too() -> None:
    assert cautions(replace(outcome(), warnings=["fewer than 30 users"])) == ["fewer than 30 users"]


def test_an_encoder_that_keeps_vectors_is_named() -> None:
    part = {"_target_": "recx.parts.ranker.cosine.Cosine", "encoder": {"_target_": "x.Y", "cache": "outputs/cache"}}
    settings = Rerank({"first": Chosen(part), "good": Chosen({**part, "encoder": {"cache": None}}), "slow": None})
    [said] = cautions(replace(outcome(), settings=settings))
    assert said.endswith("which makes latencies too low: first")


def test_the_first_may_fail_and_all_may() -> None:
    failed = Row("first", "first", Path("first"), reason="no luck")
    said = cautions(outcome([failed, *ROWS[1:]]))
    assert said[0] == "first failed: no luck"
    assert said[1].startswith("no tests were made, since first")
    assert conclusions(outcome([failed])) == []
    assert sampled(outcome([failed])) == "no ranker finished"


def test_documents_are_counted_by_grade_in_words() -> None:
    said = "200 queries (a sample of 800), 4,000 documents: 3,000 not relevant, 1,000 highly relevant"
    assert sampled(outcome()) == said
    assert sampled(outcome([replace(one, queries_in_all=200) for one in ROWS])).startswith("200 queries (all)")


@pytest.mark.parametrize(
    ("value", "text"), [(12345.6, "12,346"), (12.345, "12.3"), (0.01234, "0.0123"), (0.0000123, "0.0000123")]
)
def test_milliseconds_have_three_digits_that_count(value: float, text: str) -> None:
    assert ms(value) == text


def test_the_table_has_a_row_a_ranker_whether_it_finished_or_not() -> None:
    failed = Row("dead", "dead", Path("dead"), reason="killed by SIGKILL")
    found = outcome([*ROWS, failed])
    columns = found.columns("test")
    assert [name.removeprefix("valid/") for name in found.columns("valid")] == list(columns)
    assert "valid/quality/ndcg_at_10" in found.columns("valid")
    assert columns["status"] == ["finished"] * 3 + ["failed"]
    assert columns["balance"][1] == pytest.approx(0.35)
    assert columns["on_front"] == [True, True, True, False]
    assert columns["quality/ndcg_at_10_p_holm"][1:3] == [0.001, 0.001]
    assert math.isnan(columns["latency/p95_ms"][3])
    assert columns["reason"][3] == "killed by SIGKILL"
    assert {len(values) for values in columns.values()} == {4}


def printed(shown: Outcome) -> list[str]:
    out = StringIO()
    print_benchmark(Console(file=out, width=100), shown, Path("runs/one"), "http://127.0.0.1:5000/x")
    return out.getvalue().splitlines()


def test_what_is_printed_fits_and_says_which_differ_from_the_first() -> None:
    lines = printed(outcome([*ROWS, Row("dead", "dead", Path("dead"), reason="killed by SIGKILL")], currency="EUR"))
    assert max(map(len, lines)) <= 100
    assert any(line.split()[:2] == ["good", "*0.7000"] for line in lines)
    assert any(line.split()[:2] == ["first", "0.4000"] for line in lines)
    head = next(line for line in lines if "per 1000 queries" in line)
    assert head.split("  ")[-1] == "per 1000 queries EUR"
    assert any(line.split() == ["slow", "4", "0.02", "0.001", "20"] for line in lines)
    assert any(line.strip() == "• dead failed: killed by SIGKILL" for line in lines)


def test_nothing_is_printed_of_what_was_not_measured() -> None:
    rows = [replace(one, figures={"cost/total": 0.0}) for one in ROWS]
    text = "\n".join(printed(outcome(rows, parallel={"workers": 2})))
    assert "milliseconds per query" not in text
    assert "cost" not in text
    assert "per second" not in text
