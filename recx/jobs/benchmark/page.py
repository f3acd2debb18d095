"""The page of a benchmark: the story of its files, and writing both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.core.system.git import git_state
from recx.core.system.serialize import flat, plain
from recx.experiment.saved_runs import BENCHMARK, SavedRun
from recx.jobs.benchmark.output import NOTE
from recx.report.charts.charts import Point
from recx.report.page.contents import VERSION, present
from recx.report.page.section_run import under, words
from recx.report.page.several_runs import LATENCY, as_number, front_of, measured_rows, render
from recx.report.page.write import save

COST = "cost/per_1000_queries"


def write_page(folder: Path) -> None:
    """Write ``report.json`` and ``report.html`` of a benchmark into its folder, from the files there.

    Called by what ran the benchmark: the words and the repository of this moment are the benchmark's.
    """
    told = story_of_benchmark(folder, words(), git_state())
    save(folder, told, render(told))


def story_of_benchmark(folder: Path, words: Sequence[str] = (), git: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the story of the benchmark in a folder. words, git: of the command that ran it, where they are known.

    Raises:
        InputError: a file of it is missing or damaged.
    """
    path, saved = folder / BENCHMARK, SavedRun(folder)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        told = _of_document(document)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} cannot be read ({type(error).__name__}): run the benchmark again") from error
    counts = {name: document.get(name, 0) for name in ("queries", "queries_in_all", "documents")}
    run = {
        "when": str(document["machine"].get("written_at", "")),
        "words": list(words),
        "git": dict(git or {}),
        "stages": [],
        "counts": {name: count for name, count in counts.items() if count},
        "how": _how(document["settings"]),
        **under(saved.config, saved.protocol),
    }
    return {"version": VERSION, **told, "folder": folder.name, "run": plain(run)}


def _of_document(document: Mapping[str, Any]) -> dict[str, Any]:
    rankers, settings = document["rankers"], document["settings"]
    metrics = list(dict.fromkeys(metric for row in rankers for metric in row["quality"]))
    quality = settings.get("quality", metrics[0] if metrics else "")
    figures = [
        {"metric": metric, "values": [_quality(row["quality"].get(metric)) for row in rankers]} for metric in metrics
    ]
    measured = [{**row["figures"], "balance": row["balance"]} for row in rankers]
    judged = [row for row in rankers if quality in row["quality"]]

    def points(figure: str) -> list[Point]:
        places = [(as_number(row["figures"].get(figure)), row["quality"][quality]) for row in judged]
        return [
            Point(row["name"], at, found["mean"], row["on_front"], found["low"], found["high"])
            for row, (at, found) in zip(judged, places, strict=True)
        ]

    currency = str(settings.get("currency", "the currency of the prices"))
    costs = any(row["figures"].get(COST) for row in rankers)
    cost = f"cost of 1,000 queries in {currency}"
    return present(
        title=f"Benchmark of {len(rankers)} rankers on {document['queries']:,} queries",
        runs=[{"name": row["name"], "about": "", "reason": row["reason"]} for row in rankers],
        conclusions=document["conclusions"],
        warnings=document["cautions"],
        quality=quality,
        metrics=figures,
        measured=measured_rows(measured, currency),
        tests=document["tests"],
        fronts=[
            *front_of("Quality against latency", LATENCY[1], quality, points(LATENCY[0])),
            *(front_of("Quality against cost", cost, quality, points(COST)) if costs else []),
        ],
        note=f"{NOTE[0].upper()}{NOTE[1:]}.",
        grades=document["grades"],
        machine=document["machine"],
    )


def _quality(found: Mapping[str, float] | None) -> dict[str, float | None]:
    """Return a mean with the ends of its interval, all of them None where the ranker has no such figure."""
    known = found or {}
    return {"value": known.get("mean"), "low": known.get("low"), "high": known.get("high")}


def _how(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return how the calls were measured, in words."""
    names = ("sample", "warmup", "batch_size", "timeout_s", "parallel", "currency", "cost_weight")
    known = {name: settings[name] for name in names if settings.get(name) is not None}
    return flat({"sample": "all queries", **known})
