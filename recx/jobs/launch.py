"""Runs a composed experiment: threads, parts, folder, tracker, files, printed summary.

Nothing that imports numpy is imported before the number of threads is set: the thread pools of numpy, FAISS and other
libraries read it when they are loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.errors import InputError
from recx.core.metric_names import hint
from recx.core.run_context import ALONE, RunContext
from recx.core.secrets import hidden_in
from recx.core.system.threads import limited_to

if TYPE_CHECKING:
    from recx.core.protocols import Run, Tracker
    from recx.experiment.experiment import Experiment, Result


def launch(config: Mapping[str, Any], folder: Path, *, trial: bool = False, context: RunContext = ALONE) -> Result:
    """Run the experiment of a plain configuration, track it, and write its files to a folder.

    Args:
        config: See ``recx.config.compose.plain``.
        folder: The folder for the files.
        trial: Whether it is one of a sweep, which is silent and writes only its configuration, its figures and its
            protocol card.
        context: What the tracked run belongs to.

    Raises:
        InputError: The configuration or the data cannot be used.
        RecxError: A part violated its protocol.
        Pruned: The trial was ended early (see ``recx.core.pruning``).
    """
    if config.get("benchmark") is not None:
        raise InputError(
            "benchmark: it runs several chains, but here only one can run: leave out -m (from Python, call "
            "recx.jobs.benchmark.run.benchmark(config, folder))"
        )
    with limited_to(config["runtime"]["threads"]) as threads:
        from recx.core.progress import shown_on
        from recx.experiment import build, protocol_card, saved_runs
        from recx.experiment.advice import advice
        from recx.experiment.report_writers import TableWriter
        from recx.report.charts import figures
        from recx.report.page.write import write as write_page
        from recx.report.terminal.console import console_of_stdout, print_summary

        plan = build.plan(config)
        config = hidden_in(config)  # from here on it is only shown
        console = console_of_stdout()
        with _tracked(plan.tracker, config, context) as run, nullcontext() if trial else shown_on(console):
            result = _run(plan.experiment, config["cache"], threads, trial)
            card = protocol_card.card(result, config)
            sentences = advice(result.metrics, result.findings)
            folder.mkdir(parents=True, exist_ok=True)
            if trial:
                saved_runs.save_figures(result, folder, config, card)
            else:
                saved_runs.save(result, folder, config, card)
                figures.write(result.tables, folder)
                if plan.report is not None:
                    written = plan.report.write(result, folder)
                    if isinstance(plan.report, TableWriter):
                        run.log_table(written.stem, plan.report.table(result))
            run.log_metrics(result.metrics)
            run.log_curves(result.curves)
            run.log_tags(protocol_card.tags(card) | ({"recx.advice": "\n".join(sentences)} if sentences else {}))
            if not trial:
                write_page(result, folder, config, card, sentences)
            run.log_files(folder)
        if not trial:
            print_summary(console, result, folder, run, sentences)
        return result


@contextmanager
def _tracked(tracker: Tracker, config: Mapping[str, Any], context: RunContext) -> Iterator[Run]:
    """Yield the tracker's run; that of a pruned trial finishes normally, with a tag and its last values."""
    from recx.core.pruning import Pruned

    pruned = None
    with tracker.run(config["name"], config, context) as run:
        try:
            yield run
        except Pruned as stop:
            run.log_curves({"pruning/reached": list(stop.course.values())})
            run.log_tags({"recx.pruned": str(stop)})
            pruned = stop
    if pruned is not None:
        raise pruned


def _run(experiment: Experiment, mode: str, threads: int, trial: bool) -> Result:
    """Run the chain with the stage cache (mode: on, read or off), which keeps of a trial only what others can use."""
    from recx.core.protocols import HasDiagnostics

    if trial and isinstance(experiment.ranker, HasDiagnostics):
        experiment = replace(experiment, ranker=experiment.ranker.without_diagnostics())
    if mode == "off":
        return experiment.run()
    from recx.experiment.caching import cached
    from recx.storage.cache.store import CACHE, Cache

    passing = ("fit_ranker", "rank", "evaluate") if trial else ()
    cache = Cache(Path(CACHE).absolute(), mode == "on", threads, passing)
    with cache.used():
        return replace(cached(experiment, cache).run(), experiment=experiment, hits=cache.hits)


def objective(result: Result, name: str) -> float:
    """Return the metric that a sweep maximizes.

    Args:
        result: The result of a run.
        name: The full name of the metric, such as ``end_to_end/ndcg_at_5``.

    Raises:
        InputError: The run has no metric of that name, or it is not finite.
    """
    metrics = result.metrics
    if name not in metrics:
        raise InputError(f"objective={name}: the run has no such metric: {hint(name, metrics)}")
    value = float(metrics[name])
    if not abs(value) < float("inf"):
        raise InputError(f"objective={name}: it is {value} in this run, so it cannot be compared with other trials")
    return value
