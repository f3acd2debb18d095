"""Runs a composed experiment: threads, parts, folder, tracker, files, printed summary.

Nothing that brings numpy is imported before the number of threads is set: numpy's, FAISS's and the other libraries'
pools read it when they are loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.errors import InputError, did_you_mean
from recx.core.run_context import ALONE, RunContext
from recx.core.system.threads import limited_to

if TYPE_CHECKING:
    from recx.core.protocols import Run, Tracker
    from recx.experiment.experiment import Experiment, Result


def run(overrides: Sequence[str] = ()) -> Result:
    """Run what ``python -m recx OVERRIDES`` runs: folder, tracker and printed table included.

    Raises:
        InputError: the configuration or the data cannot be used.
        RecxError: a part broke a promise of its protocol.
    """
    from omegaconf import OmegaConf

    from recx.config.compose import compose, plain

    config = compose(overrides)
    folder = Path(OmegaConf.select(config, "hydra.run.dir")).absolute()
    return launch(plain(config), folder)


def launch(config: Mapping[str, Any], folder: Path, *, trial: bool = False, context: RunContext = ALONE) -> Result:
    """Run the experiment of a plain configuration (see ``compose.plain``), track it, and write its files to a folder.

    trial: one of a sweep, which is silent and writes only its configuration, its figures and its protocol card.
    context: what the tracked run belongs to.

    Raises:
        InputError: the configuration or the data cannot be used.
        RecxError: a part broke a promise of its protocol.
        Pruned: whoever watches (see ``recx.core.pruning``) has seen enough.
    """
    if config.get("benchmark") is not None:
        raise InputError(
            "benchmark: it runs several chains, and here one is run: leave out -m (from Python, call "
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
        console = console_of_stdout()
        with _tracked(plan.tracker, config, context) as run, nullcontext() if trial else shown_on(console):
            result = _run(plan.experiment, config["cache"], threads, trial)
            card = protocol_card.card(result, config)
            folder.mkdir(parents=True, exist_ok=True)
            (saved_runs.save_figures if trial else saved_runs.save)(result, folder, config, card)
            if not trial:
                figures.write(result.tables, folder)
            if plan.report is not None and not trial:
                written = plan.report.write(result, folder)
                if isinstance(plan.report, TableWriter):
                    run.log_table(written.stem, plan.report.table(result))
            run.log_metrics(result.metrics)
            run.log_curves(result.curves)
            told = advice(result.metrics)
            run.log_tags({**protocol_card.tags(card), **({"recx.advice": "\n".join(told)} if told else {})})
            if not trial:
                write_page(result, folder, config, card, told)
            run.log_files(folder)
        if not trial:
            print_summary(console, result, folder, run, told)
        return result


@contextmanager
def _tracked(tracker: Tracker, config: Mapping[str, Any], context: RunContext) -> Iterator[Run]:
    """Yield the tracker's run; that of a pruned trial ends in order, with a tag and what it reached."""
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
    """Run the chain with what the stage cache keeps of it; mode: on, read or off.

    Of a trial, only what other trials can use is kept.
    """
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
    """Return the number that a sweep makes as large as it can.

    Raises:
        InputError: the run has no metric of that name, or it is not finite, and so no better or worse than another.
    """
    metrics = result.metrics
    if name not in metrics:
        raise InputError(f"objective={name}: the run has no such metric: {did_you_mean(name, metrics)}")
    value = float(metrics[name])
    if not abs(value) < float("inf"):
        raise InputError(f"objective={name}: it is {value} in this run, which cannot be compared")
    return value
