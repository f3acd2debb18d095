"""One trial of a sweep: run it, or answer from what an earlier start of the sweep has written."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.config import factory
from recx.core.errors import InputError, reason
from recx.core.project import current, entered
from recx.core.pruning import FirstFit, Pruned, watched
from recx.core.run_context import ALONE, RunContext
from recx.core.system import memory
from recx.core.system.locks import turn
from recx.core.system.own_folder import OwnFolder
from recx.core.system.screen import echo
from recx.jobs.sweep.checks import FIXED
from recx.jobs.sweep.edited import hash_of
from recx.jobs.sweep.journal import Trial, TrialJournal, description_of

if TYPE_CHECKING:
    from omegaconf import DictConfig

TAKEN = ("trials", "final", "best", "summary", "own", "baseline")
"""What lies in the folder of a sweep beside its trials."""


@dataclass(frozen=True)
class TrialRunner:
    """Runs one trial and writes its result to the journal.

    Attributes:
        number: Its place in the sweep, from 0.
        overrides: What to run, as on a command line.
        folder: Where its files go.
        journal: Where its result is written.
        context: What its tracked run belongs to.
        whole: Whether to write all files of a run, and never to prune it.
        prunable: Whether a pruner may end it where it need not be whole.
        fixed: Settings that its configuration must have, since trials are compared by them.
    """

    number: int
    overrides: Sequence[str]
    folder: Path
    journal: TrialJournal
    context: RunContext = ALONE
    whole: bool = False
    prunable: bool = True
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def run(self, config: Callable[[], Mapping[str, Any]]) -> Trial:
        """Return the result of the trial, which runs now unless it is done already.

        An error is recorded as its result, so that the other trials continue; only what stops the process (Ctrl-C,
        SIGTERM) is raised.

        Args:
            config: Makes its configuration.
        """
        lock = self.folder.with_name(f".{self.folder.name}.lock")
        with turn(lock):  # a worker may outlive a sweep that was killed
            trial = self.journal.done(self.number, self.overrides)
            if trial is None:
                start = time.perf_counter()
                trial = self._result(config)
                trial = replace(trial, seconds=round(time.perf_counter() - start, 3), memory=_peak())
                self.journal.write(trial)
        return trial

    def _result(self, config: Callable[[], Mapping[str, Any]]) -> Trial:
        from recx.jobs.launch import FILES, launch, objective

        fit = FirstFit(lambda course: False)
        trial = Trial(self.number, tuple(self.overrides), str(self.folder), course=fit.course)
        of = "the best trial" if self.whole else f"trial {self.number}"
        own = OwnFolder(self.folder, FILES, f"{of} of this sweep", "hydra.sweep.subdir")
        try:
            own.clear()  # of earlier overrides, or incomplete
            settings = config()
            trial = replace(trial, settings=hash_of(settings))
            for key, value in self.fixed.items():
                if settings[key] != value:
                    raise InputError(f"{key}={settings[key]}: the trials of this sweep are compared by {key}={value}")
            if settings["pruner"] and self.prunable and not self.whole:
                pruner = factory.build(settings["pruner"], "pruner")
                fit.prunes = lambda course: pruner.prune(course, self._earlier_courses())
            with watched(fit), entered(replace(current(), overrides=tuple(self.overrides))):
                result = launch(settings, own, trial=not self.whole, context=self.context)
            cached = int(result.metrics.get("data/cache_hits", 0))
            return replace(trial, objective=objective(result, settings["objective"]), cached=cached)
        except Pruned:
            return replace(trial, pruned=max(fit.course))
        except Exception as error:
            return replace(trial, reason=reason(error))

    def _earlier_courses(self) -> list[Mapping[int, float]]:
        return [trial.course for trial in self.journal.before(self.number) if trial.course]

    def reported(self, trial: Trial) -> float | None:
        """Return the number that the sweeper gets for a trial, None where it failed.

        A pruned trial has no objective, but Hydra's sweepers accept only numbers: it gets the lowest objective of the
        trials before it. So it ranks among the worst, and TPE looks at ranks only.
        """
        if trial.pruned is None:
            return trial.objective
        return min((other.objective or 0.0 for other in self.journal.before(trial.number)), default=0.0)


def _peak() -> int:
    """Return the peak memory of this process in bytes; 0 where it is unknown."""
    found = memory.peak() * memory.MIB
    return int(found) if found == found else 0


def axes_of(overrides: Sequence[str], varied: Collection[str]) -> str:
    """Return what a sweep varies in a trial, for its name.

    Args:
        overrides: Those of the trial.
        varied: The keys that differ between trials; ``without`` stands for deletions.
    """

    def axis(override: str) -> str:
        return "without" if override.startswith("~") else override.lstrip("+").partition("=")[0]

    found = [override for override in overrides if axis(override) in varied]
    return " ".join(found) or ("nothing left out" if "without" in varied else "")


def _check_place(folder: Path, home: Path) -> None:
    """Raise InputError if the folder of a trial is not one of its own in the folder of its sweep."""
    place, sweep = folder.resolve(), home.resolve()
    if sweep not in place.parents or place.relative_to(sweep).parts[0] in TAKEN:
        raise InputError(
            f"hydra.sweep.subdir: the trial would write into {folder}, which is not a folder of its own in {home}: "
            "leave it out, or write a name with ${hydra.job.num}"
        )


def job(config: DictConfig) -> float | None:
    """Run one of Hydra's jobs as a trial; return the number for its sweeper."""
    from hydra.core.hydra_config import HydraConfig

    from recx.config.compose import plain
    from recx.config.put_aside import typed
    from recx.jobs.sweep import ray

    hydra = HydraConfig.get()
    folder, overrides = Path(hydra.runtime.output_dir), typed(hydra.overrides.task)
    home, on_ray = Path(hydra.sweep.dir), "ray" in hydra.launcher
    if on_ray:
        ray.check_shared(home)
    _check_place(folder, home)
    sweep = description_of(home)
    if not sweep:
        raise InputError(f"{home}: no sweep was started here: put -m in front of the overrides instead of hydra.mode")
    context = replace(RunContext.from_environment(), name=axes_of(overrides, sweep.get("varied", ())))
    fixed = {key: sweep[key] for key in FIXED}
    runner = TrialRunner(int(hydra.job.num), overrides, folder, TrialJournal(home / "trials"), context, fixed=fixed)
    known = runner.journal.done(runner.number, overrides) is not None
    echo(f"job {runner.number}: {' '.join(overrides)}", flush=True)

    def settings() -> Mapping[str, Any]:
        if on_ray:
            ray.check_tries(hydra.launcher.ray.remote.max_retries)
        return plain(config, hydra)

    with ray.task() if on_ray else nullcontext():
        trial = runner.run(settings)
    result = f"{'failed: ' if trial.reason else ''}{trial.missing}"
    if trial.objective is not None:
        result = f"{config.objective} = {trial.objective:.4f}"
    echo(f"job {runner.number}: {result}{' (done before)' if known else f' in {trial.seconds:.1f} s'}", flush=True)
    return runner.reported(trial)
