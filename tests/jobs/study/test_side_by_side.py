"""Jobs in processes: they all end, in whatever way one of them does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE

from recx.jobs.study.side_by_side import DIED, Job, Workers, workers


@dataclass(frozen=True)
class Square:
    """Returns the square of a number and its process; kills that process on what it must not meet."""

    number: int
    deadly: tuple[int, ...] = ()
    once: Path | None = None
    seconds: float = 0.0

    def __call__(self) -> tuple[int, int]:
        time.sleep(self.seconds)
        if self.number in self.deadly and not (self.once and self.once.exists()):
            if self.once is not None:
                self.once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.number**2, os.getpid()

    def lost(self, why: str) -> tuple[str, int]:
        return why, 0


def run(of: Workers, jobs: list[Any], more: dict[int, list[Any]] | None = None) -> dict[int, Any]:
    """Return the result of each job by its number; some hold up others."""
    found: dict[int, Any] = {}

    def ended(job: Any, result: Any) -> Iterator[Job]:
        assert job.number not in found, "it ran twice"
        found[job.number] = result
        yield from (more or {}).get(job.number, [])

    of.run(jobs, ended)
    return found


def test_one_job_at_a_time_runs_in_this_process() -> None:
    found = run(Workers(1), [Square(2), Square(3)], {3: [Square(4)]})

    assert list(found) == [2, 3, 4]
    assert found == {number: (number**2, os.getpid()) for number in (2, 3, 4)}


def test_there_is_a_job_for_each_core() -> None:
    from recx.core.system.threads import cores

    assert workers(None).jobs == cores()
    assert workers(3).jobs == 3


def test_a_process_runs_many_jobs_and_those_that_others_held_up() -> None:
    found = run(Workers(2), [Square(number) for number in range(6)], {5: [Square(6)], 6: [Square(7)]})

    assert {number: one[0] for number, one in found.items()} == {number: number**2 for number in range(8)}
    assert len({one[1] for one in found.values()} - {os.getpid()}) <= 2


def test_only_the_job_that_kills_its_process_is_lost(tmp_path: Path) -> None:
    jobs = [Square(5, deadly=(5,), once=tmp_path / "once"), Square(6, seconds=1.0)]  # 5 dies beside 6, and not alone
    jobs += [Square(number, deadly=(1,), seconds=0.05) for number in range(4)]

    found = run(Workers(2), jobs)

    assert found.pop(1) == (DIED, 0)
    assert {number: one[0] for number, one in found.items()} == {number: number**2 for number in (0, 2, 3, 5, 6)}


def test_an_error_ends_all_processes_at_once() -> None:
    def ended(job: Any, result: Any) -> list[Job]:
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        Workers(2).run([Square(1), Square(2, seconds=2 * PATIENCE)], ended)
    assert time.monotonic() - start < PATIENCE


ON_RAY = """
import os, signal
from dataclasses import dataclass
from recx.jobs.study.side_by_side import workers

@dataclass(frozen=True)
class Square:
    number: int

    def __call__(self):
        if self.number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.number**2

    def lost(self, why):
        return why

def ended(job, result):
    print(job.number, result)
    return [Square(5)] if job.number == 4 else []

init = {"address": "local", "num_cpus": 2, "include_dashboard": False, "log_to_driver": False}
workers(None, init).run([Square(2), Square(3), Square(4)], ended)
"""
"""In a process of its own: Ray reads its settings when it is imported, which another test may have done."""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_ray_runs_the_jobs_and_survives_one_that_kills_its_worker(tmp_path: Path) -> None:
    root = str(Path(__file__).resolve().parents[3])
    known = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment = {**known, "PYTHONPATH": root, "RAY_AUTH_TOKEN": "0" * 64}
    done = subprocess.run(
        [sys.executable, "-c", ON_RAY], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line[:1].isdigit())
    assert said == {"2": "4", "3": DIED, "4": "16", "5": "25"}, done.stderr[-2000:]
