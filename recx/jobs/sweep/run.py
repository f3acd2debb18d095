"""A sweep from start to end: the parent run, Hydra's trials, the table, the best trial on the test fold."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from recx.core.chosen import shared
from recx.core.errors import InputError
from recx.core.run_context import RunContext
from recx.core.secrets import hidden, hidden_in
from recx.core.system.screen import echo
from recx.jobs.sweep import plan
from recx.jobs.sweep.checks import compares_on_test
from recx.jobs.sweep.finish import Outcome, finish
from recx.jobs.sweep.journal import TrialJournal

OF_MLFLOW = ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME")
"""Variables that workers on other machines need too, unless they hold a password."""


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
        return finish(current, parent, context)


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
    if compares_on_test(current.config):
        echo("these figures are of the test fold: to choose by them would be tuning on test (use fold=valid for that)")
