"""The page of a benchmark: its data, read from the benchmark's files, and writing both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.core.nouns import OF_SEARCH
from recx.core.resampling import Procedure
from recx.core.secrets import hidden_in
from recx.core.system.git import git_state
from recx.core.system.plain_files import read_text
from recx.core.system.serialize import flat, plain
from recx.experiment.saved_runs import BENCHMARK, SavedRun
from recx.jobs.benchmark.curves import budget_rows, curves_of
from recx.jobs.benchmark.outcome import COST
from recx.jobs.benchmark.output import HOW, NOTE
from recx.report.charts.charts import Point
from recx.report.page.contents import VERSION, present
from recx.report.page.section_run import under, words
from recx.report.page.several_runs import LATENCY, as_number, front_of, measured_rows, render
from recx.report.page.write import save


def write_page(folder: Path) -> None:
    """Write ``report.json`` and ``report.html`` of a benchmark into its folder, from the files there.

    Called by the benchmark itself: the command line and the repository are recorded as the benchmark's.
    """
    page = benchmark_data(folder, words(), git_state())
    save(folder, page, render(page))


def benchmark_data(folder: Path, words: Sequence[str] = (), git: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the data of the page of a benchmark.

    Args:
        folder: The folder of the benchmark.
        words: The arguments of the command that ran it, if known.
        git: The state of the repository then, if known.

    Raises:
        InputError: A file is missing or damaged.
    """
    saved, document = SavedRun(folder), document_of(folder)
    with readable(folder):
        page = _of_document(document)
    counts = {name: document.get(name, 0) for name in ("queries", "queries_in_all", "documents")}
    how = {name: document["settings"][name] for name in HOW if document["settings"].get(name) is not None}
    run = {
        "when": str(document["machine"].get("written_at", "")),
        "words": list(words),
        "git": dict(git or {}),
        "stages": [],
        "counts": {name: count for name, count in counts.items() if count},
        "how": flat({"sample": "all queries", **how}),
        **under(saved.config, saved.protocol),
    }
    return {"version": VERSION, **page, "folder": folder.name, "run": plain(run)}


def document_of(folder: Path) -> dict[str, Any]:
    """Return the content of ``benchmark.json``, without secrets.

    Raises:
        InputError: The file is missing or damaged.
    """
    with readable(folder):
        document = hidden_in(json.loads(read_text(folder / BENCHMARK)))
        if not isinstance(document, dict):
            raise TypeError("not an object")
        return document


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Turn whatever goes wrong with the content of ``benchmark.json`` into one sentence."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        path = folder / BENCHMARK
        raise InputError(f"{path} cannot be read ({type(error).__name__}): run the benchmark again") from error


def _of_document(document: Mapping[str, Any]) -> dict[str, Any]:
    rankers, settings = document["rankers"], document["settings"]
    metrics = list(dict.fromkeys(metric for row in rankers for metric in row["quality"]))
    quality = settings.get("quality", metrics[0] if metrics else "")

    points = partial(front_points, rankers, quality)
    currency = str(settings.get("currency", "the currency of the prices"))
    fronts = front_of("Quality against latency", LATENCY[1], quality, points(LATENCY[0]))
    if any(row["figures"].get(COST) for row in rankers):
        fronts += front_of("Quality against cost", f"cost of 1,000 queries in {currency}", quality, points(COST))
    return present(
        title=f"Benchmark of {len(rankers)} rankers on {document['queries']:,} queries",
        runs=[{"name": row["name"], "about": "", "reason": row["reason"]} for row in rankers],
        conclusions=document["conclusions"],
        warnings=document["cautions"],
        quality=quality,
        metrics=[
            {"metric": metric, "values": [interval(row["quality"].get(metric, {})) for row in rankers]}
            for metric in metrics
        ],
        measured=measured_rows([{**row["figures"], "balance": row["balance"]} for row in rankers], currency),
        tests=document["tests"],
        procedure=Procedure().in_words(int(document["queries"])),
        nouns=vars(OF_SEARCH),
        fronts=fronts,
        curves=curves_of(rankers, quality),
        budgets=budget_rows(rankers, quality),
        currency=currency,
        note=f"{NOTE[0].upper()}{NOTE[1:]}.",
        grades=document["grades"],
        machine=flat(document["machine"]),
        pairs=[{**pair, "metric": pair["metric"].rpartition("/")[2]} for pair in document.get("pairs", ())],
    )


def front_points(rankers: Sequence[Mapping[str, Any]], quality: str, figure: str) -> list[Point]:
    """Return rankers as points of a chart of quality against a figure."""
    found = [(row, row["quality"][quality]) for row in rankers if quality in row["quality"]]
    return [
        Point(row["name"], as_number(row["figures"].get(figure)), y["mean"], row["on_front"], y["low"], y["high"])
        for row, y in found
    ]


def interval(found: Mapping[str, float]) -> dict[str, float | None]:
    """Return a mean with the ends of its interval, all of them None if the ranker has no such figure."""
    return {"value": found.get("mean"), "low": found.get("low"), "high": found.get("high")}
