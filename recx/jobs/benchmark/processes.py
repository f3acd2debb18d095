"""Runs the worker in separate processes, one per ranker: whatever one of them does, the others continue."""

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
    """Runs jobs in processes of their own.

    Attributes:
        timeout_s: Seconds that each may take.
        command: Starts a worker, which reads its job from the first line of its input.
        running: The processes that are running.
        stopped: Set when all of them are to end.
    """

    timeout_s: float
    command: Sequence[str] = (sys.executable, "-m", "recx.jobs.benchmark.worker")
    running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    stopped: Event = field(default_factory=Event)

    def outcomes(
        self, jobs: Sequence[Mapping[str, Any]], workers: int, report: Callable[[str, Mapping[str, Any]], None]
    ) -> list[dict[str, Any]]:
        """Run all jobs; an exception ends all processes.

        Args:
            jobs: Each with its ``name`` and ``folder``.
            workers: How many run at a time.
            report: Is called with the name and the outcome of every job that has ended.

        Returns:
            The outcome of each job, with a ``reason`` if it failed.
        """
        with ThreadPoolExecutor(workers) as pool:
            try:
                futures = {pool.submit(self._outcome, job): str(job["name"]) for job in jobs}
                for future in as_completed(futures):
                    report(futures[future], future.result())
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
        path = os.pathsep.join(str(Path(place).absolute()) for place in sys.path)
        with (
            (folder / LOG).open("w", encoding="utf-8") as log,
            subprocess.Popen(
                self.command,
                bufsize=0,  # so that closing the input has nothing left to write
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path},
            ) as process,
        ):
            self.running.add(process)
            if self.stopped.is_set():
                process.kill()
            try:
                code = self._exit_code(process, json.dumps(job))
            finally:
                process.kill()
                self.running.discard(process)
        return {**self._read(folder, code), "seconds": round(time.perf_counter() - start, 3)}

    def _exit_code(self, process: subprocess.Popen[bytes], job: str) -> int | None:
        """Give the worker its job and return its exit code; None if it took too long."""
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has died already; its exit code says why
            process.stdin.write(f"{job}\n".encode())
        try:
            return process.wait(self.timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def _read(self, folder: Path, code: int | None) -> dict[str, Any]:
        file, log = folder / OUTCOME, folder / LOG
        if code is None:
            return {"reason": f"timed out: it took longer than timeout_s={self.timeout_s:g}"}
        if code < 0:
            name = next((known.name for known in signal.Signals if known == -code), f"signal {-code}")
            return {"reason": f"killed by {name}{' (out of memory?)' if name == 'SIGKILL' else ''}"}
        if not file.is_file():
            output = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            return {"reason": f"its process ended with the exit code {code}: {output[-1] if output else 'no output'}"}
        if not log.stat().st_size:
            log.unlink()
        return dict(json.loads(file.read_text(encoding="utf-8")))
