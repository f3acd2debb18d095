"""One trial of a sweep: run, or answered from what an earlier start of the sweep has written down."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.config import factory
from recx.core.errors import InputError, reason
from recx.core.pruning import FirstFit, Pruned, watched
from recx.core.run_context import ALONE, RunContext
from recx.core.system.locks import turn
from recx.jobs.sweep.journal import Trial, TrialJournal, begun_in
from recx.jobs.sweep.plan import FIXED

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from recx.core.protocols import Pruner


@dataclass(frozen=True)
class TrialRunner:
    """What is to be run, where its files go (whole: all that a run writes), and where its outcome is written down.

    context: what its tracked run belongs to.
    fixed: settings that its configuration must have, lest it be compared with trials that are judged otherwise.
    """

    number: int
    words: Sequence[str]
    folder: Path
    book: TrialJournal
    context: RunContext = ALONE
    whole: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def run(self, config: Callable[[], Mapping[str, Any]]) -> Trial:
        """Return the trial's outcome, run now unless it has been done already.

        Whatever goes wrong with it is its outcome, so that the other trials go on; only what stops the process
        (Ctrl-C, SIGTERM) is raised.
        """
        with turn(self.folder.with_name(f".{self.folder.name}.lock")):  # a worker may outlive a sweep that was killed
            done = self.book.done(self.number, self.words)
            if done is None:
                shutil.rmtree(self.folder, ignore_errors=True)  # another trial's, or half of this one's
                start = time.perf_counter()
                done = self._outcome(config)
                done = replace(done, seconds=round(time.perf_counter() - start, 3))
                self.book.write(done)
        return done

    def _outcome(self, config: Callable[[], Mapping[str, Any]]) -> Trial:
        from recx.jobs.launch import launch, objective

        fit = FirstFit(lambda course: False)
        trial = Trial(self.number, tuple(self.words), str(self.folder), course=fit.course)
        try:
            settings = config()
            for key, value in self.fixed.items():
                if settings[key] != value:
                    raise InputError(f"{key}={settings[key]}: the trials of this sweep are compared by {key}={value}")
            if settings["pruner"] and not self.whole:
                fit.prunes = self._pruned_by(factory.build(settings["pruner"], "pruner"))
            with watched(fit):
                result = launch(settings, self.folder, trial=not self.whole, context=self.context)
            cached = int(result.metrics.get("data/cache_hits", 0))
            return replace(trial, objective=objective(result, settings["objective"]), cached=cached)
        except Pruned:
            return replace(trial, pruned=max(fit.course))
        except Exception as error:
            return replace(trial, reason=reason(error))

    def _pruned_by(self, pruner: Pruner) -> Callable[[Mapping[int, float]], bool]:
        """Return what asks the pruner; it is told of the trials before this one that have anything to compare."""

        def prunes(course: Mapping[int, float]) -> bool:
            others = [trial.course for trial in self.book.before(self.number) if trial.course]
            return pruner.prune(course, others)

        return prunes

    def worth(self, trial: Trial) -> float | None:
        """Return the number that a sweeper is told of a trial, None where it failed.

        A pruned one has no objective, and Hydra's sweepers take nothing for an answer but a number: it gets the least
        of those before it. So it ranks with the worst, and its rank is all that TPE looks at.
        """
        if trial.pruned is None:
            return trial.objective
        known = [other.objective for other in self.book.before(trial.number) if other.objective is not None]
        return min(known, default=0.0)


def job(config: DictConfig) -> float | None:
    """Run one of Hydra's jobs as a trial; return what its sweeper is told."""
    from hydra.core.hydra_config import HydraConfig

    from recx.config.compose import plain
    from recx.jobs.sweep import ray

    hydra = HydraConfig.get()
    os.chdir(hydra.runtime.cwd)  # a cluster's workers are started elsewhere
    folder, words = Path(hydra.runtime.output_dir), list(hydra.overrides.task)
    home, on_ray = Path(hydra.sweep.dir), "ray" in hydra.launcher
    if on_ray:
        ray.check_shared(home)
    begun = begun_in(home)
    if not begun:
        raise InputError(f"{home}: no sweep was begun here: put -m in front of the words, not hydra.mode")
    varied = " ".join(word for word in words if word not in begun["words"])
    context = replace(RunContext.from_environment(), name=varied)
    fixed = {key: begun[key] for key in FIXED}
    attempt = TrialRunner(int(hydra.job.num), words, folder, TrialJournal(home / "trials"), context, fixed=fixed)
    known = attempt.book.done(attempt.number, words) is not None
    print(f"job {attempt.number}: {' '.join(words)}", flush=True)

    def settings() -> Mapping[str, Any]:
        if on_ray:
            ray.check_tries(hydra.launcher.ray.remote.max_retries)
        return plain(config)

    with ray.task() if on_ray else nullcontext():
        trial = attempt.run(settings)
    said = f"{config.objective} = {trial.objective:.4f}" if trial.objective is not None else trial.lacks
    said = f"failed: {said}" if trial.reason else said
    print(f"job {attempt.number}: {said}{' (done before)' if known else f' in {trial.seconds:.1f} s'}", flush=True)
    return attempt.worth(trial)
