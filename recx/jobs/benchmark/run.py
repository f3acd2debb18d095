"""A benchmark from start to end: the rankers' processes, the table, the tracker, the files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.chosen import CHOSEN, shared
from recx.core.errors import RecxError
from recx.core.fold_names import outside, outside_name
from recx.core.run_context import RunContext
from recx.core.secrets import hidden_in
from recx.core.system.own_folder import OwnFolder
from recx.core.system.threads import limited_to

if TYPE_CHECKING:
    from recx.core.trackers import Run
    from recx.jobs.benchmark.outcome import Outcome, Row
    from recx.jobs.benchmark.prepare import Plan


FILES = ("config.yaml", "protocol.json", "benchmark.csv", "benchmark.json", "curves.svg", "report.json", "report.html")
"""The files of a benchmark, beside a folder for each ranker."""


def folder_of_benchmark(path: Path, rankers: Sequence[str] = ()) -> OwnFolder:
    """Return the folder of a benchmark, which must be new, empty or of an earlier one."""
    return OwnFolder(path, (*FILES, *(name.replace(" ", "") for name in rankers)), "a benchmark")


def benchmark(config: Mapping[str, Any], folder: Path) -> Outcome:
    """Run the benchmark of a plain configuration, track it, and write its files to a folder.

    Args:
        config: See ``recx.config.compose.plain``.
        folder: The folder for the files.

    Returns:
        The outcome, in which a ranker that failed is a row with its reason.

    Raises:
        InputError: The configuration cannot be used.
    """
    with limited_to(config["runtime"]["threads"]) as threads:
        from recx.core.progress import say, shown_on
        from recx.jobs.benchmark.conclusions import conclusions
        from recx.jobs.benchmark.evaluated import evaluated
        from recx.jobs.benchmark.machine import machine_of
        from recx.jobs.benchmark.output import print_benchmark, write_benchmark
        from recx.jobs.benchmark.page import write_page
        from recx.jobs.benchmark.prepare import read
        from recx.jobs.benchmark.processes import Processes
        from recx.report.markdown import of_benchmark
        from recx.report.terminal.console import console_of_stdout
        from recx.storage.cache.store import CACHE

        def report(name: str, result: Mapping[str, Any]) -> None:
            end = "failed" if "reason" in result else "measured"
            if result.get("cached"):
                end = f"from cache, measured on {result['measured_at']}"
            say(f"{name:<22} {result['seconds']:7.2f} s  {end}")

        plan, console = read(config), console_of_stdout()
        settings, config = plan.settings, hidden_in(config)  # which is only shown from here on
        own = folder_of_benchmark(folder, settings.names)
        rankers = ", ".join(settings.names)
        context, common = RunContext(name=f"benchmark of {rankers}", role="benchmark"), shared(config, ("ranker",))
        tracked = plan.tracker.run(config["name"], common, context)
        with suppress(_FailedError), own.held(), tracked as run, shown_on(console):
            own.begin()
            run.log_tags({"recx.rankers": rankers})
            machine = machine_of(threads)
            jobs = plan.jobs(folder.absolute(), Path(CACHE).absolute(), machine)
            workers = 1 if settings.parallel is None else settings.parallel["workers"]
            results = Processes(settings.timeout_s).outcomes(jobs, workers, report)
            outcome = evaluated(settings, jobs, results, machine)
            write_benchmark(outcome, config, folder)
            _track_rankers(plan, outcome, run)
            columns = outcome.columns(config["fold"])
            run.log_table("rankers", columns)
            run.log_metrics(_headline(outcome, config["fold"]))
            run.log_tags({"recx.failed": str(len(outcome.failed))})
            run.describe(of_benchmark(conclusions(outcome), columns))
            write_page(folder)
            run.log_files(folder, inner=False)  # those of a ranker belong to its own run
            own.seal()
            if not outcome.finished:
                raise _FailedError(f"all rankers failed, the first since {outcome.rows[0].reason}")
        print_benchmark(console, outcome, folder, run.address)
        return outcome


def check(outcome: Outcome) -> None:
    """Raise RecxError if a ranker failed, so that the command fails too."""
    if outcome.failed:
        names = ", ".join(row.name for row in outcome.failed)
        raise RecxError(
            f"{len(outcome.failed)} of {len(outcome.rows)} rankers failed: {names}; the table says why, and "
            "~benchmark.rankers.NAME takes one out"
        )


def _track_rankers(plan: Plan, outcome: Outcome, parent: Run) -> None:
    """Track every ranker as a run below the benchmark's."""
    for row in outcome.rows:
        params = _params_of(row, plan)
        context = RunContext(getattr(parent, "run_id", ""), name=row.name)
        with suppress(_FailedError), plan.tracker.run(plan.config["name"], params, context) as run:
            means = {f"quality/{metric}": values[0] for metric, values in row.quality.items()}
            quality = outside(means, plan.config["fold"])
            curves = outcome.on_curves(row, plan.config["fold"])
            figures = {**quality, **row.figures, **curves, "balance": outcome.score(row)}
            run.log_metrics({} if row.reason else figures)
            run.log_files(row.folder)
            if row.reason:
                raise _FailedError(row.reason)


def _params_of(row: Row, plan: Plan) -> dict[str, Any]:
    """Return the configuration of the run of one ranker."""
    common = shared(plan.config, ("benchmark", "ranker"))
    option = hidden_in(plan.settings.rankers[row.ranker].option)
    chosen = {**common[CHOSEN], "options": {**common[CHOSEN]["options"], "ranker": row.ranker}}
    return {**common, "ranker": option, CHOSEN: chosen}


class _FailedError(RecxError):
    """Ends the tracked run of a ranker that failed with its reason, or that of a benchmark of none that did not."""


def _headline(outcome: Outcome, fold: str) -> dict[str, float]:
    from recx.jobs.benchmark.outcome import P95_MS

    figures: dict[str, float] = {}
    for row in outcome.finished:
        figures[outside_name(f"{outcome.settings.quality}/{row.name}", fold)] = outcome.quality(row)
        figures[f"p95_ms/{row.name}"] = row.figure(P95_MS)
        figures[f"balance/{row.name}"] = outcome.score(row)
    return {name: value for name, value in figures.items() if not math.isnan(value)}
