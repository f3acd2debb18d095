"""A sweep from start to end: the parent run, Hydra's trials, the table, the best trial on the test fold."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.chosen import shared
from recx.core.errors import InputError
from recx.core.run_context import RunContext
from recx.core.secrets import hidden, hidden_in
from recx.core.system.screen import echo
from recx.jobs.sweep import plan
from recx.jobs.sweep.journal import Trial, TrialJournal
from recx.jobs.sweep.trial import TrialRunner, axes_of

if TYPE_CHECKING:
    from recx.core.trackers import Run

OF_MLFLOW = ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME")
"""Variables that workers on other machines need too, unless they hold a password."""


@dataclass(frozen=True)
class Outcome:
    """A finished sweep.

    Attributes:
        trials: All its trials, sorted by number.
        exit_code: 1 if a trial failed, else 0.
    """

    trials: Sequence[Trial]
    exit_code: int


def sweep(overrides: Sequence[str], start: Callable[[Sequence[str]], None]) -> Outcome:
    """Run a sweep, or what is missing of it.

    Args:
        overrides: The overrides of the command line.
        start: Lets Hydra run the jobs of such overrides.

    Raises:
        InputError: An override is wrong, the sweep would tune on test, or it is running already.
    """
    from recx.config import factory
    from recx.core.protocols import Preflight
    from recx.core.system.locks import turn
    from recx.core.trackers import SweepTracker

    current = plan.read(overrides)
    tracker = factory.build(current.config["tracker"], "tracker")
    pruner = factory.build(current.config["pruner"], "pruner")
    if isinstance(pruner, Preflight):
        pruner.preflight()
    with ExitStack() as stack:
        try:
            stack.enter_context(turn(current.folder / plan.LOCK, wait=False))
        except BlockingIOError:
            raise InputError(
                f"sweep_id={current.id}: another process is running this sweep: wait for it, or choose another sweep_id"
            ) from None
        _announce(current, current.begin())
        params = hidden_in(shared(current.config, current.varied))
        title = f"sweep of {', '.join(current.varied)}" if current.varied else "sweep"
        start_run = tracker.sweep if isinstance(tracker, SweepTracker) else tracker.run
        context = RunContext(sweep=current.id, name=title)
        parent = stack.enter_context(start_run(str(current.config["name"]), params, context))
        context = RunContext(getattr(parent, "run_id", ""), current.id)
        if current.optimises:  # with the same seed a new study proposes the same trials, of which none runs twice
            (current.folder / "study.db").unlink(missing_ok=True)
        _start(current, context, start)
        return _finish(current, parent, replace(context, role="best"))


def _start(current: plan.Sweep, context: RunContext, start: Callable[[Sequence[str]], None]) -> None:
    from recx.config.overrides import quoted
    from recx.config.sweepers.grid import planned
    from recx.jobs.sweep import ray

    folder = f"hydra.sweep.dir=${{hydra.runtime.cwd}}/{current.folder.as_posix()}"  # the same for workers elsewhere
    passed = {name: os.environ[name] for name in OF_MLFLOW if hidden(os.environ.get(name, "")) == os.environ.get(name)}
    environment = (
        quoted(f"++hydra.job.env_set.{name}={value}") for name, value in {**passed, **context.variables}.items()
    )
    try:
        with ExitStack() as stack:
            if current.ray is not None:
                stack.enter_context(ray.cluster_of_trials(current.ray))
            if current.grid is not None:
                stack.enter_context(planned(current.grid))
            start([*current.of_hydra, folder, *environment])
    except ValueError:  # Optuna's, as it finds no best trial where all have failed; the table says why they failed
        trials = TrialJournal(current.folder / "trials").trials()
        if not trials or any(trial.objective is not None for trial in trials):
            raise


def _announce(current: plan.Sweep, new: bool) -> None:
    done = sum(not trial.reason for trial in TrialJournal(current.folder / "trials").trials())
    echo(f"sweep_id={current.id}" if new else f"sweep_id={current.id}: {done} done before", flush=True)
    if current.grid is not None:
        echo(current.grid.announcement(), flush=True)
    if _compares_on_test(current):
        echo("these figures are of the test fold: to choose by them would be tuning on test (use fold=valid for that)")


def _compares_on_test(current: plan.Sweep) -> bool:
    return current.config["fold"] == "test" and not current.config["allow_tuning_on_test"]


def _finish(current: plan.Sweep, parent: Run, context: RunContext) -> Outcome:
    """Run the best trial on test if it was chosen on valid, write and print the summary."""
    from recx.core.fold_names import outside_name
    from recx.jobs.sweep.output import print_sweep, write_sweep
    from recx.jobs.sweep.summary import differing, table
    from recx.report.markdown import of_sweep
    from recx.report.terminal.console import console_of_stdout

    trials = TrialJournal(current.folder / "trials").trials()
    columns, objective = table(trials), str(current.config["objective"])
    done = [trial for trial in trials if trial.objective is not None]
    failed = sum(bool(trial.reason) for trial in trials)
    best = max(done, key=lambda trial: trial.objective or 0.0) if done and not _compares_on_test(current) else None
    final = _on_test(current, best, context) if best and current.config["fold"] == "valid" else None
    write_sweep(columns, objective, current.folder / "summary")
    parent.log_table("trials", columns)
    parent.log_files(current.folder / "summary")
    tags = {"recx.varied": ", ".join(differing(trials)), "recx.failed": str(failed)}
    if len(done) + failed < len(trials):
        tags["recx.pruned"] = str(len(trials) - len(done) - failed)
    shown = final or best
    if best and shown and shown.objective is not None:
        tags |= {"recx.best": " ".join(best.overrides), "recx.folder": str(Path(shown.folder).absolute())}
    parent.log_tags(tags)
    title = f"sweep of {', '.join(current.varied)}: {' '.join(current.overrides)}"
    parent.describe(of_sweep(hidden(title), columns, outside_name(objective, current.config["fold"])))
    print_sweep(console_of_stdout(), columns, outside_name(objective, current.config["fold"]), current.folder)
    if best and final:
        result = final.reason or f"{objective} = {final.objective:.4f}"
        echo(f"best trial ({best.number}), once on test: {result}   {final.folder}")
    if parent.address:
        echo(f"address {parent.address}")
    return Outcome(trials, 1 if failed or (final and final.reason) or not trials else 0)


def _on_test(current: plan.Sweep, best: Trial, context: RunContext) -> Trial:
    from recx.config.compose import compose, plain

    overrides = [*(override for override in best.overrides if not override.startswith("fold=")), "fold=test"]
    journal = TrialJournal(current.folder / "final")
    varied = axes_of(best.overrides, current.varied)
    context = replace(context, name=f"best{varied and f', {varied}'}", chosen_by=best.folder)
    runner = TrialRunner(0, overrides, current.folder / "best", journal, context, whole=True)
    path = [override for override in current.overrides if override.startswith("hydra.searchpath=")]
    return runner.run(lambda: plain(compose([*path, *overrides])))
