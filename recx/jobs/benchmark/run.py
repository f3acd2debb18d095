"""A benchmark from its first line to its last: the rankers' processes, the table, the tracker, the files."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.errors import RecxError
from recx.core.run_context import RunContext
from recx.core.system.threads import limited_to

if TYPE_CHECKING:
    from recx.core.evaluation import Evaluation
    from recx.core.protocols import Run
    from recx.evaluation.compare import Comparison
    from recx.jobs.benchmark.outcome import Outcome, Row
    from recx.jobs.benchmark.prepare import Plan
    from recx.jobs.benchmark.rerank import Rerank


def benchmark(config: Mapping[str, Any], folder: Path) -> Outcome:
    """Run the benchmark of a plain configuration (see ``compose.plain``), track it, and write its files to a folder.

    A ranker that fails is a row with its reason (``Outcome.failed``).

    Raises:
        InputError: the configuration cannot be used.
    """
    with limited_to(config["runtime"]["threads"]) as threads:
        from recx.core.progress import say, shown_on
        from recx.jobs.benchmark import conclusions
        from recx.jobs.benchmark.output import print_benchmark, write_benchmark
        from recx.jobs.benchmark.page import write_page
        from recx.jobs.benchmark.prepare import read
        from recx.report.terminal.console import console_of_stdout
        from recx.storage.cache.store import CACHE

        plan, console = read(config), console_of_stdout()
        folder.mkdir(parents=True, exist_ok=True)
        context = RunContext(name=f"benchmark of {', '.join(plan.settings.names)}")
        with plan.tracker.run(config["name"], config, context) as run, shown_on(console):
            machine = _machine(threads)
            jobs = plan.jobs(folder.absolute(), Path(CACHE).absolute(), machine)
            found = _processed(plan.settings, jobs, say)
            outcome = _judged(plan.settings, jobs, found, machine)
            write_benchmark(outcome, config, folder)
            _track_rankers(plan, outcome, run)
            run.log_table("rankers", outcome.columns())
            run.log_metrics(_headline(outcome))
            said = conclusions.conclusions(outcome)
            run.log_tags({"recx.conclusions": "\n".join(said), "recx.failed": str(len(outcome.failed))})
            write_page(folder)
            run.log_files(folder, inner=False)  # those of a ranker belong to its own run
        print_benchmark(console, outcome, folder, run.address)
        return outcome


def check(outcome: Outcome) -> None:
    """Raise RecxError where a ranker failed, so that whoever started the benchmark hears of it too."""
    if outcome.failed:
        names = ", ".join(row.name for row in outcome.failed)
        raise RecxError(
            f"{len(outcome.failed)} of {len(outcome.rows)} rankers failed: {names}; the table says why, and "
            "~benchmark.rankers.NAME takes one out"
        )


def _processed(settings: Rerank, jobs: Sequence[Mapping[str, Any]], say: Any) -> list[dict[str, Any]]:
    from recx.jobs.benchmark.processes import Processes

    def tell(name: str, outcome: Mapping[str, Any]) -> None:
        end = "failed" if "reason" in outcome else "measured"
        if outcome.get("cached"):
            end = f"from cache, measured on {outcome['measured_at']}"
        say(f"{name:<22} {outcome['seconds']:7.2f} s  {end}")

    workers = 1 if settings.parallel is None else settings.parallel["workers"]
    return Processes(settings.timeout_s).outcomes(jobs, workers, tell)


def _judged(
    settings: Rerank, jobs: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]], machine: Mapping[str, Any]
) -> Outcome:
    """Read what the workers wrote, and hold the rows against each other."""
    from recx.experiment.saved_runs import SavedRun
    from recx.jobs.benchmark.outcome import LINE, Outcome

    full, rows, evaluations = [LINE + metric for metric in settings.metrics], [], []
    for job, one in zip(jobs, found, strict=True):
        evaluation = None
        if "reason" not in one:
            evaluation = replace(SavedRun(Path(job["folder"])).evaluation, name=job["name"])
            evaluations.append(evaluation)
        rows.append(_row(settings, job, one, evaluation))
    compared = None if rows[0].reason else _compared(evaluations, full)
    outcome = Outcome(settings, rows, [] if compared is None else _tests(compared), {}, machine)
    of_best = _with_best(outcome, evaluations)
    return replace(
        outcome,
        told_apart={} if of_best is None else {test["run"]: test["p_holm"] for test in _tests(of_best)},
        warnings=next((found.warnings for found in (compared, of_best) if found is not None), []),
    )


def _row(settings: Rerank, job: Mapping[str, Any], found: Mapping[str, Any], evaluation: Evaluation | None) -> Row:
    from recx.jobs.benchmark.outcome import LINE, Row

    row = Row(job["name"], job["ranker"], Path(job["folder"]), seconds=found["seconds"])
    if evaluation is None:
        return replace(row, reason=found["reason"])
    metrics = [metric for metric in settings.metrics if LINE + metric in evaluation.values]
    intervals = evaluation.intervals([LINE + metric for metric in metrics])
    quality = {metric: (evaluation.means[LINE + metric], *intervals[LINE + metric]) for metric in metrics}
    cost = settings.cost(job["ranker"], found["queries"], found["documents"])
    measured = {name: float("nan") if value is None else value for name, value in found["figures"].items()}
    told = ("grades", "queries", "queries_in_all", "documents", "cached", "measured_at", "load", "differ")
    return replace(
        row,
        quality=quality,
        figures={**measured, **{f"cost/{name}": value for name, value in cost.items()}},
        **{name: found[name] for name in told},
    )


def _compared(evaluations: Sequence[Evaluation], metrics: Sequence[str]) -> Comparison | None:
    from recx.evaluation.compare import compare

    shared = [metric for metric in metrics if all(metric in one.values for one in evaluations)]
    return compare(*evaluations, metrics=shared) if shared and len(evaluations) > 1 else None


def _tests(compared: Comparison) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in compared.table.to_dict("records")]


def _with_best(outcome: Outcome, evaluations: Sequence[Evaluation]) -> Comparison | None:
    """Return the paired tests of every other row against the best in quality."""
    from recx.jobs.benchmark.figures import best
    from recx.jobs.benchmark.outcome import LINE

    place = best([outcome.quality(row) for row in outcome.finished])
    if place is None:
        return None
    ordered = [evaluations[place], *(one for number, one in enumerate(evaluations) if number != place)]
    return _compared(ordered, [LINE + outcome.settings.quality])


def _track_rankers(plan: Plan, outcome: Outcome, parent: Run) -> None:
    """Give every ranker a run beneath the benchmark's."""
    options = {name: chosen.option for name, chosen in plan.settings.rankers.items()}
    for row in outcome.rows:
        params = {"name": row.name, "ranker": options[row.ranker]}
        context = RunContext(getattr(parent, "run_id", ""), name=row.name)
        with suppress(_FailedError), plan.tracker.run(plan.config["name"], params, context) as run:
            quality = {f"quality/{metric}": values[0] for metric, values in row.quality.items()}
            run.log_metrics({**quality, **row.figures, "balance": outcome.score(row)} if not row.reason else {})
            run.log_files(row.folder)
            if row.reason:
                raise _FailedError(row.reason)


class _FailedError(RecxError):
    """Ends the tracked run of a ranker that failed with its reason."""


def _headline(outcome: Outcome) -> dict[str, float]:
    rows = outcome.finished
    named = {
        outcome.settings.quality: [outcome.quality(row) for row in rows],
        "p95_ms": [row.figures.get("latency/p95_ms", float("nan")) for row in rows],
        "balance": [outcome.score(row) for row in rows],
    }
    return {
        f"{figure}/{row.name}": value
        for figure, values in named.items()
        for row, value in zip(rows, values, strict=True)
        if value == value
    }


def _machine(threads: int) -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "threads": threads,
        "python": platform.python_version(),
        "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
