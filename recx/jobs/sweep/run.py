"""A sweep from its first line to its last: the parent run, Hydra's trials, the table, the best trial on test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.errors import InputError
from recx.core.run_context import ALONE, RunContext
from recx.jobs.sweep import plan
from recx.jobs.sweep.journal import Trial, TrialJournal
from recx.jobs.sweep.trial import TrialRunner

if TYPE_CHECKING:
    from recx.core.protocols import Run


def sweep(overrides: Sequence[str], start: Callable[[Sequence[str]], None]) -> int:
    """Run a sweep, or what is missing of it, and return the exit code: 1 if a trial failed.

    overrides: the words of the command line. start: lets Hydra run the jobs of such words.

    Raises:
        InputError: the words are wrong, or the sweep would tune on test, or it is running already.
    """
    from recx.config import factory
    from recx.core.protocols import Preflight, SweepTracker

    now = plan.read(overrides)
    tracker = factory.build(now.config["tracker"], "tracker")
    pruner = factory.build(now.config["pruner"], "pruner")
    if isinstance(pruner, Preflight):
        pruner.preflight()
    with _alone(now):
        _say_hello(now, now.begin())
        named = (str(now.config["name"]), {"words": " ".join(now.words)})
        opened = tracker.sweep(*named, now.id) if isinstance(tracker, SweepTracker) else tracker.run(*named, ALONE)
        with opened as parent:
            context = RunContext(getattr(parent, "run_id", ""), now.id)
            if now.optimises:  # asked anew with the same seed, it proposes the same, and what is done is not run again
                (now.folder / "study.db").unlink(missing_ok=True)
            _start(now, [*now.words, *_for_hydra(now, context)], start)
            return _finish(now, parent, replace(context, name="best"))


def _start(now: plan.Sweep, words: Sequence[str], start: Callable[[Sequence[str]], None]) -> None:
    from recx.jobs.sweep import ray

    try:
        with nullcontext() if now.ray is None else ray.cluster(now.ray):
            start(words)
    except ValueError:  # Optuna's, where it looks for the best of trials that have all failed; the table tells why
        trials = TrialJournal(now.folder / "trials").trials()
        if not trials or any(trial.objective is not None for trial in trials):
            raise


def _for_hydra(now: plan.Sweep, context: RunContext) -> list[str]:
    return [
        f"hydra.sweep.dir=${{hydra.runtime.cwd}}/{now.folder.as_posix()}",  # wherever a worker is started
        *(f"++hydra.job.env_set.{name}='{value}'" for name, value in context.variables.items()),
    ]


def _say_hello(now: plan.Sweep, new: bool) -> None:
    done = len([trial for trial in TrialJournal(now.folder / "trials").trials() if not trial.reason])
    print(f"sweep_id={now.id}" if new else f"sweep_id={now.id}: {done} done before", flush=True)
    if now.config["fold"] == "test" and not now.config["allow_tuning_on_test"]:
        print("these figures are of the test fold: to choose by them would be tuning on test (fold=valid is for that)")


def _finish(now: plan.Sweep, parent: Run, context: RunContext) -> int:
    """Run the best trial on test if it was chosen on valid, write and show the summary; return the exit code.

    context: what the tracked run of the best trial belongs to.
    """
    from recx.experiment.saved_runs import load
    from recx.jobs.sweep.output import print_sweep, write_sweep
    from recx.jobs.sweep.summary import differing, table
    from recx.report.terminal.console import console_of_stdout

    trials = TrialJournal(now.folder / "trials").trials()
    columns, objective = table(trials), str(now.config["objective"])
    done = [trial for trial in trials if trial.objective is not None]
    failed = [trial for trial in trials if trial.reason]
    on_test = now.config["fold"] == "test" and not now.config["allow_tuning_on_test"]
    best = max(done, key=lambda trial: trial.objective or 0.0) if done and not on_test else None
    final = _on_test(now, best, context) if best and now.config["fold"] == "valid" else None
    kept = final or best
    write_sweep(columns, objective, now.folder / "summary")
    parent.log_files(now.folder / "summary")
    parent.log_tags({"recx.varied": ", ".join(differing(trials)), "recx.failed": str(len(failed))})
    if len(done) + len(failed) < len(trials):
        parent.log_tags({"recx.pruned": str(len(trials) - len(done) - len(failed))})
    if best and kept and kept.objective is not None:
        parent.log_tags({"recx.best": " ".join(best.words), "recx.folder": str(Path(kept.folder).absolute())})
        parent.log_metrics({**load(kept.folder).metrics, "sweep/best_objective": best.objective or 0.0})
    print_sweep(console_of_stdout(), columns, objective, now.folder)
    if final is not None:
        said = final.reason or f"{objective} = {final.objective:.4f}"
        print(f"best trial ({best.number if best else ''}), once on test: {said}   {final.folder}")
    if parent.address:
        print(f"address {parent.address}")
    return 1 if failed or (final and final.reason) or not trials else 0


def _on_test(now: plan.Sweep, best: Trial, context: RunContext) -> Trial:
    from recx.config.compose import compose, plain

    words = [*(word for word in best.words if not word.startswith("fold=")), "fold=test"]
    attempt = TrialRunner(0, words, now.folder / "best", TrialJournal(now.folder / "final"), context, whole=True)
    where = [word for word in now.words if word.startswith("hydra.searchpath=")]  # options of one's own lie there
    return attempt.run(lambda: plain(compose([*where, *words])))


@contextmanager
def _alone(now: plan.Sweep) -> Iterator[None]:
    """Hold the sweep, so that no second process works at it; whoever dies lets go."""
    from recx.core.system.locks import turn

    try:
        with turn(now.folder / ".lock", wait=False):
            yield
    except BlockingIOError:
        raise InputError(
            f"sweep_id={now.id}: another process is at it: wait for it, or choose another sweep_id"
        ) from None
