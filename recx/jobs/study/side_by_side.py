"""Runs the jobs of a study side by side: in processes of this machine, each of which runs many, or on a Ray cluster."""

from __future__ import annotations

import gc
import os
import signal
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from recx.core.system.threads import POOLS, cores

DIED = "its process was killed or crashed, perhaps for lack of memory"


class Job(Protocol):
    """A job, which can be sent to another process."""

    def __call__(self) -> Any:
        """Do the job; return its result."""

    def lost(self, why: str) -> Any:
        """Return the result if its process died."""


Ended = Iterator[tuple[Job, Any]]
"""Jobs that have ended, each with its result."""


@dataclass(frozen=True)
class Workers:
    """How many jobs run at a time, and where.

    Attributes:
        jobs: How many; 1: in this process, one after the other.
        ray: Arguments of ``ray.init``, if they run on a Ray cluster, which decides how many; else None.
    """

    jobs: int
    ray: Mapping[str, Any] | None = None

    def run(self, jobs: Iterable[Job], ended: Callable[[Job, Any], Iterable[Job]]) -> None:
        """Run all jobs; what stops this process stops them.

        A process that dies takes no other job with it: those that ran when one died run again, each alone, and the one
        that dies alone is lost.

        Args:
            jobs: The jobs.
            ended: Is called with every job that has ended and its result, and returns the jobs that it has held up.
        """
        pending = deque(jobs)
        for job, result in self._results(pending):
            pending.extend(ended(job, result))

    def _results(self, pending: deque[Job]) -> Ended:
        if self.ray is not None:
            yield from _on_ray(self.ray, pending)
        while pending:
            if self.jobs == 1:
                job = pending.popleft()
                yield job, job()
                continue
            with _processes(self.jobs) as pool:
                suspects = yield from _until_one_dies(pool, pending, self.jobs)
            yield from _alone(suspects)


def workers(jobs: int | None, ray: Mapping[str, Any] | None = None) -> Workers:
    """Return the workers of a study.

    Args:
        jobs: How many jobs run at a time; None: one for each core.
        ray: Arguments of ``ray.init``; None: this machine.
    """
    return Workers(cores() if jobs is None else jobs, ray)


def _until_one_dies(pool: Any, pending: deque[Job], at_once: int) -> Generator[tuple[Job, Any], None, list[Job]]:
    """Yield the results of pending jobs; return those that were running when a process died, [] if none did."""
    from concurrent.futures import FIRST_COMPLETED, wait

    from joblib.externals.loky.process_executor import BrokenProcessPool

    running: dict[Any, Job] = {}
    while pending or running:
        while pending and len(running) < at_once:
            job = pending.popleft()
            running[pool.submit(job)] = job
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            try:
                result = future.result()
            except BrokenProcessPool:
                return list(running.values())
            yield running.pop(future), result
    return []


def _alone(suspects: Sequence[Job]) -> Ended:
    for job in suspects:
        died = [job]
        if len(suspects) > 1:
            with _processes(1) as pool:
                died = yield from _until_one_dies(pool, deque([job]), 1)
        if died:
            yield job, job.lost(DIED)


@contextmanager
def _processes(number: int) -> Iterator[Any]:
    """Yield that many new processes; an exception inside ends them at once.

    They import nothing from the current folder, which may be a stranger's, share the cores, and leave Ctrl-C to this
    process. One that is idle ends by itself, also if this process was killed.
    """
    from joblib.externals.loky.process_executor import ProcessPoolExecutor

    shared = {} if os.environ.get(POOLS[0]) else dict.fromkeys(POOLS, str(max(1, cores() // number)))
    # An idle process that ends while a job is given is replaced; one that died of its job is told by its exception.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
    pool = ProcessPoolExecutor(number, timeout=30, initializer=_prepare, env={**shared, "PYTHONSAFEPATH": "recx"})
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=True, kill_workers=True)
        raise
    pool.shutdown(wait=True, kill_workers=False)


def _prepare() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(100_000, 20, 20)  # as on the command line: what is imported and composed is no garbage


def _on_ray(init: Mapping[str, Any], pending: deque[Job]) -> Ended:
    from recx.core.errors import RecxError
    from recx.experiment.engine.cluster import cluster, first_line

    with cluster(init, "ray"):
        import ray
        from ray.exceptions import NodeDiedError, OutOfMemoryError, RayError, RayTaskError, WorkerCrashedError

        task: Any = ray.remote(_as_task).options(num_cpus=1, max_retries=1)
        running: dict[Any, Job] = {}
        while pending or running:
            while pending:
                job = pending.popleft()
                running[task.remote(job)] = job
            [done], _ = ray.wait([*running])
            job = running.pop(done)
            try:
                result = ray.get(done)
            except (NodeDiedError, OutOfMemoryError, WorkerCrashedError):
                result = job.lost(DIED)
            except RayTaskError as error:
                raise error.cause from error
            except RayError as error:
                raise RecxError(f"Ray stopped the study: {first_line(error)} (resume runs what is missing)") from error
            yield job, result


def _as_task(job: Job) -> Any:
    """Do a job inside a Ray task."""
    from recx.jobs.sweep.ray import task

    with task():
        return job()
