"""Runs a composed experiment: threads, parts, folder, tracker, files, printed summary.

Nothing that brings numpy is imported before the number of threads is set: numpy's, FAISS's and the other libraries'
pools read it when they are loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from recx.experiment import Experiment
    from recx.results import Result

CACHE = "outputs/cache"
"""Where the stage cache lies, from the working directory."""

_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def launch(config: Mapping[str, Any], folder: Path, *, trial: bool = False) -> Result:
    """Run the experiment of a plain configuration (see ``compose.plain``), track it, and write its files to a folder.

    trial: one of a sweep, which is silent and writes only its configuration, its figures and its protocol card.

    Raises:
        InputError: the configuration or the data cannot be used.
        RecxError: a part broke a promise of its protocol.
    """
    with limited_to(config["runtime"]["threads"]) as threads:
        from recx import build, protocol, results
        from recx.advice import advice
        from recx.progress import shown_on
        from recx.protocols import TableWriter
        from recx.report.console import print_summary

        plan = build.plan(config)
        console = console_of_stdout()
        with plan.tracker.run(config["name"], config) as run, nullcontext() if trial else shown_on(console):
            result = _run(plan.experiment, config["cache"], threads, trial)
            card = protocol.card(result, config)
            folder.mkdir(parents=True, exist_ok=True)
            (results.save_figures if trial else results.save)(result, folder, config, card)
            if plan.report is not None and not trial:
                written = plan.report.write(result, folder)
                if isinstance(plan.report, TableWriter):
                    run.log_table(written.stem, plan.report.table(result))
            run.log_metrics(result.metrics)
            run.log_curves(result.curves)
            told = advice(result.metrics)
            run.log_tags({**protocol.tags(card), **({"recx.advice": "\n".join(told)} if told else {})})
            run.log_files(folder)
        if not trial:
            print_summary(console, result, folder, run, told)
        return result


def _run(experiment: Experiment, mode: str, threads: int, trial: bool) -> Result:
    """Run the chain with what the stage cache keeps of it; mode: on, read or off.

    Of a trial, only what other trials can use is kept.
    """
    if mode == "off":
        return experiment.run()
    from recx.cache import Cache
    from recx.cached import cached

    passing = ("rank", "evaluate") if trial else ()
    cache = Cache(Path(CACHE).absolute(), mode == "on", threads, passing)
    with cache.used():
        return replace(cached(experiment, cache).run(), experiment=experiment, hits=cache.hits)


def objective(result: Result, name: str) -> float:
    """Return the number that a sweep makes as large as it can: finite, so that no sweeper stumbles over it.

    Raises:
        InputError: the run has no metric of that name.
    """
    metrics = result.metrics
    if name not in metrics:
        raise InputError(f"objective={name}: the run has no such metric: {did_you_mean(name, metrics)}")
    value = float(metrics[name])
    return value if abs(value) < float("inf") else 0.0


@contextmanager
def limited_to(threads: object) -> Iterator[int]:
    """Let numpy, scipy, FAISS and whatever else counts threads use at most so many inside.

    threads: a whole number, or None for what OMP_NUM_THREADS says, else every core that this process may use.

    Raises:
        InputError: it is no whole number from 1 up.
    """
    if threads is not None and (type(threads) is not int or threads < 1):
        raise InputError(f"runtime.threads={threads}: it must be a whole number from 1 up, or null for every core")
    number = threads if isinstance(threads, int) else _available()
    before = {name: os.environ.get(name) for name in _POOLS}
    os.environ.update(dict.fromkeys(_POOLS, str(number)))
    try:
        with _loaded_pools(number):
            yield number
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _loaded_pools(number: int) -> Any:
    """Limit the pools of libraries that read the environment before we could set it."""
    if "numpy" not in sys.modules:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(number)


def _available() -> int:
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdigit() and int(said) > 0:
        return int(said)
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def console_of_stdout() -> Console:
    """Return where progress and the summary go: as wide as the terminal, or 100 columns of plain text."""
    from rich.console import Console

    class Shown(Console):
        def on_broken_pipe(self) -> None:  # rich would leave by SystemExit, which tells the tracker nothing
            raise BrokenPipeError("whoever read the output has left")

    plain = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Shown(width=100 if plain else None, highlight=False)
