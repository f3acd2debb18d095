"""A benchmark for people (tables on the console) and for programs (``benchmark.csv``, ``benchmark.json``)."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from recx.atomic import replacing, write_text
from recx.benchmark.conclusions import cautions, conclusions, ms, sampled
from recx.benchmark.figures import in_words
from recx.benchmark.outcome import Outcome, Row
from recx.cautions import SIGNIFICANT
from recx.plain import plain

if TYPE_CHECKING:
    from rich.console import Console

WIDEST, LONGEST_NAME = 100, 24
Table = tuple[list[str], list[list[str]]]
"""A head and lines of cells."""


def write_benchmark(outcome: Outcome, config: Mapping[str, Any], folder: Path) -> None:
    """Write ``config.yaml``, ``protocol.json``, ``benchmark.csv`` and, the last, ``benchmark.json``."""
    import pandas as pd
    import yaml

    write_text(folder / "config.yaml", yaml.safe_dump(plain(config), sort_keys=False, allow_unicode=True))
    write_text(folder / "protocol.json", _json(_card(outcome)))
    with replacing(folder / "benchmark.csv") as temporary:
        pd.DataFrame(outcome.columns()).to_csv(temporary, index=False)
    write_text(folder / "benchmark.json", _json(document(outcome)))


def document(outcome: Outcome) -> dict[str, Any]:
    """Return all that is known as plain values."""
    settings = outcome.settings
    options = {
        kind: {name: chosen.option for name, chosen in getattr(settings, kind).items()}
        for kind in ("rankers", "retrievers")
    }
    row = next(iter(outcome.finished), None)
    return {
        "settings": plain(replace(settings, rankers=dict.fromkeys(settings.rankers, ""), retrievers={})) | options,
        "machine": outcome.machine,
        "queries": 0 if row is None else row.queries,
        "queries_in_all": 0 if row is None else row.queries_in_all,
        "documents": 0 if row is None else row.documents,
        "grades": {} if row is None else in_words(row.grades),
        "rankers": [_facts(outcome, row) for row in outcome.rows],
        "tests": outcome.tests,
        "told_apart_from_the_best": outcome.told_apart,
        "conclusions": conclusions(outcome),
        "cautions": cautions(outcome),
    }


def _facts(outcome: Outcome, row: Row) -> dict[str, Any]:
    quality = {metric: dict(zip(("mean", "low", "high"), found, strict=True)) for metric, found in row.quality.items()}
    return {
        "name": row.name,
        "status": "failed" if row.reason else "finished",
        "reason": row.reason,
        "folder": row.folder.name,
        "quality": quality,
        "figures": row.figures,
        "currency": outcome.settings.currency,
        "balance": outcome.score(row),
        "on_front": row.name in outcome.on_front,
        "queries": row.queries,
        "documents": row.documents,
        "differ_in_batches": row.differ,
        "cached": row.cached,
        "measured_at": row.measured_at,
        "load_before": row.load,
        "seconds": row.seconds,
    }


def _card(outcome: Outcome) -> dict[str, Any]:
    """Return the protocol card of the first ranker that finished, and how the calls were measured."""
    row = next(iter(outcome.finished), None)
    card = {} if row is None else json.loads((row.folder / "protocol.json").read_text(encoding="utf-8"))
    names = ("sample", "warmup", "batch_size", "timeout_s", "parallel", "cost_weight", "currency")
    how = {name: getattr(outcome.settings, name) for name in names}
    return {**card, "benchmark": {**how, "clock": "perf_counter_ns, a call a query", "machine": outcome.machine}}


def print_benchmark(console: Console, outcome: Outcome, folder: Path, address: str | None) -> None:
    """Print the tables of quality, latency and cost, what follows from them, and where everything is."""
    width = min(console.width, WIDEST)
    for line in _text(outcome, width):
        console.print(line, soft_wrap=True, highlight=False)
    console.print()
    console.print(Text.assemble(("  folder   ", "dim"), str(folder)), soft_wrap=True)
    if address:
        console.print(Text.assemble(("  address  ", "dim"), (address, "cyan")), soft_wrap=True)


def _text(outcome: Outcome, width: int) -> Iterator[Text]:
    yield Text()
    yield from map(Text, textwrap.wrap(sampled(outcome), width))
    titles = {
        "quality, with 95 % intervals; * differs from the first (p < 0.05, paired, Holm)": _quality(outcome),
        "milliseconds a query": _latency(outcome),
        "queries and documents a second; memory": _throughput(outcome),
        "cost": _cost(outcome),
    }
    for title, found in titles.items():
        if found[1]:
            yield Text()
            yield Text(title, style="bold cyan")
            yield from _grid(*found)
    if outcome.settings.clocked and outcome.finished:
        yield from (Text(line, style="dim") for line in textwrap.wrap(NOTE, width))
    for title, sentences in {"conclusions": conclusions(outcome), "read this first": cautions(outcome)}.items():
        if sentences:
            yield Text()
            yield Text(title, style="bold" if title == "conclusions" else "bold yellow")
        for sentence in sentences:
            yield from map(Text, textwrap.wrap(sentence, width, initial_indent="  ", subsequent_indent="    "))


NOTE = (
    "a query's text is encoded in its own call; first: the first call of all, in which a ranker may index documents or "
    "load its model, counts in none of the others; peak: how far memory rose above what the process held with the data "
    "and the candidates, while the ranker was built, fitted and called (with several retrievers: and what retrieving "
    "took above the data); model: the files that it is saved into"
)


def _quality(outcome: Outcome) -> Table:
    metrics = outcome.settings.metrics
    lines = []
    for row in outcome.rows:
        cells = []
        for metric in metrics:
            value = row.quality.get(metric, (math.nan,) * 3)[0]
            test = outcome.test(row, metric)
            star = "*" if test is not None and test["p_holm"] < SIGNIFICANT else " "
            cells.append(f"{_number(value, 4)}{star}")
        lines.append([row.name, *cells])
        low_high = [row.quality.get(metric) for metric in metrics]
        if not row.reason:
            lines.append(["", *(f"{found[1]:.2f}–{found[2]:.2f}" if found else "" for found in low_high)])
    return ["", *metrics], lines


def _latency(outcome: Outcome) -> Table:
    names = ("mean", "std", "p50", "p95", "p99")
    if not any("latency/mean_ms" in row.figures for row in outcome.rows):
        return [], []
    lines = [
        [
            row.name,
            *(_ms(row.figures.get(f"latency/{name}_ms", math.nan)) for name in names),
            *(_number(row.figures.get(f"time/{name}_s", math.nan), 2) for name in ("fit", "first_call")),
            _score(outcome.score(row)),
            "yes" if row.name in outcome.on_front else "",
        ]
        for row in outcome.rows
    ]
    return ["", *names, "fit in s", "first in s", "balance", "front"], lines


def _throughput(outcome: Outcome) -> Table:
    columns = {
        "queries": "throughput/queries_per_s",
        "documents": "throughput/documents_per_s",
        f"by {outcome.settings.batch_size}: queries": "throughput/batch_queries_per_s",
        "documents ": "throughput/batch_documents_per_s",
    }
    if not any(columns["queries"] in row.figures for row in outcome.rows):
        return [], []
    if outcome.settings.batch_size is None:
        columns = dict(list(columns.items())[:2])
    lines = [
        [
            row.name,
            *(_number(row.figures.get(name, math.nan), 0) for name in columns.values()),
            _number(row.figures.get("memory/peak_mb", math.nan), 1),
            _number(row.figures.get("memory/model_mb", math.nan), 3),
        ]
        for row in outcome.rows
    ]
    return ["", *columns, "peak MB", "model MB"], lines


def _cost(outcome: Outcome) -> Table:
    names = ("total", "per_query", "per_document", "per_1000_queries")
    if not any(row.figures.get("cost/total") for row in outcome.rows):
        return [], []
    lines = [
        [row.name, *("–" if row.reason else f"{row.figures[f'cost/{name}']:.6g}" for name in names)]
        for row in outcome.rows
    ]
    currency = outcome.settings.currency
    return ["", *(f"{name.replace('_', ' ')} {currency}" for name in names)], lines


def _grid(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[Text]:
    """Lay the cells out, names to the left and figures to the right."""
    cut = [[_cut(line[0]), *line[1:]] for line in lines]
    widths = [max(len(line[place]) for line in [head, *cut]) for place in range(len(head))]
    for number, line in enumerate([head, *cut]):
        cells = [
            f"{line[0]:<{widths[0]}}",
            *(f"{cell:>{width}}" for cell, width in zip(line[1:], widths[1:], strict=True)),
        ]
        yield Text(f"  {'  '.join(cells)}".rstrip(), style="dim" if number == 0 or not line[0] else "")


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:,.{digits}f}"


def _score(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _ms(value: float) -> str:
    return "–" if math.isnan(value) else ms(value)


def _json(values: Mapping[str, Any]) -> str:
    return json.dumps(plain(values), indent=2, ensure_ascii=False) + "\n"
