"""What the tables and sentences say of outcomes made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from recx.jobs.benchmark.conclusions import cautions, conclusions, sampled
from recx.jobs.benchmark.outcome import Outcome, Row, best
from recx.jobs.benchmark.output import print_benchmark
from recx.jobs.benchmark.prepare import Chosen
from recx.jobs.benchmark.rerank import Rerank
from recx.jobs.benchmark.timing import ms

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


def against(run: str, difference: float, p: float, d_z: float, baseline: str = "slow") -> dict[str, Any]:
    ends = {"difference_low": difference - 0.015, "difference_high": difference + 0.015}
    tested = {"users": 200, "d_z": d_z, "baseline": baseline}
    return {**test(run, difference, p), **ends, **tested}


ROWS = [row("first", 0.4, 0.001, 0.002), row("good", 0.7, 2.0, 3.0), row("slow", 0.71, 8.0, 9.0, cost=4.0)]


AGAINST_BEST = [against("first", -0.31, 0.0001, -1.2), against("good", -0.01, 0.4, -0.1)]


def outcome(rows: list[Row] | None = None, **settings: Any) -> Outcome:
    rows = ROWS if rows is None else rows
    made = Rerank({one.ranker: None for one in rows}, metrics=METRICS, **settings)
    tests = [test("good", 0.3, 0.001), test("slow", 0.31, 0.001)]
    return Outcome(made, rows, tests, AGAINST_BEST, {})


def test_the_sentences_name_the_best_with_the_figures_behind_them() -> None:
    assert conclusions(outcome()) == [
        "best quality: slow, ndcg_at_10 0.7100 (0.6900 to 0.7300)",
        # (z of 1 - 0.05 / 4, 2.2414, + z of 0.8, 0.8416)² / 0.1² = 950.5
        "not told apart from slow in ndcg_at_10 (paired, Holm over 2 tests): good (-0.0100, -0.0250 to +0.0050, 200 "
        "queries; about 960 queries would tell them apart)",
        "lowest latency: first, 0.001 ms per query on average, p95 0.002 ms",
        "best balance: first, ndcg_at_10 0.4000 / (0.001 ms x 1) = 400",
        "best balance above first in ndcg_at_10 (p < 0.05): good, ndcg_at_10 0.7000 / (2 ms x 1) = 0.35",
        "front of ndcg_at_10, p95 latency and cost: first, good, slow",
    ]


def test_a_ranker_that_keeps_the_order_is_the_yardstick_and_no_candidate_for_speed() -> None:
    identity = Chosen({"_target_": "recx.parts.ranker.identity.Identity"})
    settings = Rerank({"first": identity, "good": Chosen({"_target_": "x.Y"}), "slow": None}, metrics=METRICS)
    found = replace(outcome(), settings=settings)
    assert conclusions(found)[2:] == [
        "lowest latency: good, 2 ms per query on average, p95 3 ms",
        "best balance: good, ndcg_at_10 0.7000 / (2 ms x 1) = 0.35",
        "yardstick: first keeps the order of the candidates, ndcg_at_10 0.4000, and is no candidate for the lowest "
        "latency or the best balance",
        "front of ndcg_at_10, p95 latency and cost: first, good, slow",
    ]
    assert [found.is_yardstick(one) for one in ROWS] == [True, False, False]
    alone = replace(found, rows=ROWS[:1], against_best=[])
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
    assert said[3] == "best balance: good, ndcg_at_10 0.7000 / (2 ms x 2) = 0.175"
    assert said[4].endswith("first, good, slow; dominated by one of these: worse")


def test_what_to_be_careful_about() -> None:
    assert cautions(outcome()) == []
    few = [replace(one, queries=19) for one in ROWS]
    assert cautions(outcome(few, batch_sizes=[16]))[1:] == [
        "19 queries are too few for p95 and p99: measure 100 or more"
    ]
    assert cautions(outcome(few))[2] == (
        "calls of 32 queries (benchmark.batch_sizes) were not measured, since there are only 19"
    )
    some = [replace(one, queries=20) for one in ROWS]
    assert cautions(outcome(some))[1] == "20 queries are too few for p99: measure 100 or more"
    assert cautions(outcome([replace(one, queries=100) for one in ROWS])) == []
    assert "latency, throughput and memory were not measured" in cautions(outcome(parallel={"workers": 2}))[0]
    busy = replace(outcome([ROWS[0], replace(ROWS[1], load=5.24), ROWS[2]]), machine={"load_before": 0.1, "cores": 2})
    assert cautions(busy) == [
        "latencies are too high, since the machine was busy with other work (load 5.2 on 2 cores): good"
    ]
    assert cautions(replace(busy, machine={"cores": 8})) == []
    cached = [replace(ROWS[0], cached=True, measured_at="2026-01-02"), *ROWS[1:]]
    assert "first on 2026-01-02" in cautions(outcome(cached))[0]
    sizes = [{"queries_per_call": size} for size in (1, 8, 32)]
    assert cautions(outcome([replace(ROWS[0], differ=3, batches=sizes), *ROWS[1:]])) == [
        "first: 3 of 200 lists differ in batches of 8 or 32"
    ]
    short = replace(ROWS[0], left_out=["50 documents per query"])
    assert cautions(outcome([short, *ROWS[1:]])) == [
        "first: no time was left to measure 50 documents per query: raise benchmark.timeout_s (600) or take fewer "
        "benchmark.budgets and benchmark.batch_sizes"
    ]
    shuffled = [replace(one, unordered=True) for one in ROWS]
    assert cautions(outcome(shuffled)) == []
    at = {"good": [replace(ROWS[1], k=10)]}
    [said] = cautions(replace(outcome(shuffled), budgets=at))
    assert said.startswith("all candidates of good have the same score, so the first documents of a query (benchmark.b")
    assert cautions(replace(outcome(), budgets=at)) == []


def test_with_few_queries_the_width_of_the_widest_interval_is_said() -> None:
    rows = [replace(one, queries=99) for one in ROWS]
    rows[1] = replace(rows[1], quality={"ndcg_at_10": (0.7, 0.6, 0.81)})
    assert cautions(outcome(rows))[0] == (
        "99 queries are few: the 95 % interval of ndcg_at_10 is up to 0.2100 wide (good: 0.6000 to 0.8100), and that "
        "of a difference from the best up to 0.0300: use 100 queries or more"
    )
    assert cautions(replace(outcome(rows), against_best=[]))[0].endswith("0.8100): use 100 queries or more")
    assert cautions(outcome([replace(one, queries=100) for one in rows])) == []


def test_rankers_without_a_price_count_as_free_and_are_named() -> None:
    [said] = cautions(outcome(budget={"cost_per_1000": 1}))
    assert said.startswith("no price is given for first, good (benchmark.cost_per_query")
    assert cautions(outcome(budget={"p95_ms": 1})) == []


def test_pairs_that_are_not_told_apart_are_named_beside_those_with_the_best() -> None:
    pairs = [
        against("good", 0.3, 0.6, 0.02, baseline="first"),
        against("slow", 0.31, 0.001, 1.2, baseline="first"),
        against("slow", 0.01, 0.4, 0.1, baseline="good"),  # said of the best already
    ]
    said = conclusions(replace(outcome(), pairs=pairs))[2]
    # (z of 1 - 0.05 / 6, 2.3940, + 0.8416)² / 0.02² = 26,173
    assert said == (
        "not told apart from each other in ndcg_at_10 (paired, Holm over 3 tests): good and first (+0.3000, +0.2850 to "
        "+0.3150, 200 queries; about 27,000 queries would tell them apart)"
    )
    apart = [against("first", -0.31, 0.0001, -1.2), against("good", -0.2, 0.0002, -1.0)]
    assert conclusions(replace(outcome(), against_best=apart))[1] == (
        "slow is told apart from every other ranker in ndcg_at_10 (paired, Holm over 2 tests)"
    )


@pytest.mark.parametrize(
    ("d_z", "said"),
    [
        (0.0, "no number of queries would tell them apart if there is no difference"),
        (0.001, "more than 1,000,000 queries would be needed to tell them apart"),
        (math.nan, "too few to say how many would tell them apart"),
        (0.9, "about 210 queries would tell them apart"),  # 200 did not, by a test that is not the normal one
    ],
)
def test_how_many_queries_would_tell_two_rankers_apart(d_z: float, said: str) -> None:
    found = replace(outcome(), against_best=[against("good", 0.0, 0.9, d_z)])
    assert conclusions(found)[1].endswith(f"200 queries; {said})")


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
