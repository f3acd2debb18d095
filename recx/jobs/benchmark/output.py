"""The output of a benchmark: tables on the console, ``benchmark.csv`` and ``benchmark.json``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from recx.core.system.atomic import replacing, write_text
from recx.core.system.serialize import as_json, plain
from recx.evaluation.warnings import SIGNIFICANT
from recx.jobs.benchmark.conclusions import cautions, conclusions, sampled
from recx.jobs.benchmark.curves import curves_of
from recx.jobs.benchmark.figures import grades_as_text
from recx.jobs.benchmark.outcome import MEAN_MS, P95_MS, Outcome, Row
from recx.jobs.benchmark.timing import ms
from recx.report.charts.figures import curve_charts
from recx.report.charts.figures import document as svg
from recx.report.terminal.formats import ABSENT, figure, significant, words
from recx.report.terminal.text_table import bullets, section, show, table, where

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Column = tuple[str, str, Callable[[float], str]]
"""The head of a column, the name of its figure, and how that is shown."""
HOW = ("sample", "warmup", "budgets", "batch_sizes", "timeout_s", "parallel", "currency", "cost_weight", "budget")
"""Settings that say how calls were measured."""
NOTE = (
    "the text of a query is encoded in its own call; first: the very first call, in which a ranker may index documents "
    "or load its model, and which counts in none of the others; peak: how far memory rose above what the process held "
    "with the data and the candidates, while the ranker was built, fitted and called (with several retrievers, also "
    "what retrieval took above the data); model: the files that it is saved into"
)


def write_benchmark(outcome: Outcome, config: Mapping[str, Any], folder: Path) -> None:
    """Write ``config.yaml``, ``protocol.json``, ``benchmark.csv``, ``curves.svg`` and, last, ``benchmark.json``.

    Args:
        outcome: What the benchmark found.
        config: Its plain configuration.
        folder: The folder for the files.
    """
    import pandas as pd
    import yaml

    write_text(folder / "config.yaml", yaml.safe_dump(plain(config), sort_keys=False, allow_unicode=True))
    write_text(folder / "protocol.json", as_json(_card(outcome)))
    with replacing(folder / "benchmark.csv") as temporary:
        pd.DataFrame(outcome.columns(str(config["fold"]))).to_csv(temporary, index=False)
    found = document(outcome)
    charts = list(chain.from_iterable(map(curve_charts, curves_of(found["rankers"], outcome.settings.quality))))
    if charts:
        write_text(folder / "curves.svg", svg(charts))
    write_text(folder / "benchmark.json", as_json(found))


def document(outcome: Outcome) -> dict[str, Any]:
    """Return the content of ``benchmark.json``."""
    settings = outcome.settings
    options = {
        kind: {name: chosen.option for name, chosen in getattr(settings, kind).items()}
        for kind in ("rankers", "retrievers")
    }
    row = next(iter(outcome.finished), Row("", "", Path()))
    return {
        "settings": plain(replace(settings, rankers=dict.fromkeys(settings.rankers, ""), retrievers={}))
        | {**options, "budget": settings.limits or None},
        "machine": outcome.machine,
        "queries": row.queries,
        "queries_in_all": row.queries_in_all,
        "documents": row.documents,
        "grades": grades_as_text(row.grades),
        "rankers": [_facts(outcome, row) for row in outcome.rows],
        "tests": outcome.tests,
        "told_apart_from_the_best": outcome.told_apart,
        "against_best": outcome.against_best,
        "pairs": outcome.pairs,
        "recommended": outcome.recommended,
        "conclusions": conclusions(outcome),
        "cautions": cautions(outcome),
    }


def _facts(outcome: Outcome, row: Row) -> dict[str, Any]:
    return {
        **{name: getattr(row, name) for name in ("name", "status", "reason")},
        "folder": row.folder.name,
        "quality": _quality_of(row),
        "figures": row.figures,
        "budgets": [_point(at) for at in outcome.budgets.get(row.name, ())],
        "batches": row.batches,
        **{name: getattr(row, name) for name in ("longest", "left_out")},
        "currency": outcome.settings.currency,
        "balance": outcome.score(row),
        "on_front": row.name in outcome.on_front,
        "yardstick": outcome.is_yardstick(row),
        "differ_in_batches": row.differ,
        "load_before": row.load,
        **{name: getattr(row, name) for name in ("queries", "documents", "cached", "measured_at", "seconds")},
    }


def _point(row: Row) -> dict[str, Any]:
    """Return a row of which only the first documents were ranked: how many at most, and in all."""
    return {"k": row.k, "documents": row.documents, "quality": _quality_of(row), "figures": row.figures}


def _quality_of(row: Row) -> dict[str, dict[str, float]]:
    return {metric: dict(zip(("mean", "low", "high"), found, strict=True)) for metric, found in row.quality.items()}


def _card(outcome: Outcome) -> dict[str, Any]:
    """Return the protocol card of the first ranker that finished, and how the calls were measured."""
    row = next(iter(outcome.finished), None)
    card = {} if row is None else json.loads((row.folder / "protocol.json").read_text(encoding="utf-8"))
    how = {name: getattr(outcome.settings, name) for name in HOW}
    return {**card, "benchmark": {**how, "clock": "perf_counter_ns, a call a query", "machine": outcome.machine}}


def print_benchmark(console: Console, outcome: Outcome, folder: Path, address: str | None) -> None:
    """Print the tables of quality, latency and cost, the conclusions, and where the files are.

    Args:
        console: Where to print.
        outcome: What the benchmark found.
        folder: The folder of the benchmark.
        address: Where its tracked run can be opened.
    """
    settings = outcome.settings
    tables = {
        "quality, with 95 % intervals; * differs from the first (p < 0.05, paired, Holm)": _quality(outcome),
        "milliseconds per query": _measured(outcome, MEAN_MS, _latency()),
        "queries and documents per second; memory": _measured(
            outcome, "throughput/queries_per_s", _throughput(_largest(outcome))
        ),
        f"{settings.quality} and p95 latency in ms if only the first documents of each query are ranked": _of_budgets(
            outcome
        ),
        "cost": _measured(outcome, "cost/total", _cost(settings.currency)),
    }
    show(console, ["", sampled(outcome)])
    for title, found in tables.items():
        show(console, section(title, found, "bold cyan"))
    if settings.clocked and outcome.finished:
        show(console, [Text(NOTE, "dim")])
    show(console, section("conclusions", bullets(conclusions(outcome))))
    show(console, section("read this first", bullets(cautions(outcome)), "bold yellow"))
    show(console, ["", *where(folder, address)])


def _quality(outcome: Outcome) -> list[Table]:
    metrics, rows, styles = outcome.settings.metrics, [], []
    for row in outcome.rows:
        cells, ends = [row.name], [""]
        for metric in metrics:
            mean, low, high = row.interval(metric)
            test = outcome.test(row, metric)
            star = "*" if test is not None and test["p_holm"] < SIGNIFICANT else ""
            cells.append(f"{star}{figure(mean)}")
            ends.append(f"{figure(low, digits=2)}–{figure(high, digits=2)}" if metric in row.quality else "")
        rows += [cells] if row.reason else [cells, ends]
        styles += [""] if row.reason else ["", "dim"]
    return [table(["", *metrics], rows, styles=styles)]


def _measured(outcome: Outcome, needed: str, columns: Sequence[Column]) -> list[Table]:
    """Return the table of some figures, or nothing if no ranker has the one that is needed."""
    if not any(row.figures.get(needed) for row in outcome.rows):
        return []
    rows = []
    for row in outcome.rows:
        figures = {**row.figures, "balance": outcome.score(row), "front": float(row.name in outcome.on_front)}
        rows.append([row.name, *(shown(figures.get(name, math.nan)) for _, name, shown in columns)])
    return [table(["", *(head for head, _, _ in columns)], rows)]


def _latency() -> list[Column]:
    two = partial(figure, digits=2)
    return [
        *((name, f"latency/{name}_ms", _known(ms)) for name in ("mean", "std", "p50", "p95", "p99")),
        *(("fit in s", "time/fit_s", two), ("first in s", "time/first_call_s", two)),
        *(("balance", "balance", significant), ("front", "front", lambda on: "yes" if on else "")),
    ]


def _of_budgets(outcome: Outcome) -> list[Table]:
    """Return the table of the budgets of documents, or nothing if there are none."""
    ks = sorted({at.k for row in outcome.rows for at in outcome.budgets.get(row.name, ()) if at.k is not None})
    if not ks:
        return []
    rows = []
    for row in outcome.rows:
        by_k = {at.k: at for at in outcome.budgets.get(row.name, ())}
        cells = [_both(outcome, by_k.get(k)) for k in ks]
        rows.append([row.name, *cells, _both(outcome, row)])
    return [table(["", *(str(k) for k in ks), "all"], rows)]


def _both(outcome: Outcome, row: Row | None) -> str:
    if row is None:
        return ABSENT
    p95 = row.figure(P95_MS)
    return figure(outcome.quality(row)) + ("" if math.isnan(p95) else f", {ms(p95)}")


def _largest(outcome: Outcome) -> int:
    """Return the largest number of queries per call that was measured."""
    return max((int(of["queries_per_call"]) for row in outcome.rows for of in row.batches), default=1)


def _throughput(largest: int) -> list[Column]:
    whole, columns = partial(figure, digits=0), list[Column]()
    for kind, by in [("", ""), *([("batch_", f"by {largest}: ")] if largest > 1 else [])]:
        columns.append((f"{by}queries", f"throughput/{kind}queries_per_s", whole))
        columns.append(("documents", f"throughput/{kind}documents_per_s", whole))
    columns.append(("peak MB", "memory/peak_mb", partial(figure, digits=1)))
    columns.append(("model MB", "memory/model_mb", partial(figure, digits=3)))
    return columns


def _cost(currency: str) -> list[Column]:
    names = ("total", "per_query", "per_document", "per_1000_queries")
    return [(f"{words(name)} {currency}", f"cost/{name}", _known("{:.6g}".format)) for name in names]


def _known(shown: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: ABSENT if math.isnan(value) else shown(value)
