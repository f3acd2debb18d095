"""One trial of a sweep: run, or answered from what an earlier start of the sweep has written down."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.errors import RecxError
from recx.sweep.book import Book, Trial
from recx.sweep.plan import begun_with

if TYPE_CHECKING:
    from omegaconf import DictConfig

PARENT, SWEEP, RUN_NAME = "RECX_PARENT", "RECX_SWEEP", "RECX_RUN_NAME"
"""What a tracker finds in a trial's environment: the parent run's id, the sweep's id, what to call the trial's run."""


@dataclass(frozen=True)
class Attempt:
    """What is to be run, where its files go (whole: all that a run writes), and where its outcome is written down."""

    number: int
    words: Sequence[str]
    folder: Path
    book: Book
    whole: bool = False

    def run(self, config: Callable[[], Mapping[str, Any]]) -> Trial:
        """Return the trial's outcome, run now unless it has been done already.

        Whatever goes wrong with it is its outcome, so that the other trials go on; only what stops the process
        (Ctrl-C, SIGTERM) is raised.
        """
        done = self.book.done(self.words)
        if done is None:
            start = time.perf_counter()
            done = Trial(self.number, tuple(self.words), str(self.folder))
            try:
                objective, cached = self._launch(config())
                done = replace(done, objective=objective, cached=cached)
            except Exception as error:
                done = replace(done, reason=reason(error))
            done = replace(done, seconds=round(time.perf_counter() - start, 3))
            self.book.write(done)
        return done

    def _launch(self, config: Mapping[str, Any]) -> tuple[float, int]:
        from recx.launch import launch, objective

        result = launch(config, self.folder, trial=not self.whole)
        return objective(result, config["objective"]), int(result.metrics.get("data/cache_hits", 0))


def reason(error: Exception) -> str:
    """Return why a trial failed, in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, RecxError) else f"{type(error).__name__}: {text}"


def job(config: DictConfig) -> float | None:
    """Run one of Hydra's jobs as a trial; return the objective, None where the trial failed."""
    from hydra.core.hydra_config import HydraConfig

    from recx.compose import plain

    hydra = HydraConfig.get()
    folder, words = Path(hydra.runtime.output_dir), list(hydra.overrides.task)
    attempt = Attempt(int(hydra.job.num), words, folder, Book(Path(hydra.sweep.dir) / "trials"))
    known = attempt.book.done(words) is not None
    print(f"job {attempt.number}: {' '.join(words)}", flush=True)
    same = begun_with(Path(hydra.sweep.dir))
    with environment({RUN_NAME: " ".join(word for word in words if word not in same)}):
        trial = attempt.run(lambda: plain(config))
    said = f"failed: {trial.reason}" if trial.objective is None else f"{config.objective} = {trial.objective:.4f}"
    print(f"job {attempt.number}: {said}{' (done before)' if known else f' in {trial.seconds:.1f} s'}", flush=True)
    return trial.objective


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables inside; one with an empty value is left as it is."""
    wanted = {name: value for name, value in values.items() if value}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
