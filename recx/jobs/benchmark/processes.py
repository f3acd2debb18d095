"""Runs the worker in processes of their own, one a ranker: whatever one of them does, the others go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from recx.jobs.benchmark.worker import LOG, OUTCOME


@dataclass(frozen=True, eq=False)
class Processes:
    """command: starts a worker, which reads its job from its first line. timeout_s: a worker's."""

    timeout_s: float
    command: Sequence[str] = (sys.executable, "-m", "recx.jobs.benchmark.worker")
    running: set[subprocess.Popen[str]] = field(default_factory=set)
    stopped: Event = field(default_factory=Event)

    def outcomes(
        self, jobs: Sequence[Mapping[str, Any]], workers: int, tell: Callable[[str, Mapping[str, Any]], None]
    ) -> list[dict[str, Any]]:
        """Return what came of each job, in order, so many at a time; whatever stops this ends all of them.

        An outcome has a ``reason`` where the job failed. tell: is given a job's name and outcome once it has ended.
        """
        with ThreadPoolExecutor(workers) as pool:
            try:
                futures = {pool.submit(self._outcome, job): str(job["name"]) for job in jobs}
                for future in as_completed(futures):
                    tell(futures[future], future.result())
                return [future.result() for future in futures]
            except BaseException:
                self.stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                for process in list(self.running):
                    process.kill()
                raise

    def _outcome(self, job: Mapping[str, Any]) -> dict[str, Any]:
        folder, start = Path(job["folder"]), time.perf_counter()
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(place).absolute()) for place in sys.path)}
        with (folder / LOG).open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=log, stderr=log, text=True, env=environment
            )
            self.running.add(process)
            if self.stopped.is_set():
                process.kill()
            try:
                code = self._ended(process, json.dumps(job))
            finally:
                process.kill()
                process.wait()
                _close(process)
                self.running.discard(process)
        outcome = self._read(folder, code)
        return {**outcome, "seconds": round(time.perf_counter() - start, 3)}

    def _ended(self, process: subprocess.Popen[str], job: str) -> int | None:
        """Give the worker its job and return its exit code; None: it took too long."""
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has died already; its exit code says of what
            process.stdin.write(f"{job}\n")
            process.stdin.flush()
        try:
            return process.wait(self.timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def _read(self, folder: Path, code: int | None) -> dict[str, Any]:
        file, log = folder / OUTCOME, folder / LOG
        if code is None:
            return {"reason": f"timed out: it took longer than timeout_s={self.timeout_s:g}"}
        if code < 0:
            return {"reason": f"killed by {_signal(-code)}{' (out of memory?)' if -code == signal.SIGKILL else ''}"}
        if not file.is_file():
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            return {"reason": f"its process ended with the exit code {code}: {said[-1] if said else 'without a word'}"}
        if not log.stat().st_size:
            log.unlink()
        return dict(json.loads(file.read_text(encoding="utf-8")))


def _close(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"the signal {number}"
