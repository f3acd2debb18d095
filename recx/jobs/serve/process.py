"""Keeps the processes of a server running, and ends them."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from recx.core import project
from recx.core.errors import InputError, RecxError
from recx.core.system.screen import echo
from recx.core.system.threads import limited_to
from recx.jobs.serve.settings import Settings

COMMAND = (sys.executable, "-m", "recx.jobs.serve.worker")
GRACE = 10.0
"""Seconds that workers have for their end."""
DEATHS, WITHIN = 5, 60.0
"""A server ends when so many workers died within so many seconds."""


@dataclass(eq=False)
class Workers:
    """The processes of a server.

    Attributes:
        settings: How the model is served.
        listener: The socket on which all of them listen.
        counters: The file of their counters, open.
        command: Starts a worker.
        running: The processes by the number of the worker.
    """

    settings: Settings
    listener: socket.socket
    counters: int
    command: Sequence[str] = COMMAND
    running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    _died: deque[float] = field(default_factory=lambda: deque(maxlen=DEATHS))
    _ready: set[int] = field(default_factory=set)

    def run(self, ready: Callable[[], None]) -> None:
        """Start all workers, call ``ready`` once they serve, and start again whoever dies, until an interrupt.

        Raises:
            InputError: The model cannot be served.
            RecxError: Workers die again and again.
        """
        with selectors.DefaultSelector() as answers:
            try:
                for worker in range(self.settings.workers):
                    self._start(worker, answers)
                told = False
                while True:
                    for key, _ in answers.select():
                        self._heard(key.data, answers, told)
                    if not told and len(self._ready) == self.settings.workers:
                        told = True
                        ready()
            finally:
                self._end()

    def _start(self, worker: int, answers: selectors.BaseSelector) -> None:
        files = {"socket": self.listener.fileno(), "counters": self.counters}
        job = {"settings": self.settings.as_json(), "worker": worker, "project": project.described(), **files}
        path = os.pathsep.join(str(Path(place).absolute()) for place in sys.path)
        with limited_to(1):  # of NumPy and the others, in the environment that it gets
            process = subprocess.Popen(
                self.command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "NUMBA_NUM_THREADS": "1", "PYTHONPATH": path},
                pass_fds=list(files.values()),
                start_new_session=True,  # Ctrl-C reaches this process only, which ends the workers properly
            )
        self.running[worker] = process
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # it has died already
            process.stdin.write(f"{json.dumps(job)}\n".encode())
        answers.register(process.stdout, selectors.EVENT_READ, worker)

    def _heard(self, worker: int, answers: selectors.BaseSelector, told: bool) -> None:
        """Take what a worker says: that it serves, that it cannot, or, by closing its output, that it has ended."""
        process = self.running[worker]
        assert process.stdout is not None
        line = process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
        if answer.get("ready"):
            self._ready.add(worker)
            return
        if answer and not told:
            raise (InputError if answer["code"] == 2 else RecxError)(answer["error"])
        answers.unregister(process.stdout)
        _close(process)
        how = answer.get("error") or _end_of(process.wait())
        self._died.append(time.monotonic())
        if not told or (len(self._died) == DEATHS and self._died[-1] - self._died[0] < WITHIN):
            raise RecxError(f"worker {worker + 1} of the server {how}: see its output above")
        echo(f"worker {worker + 1} {how}: it is started again", to=sys.stderr, flush=True)
        self._start(worker, answers)

    def _end(self) -> None:
        """End all workers, after the requests that they are answering."""
        for process in self.running.values():
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        try:
            until = time.monotonic() + GRACE
            for process in self.running.values():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, until - time.monotonic()))
        finally:
            for process in self.running.values():
                process.kill()
                _close(process)
                process.wait()


class _Terminated(BaseException):
    """The process received SIGTERM."""


@contextmanager
def until_terminated() -> Iterator[None]:
    """Leave the context when the process receives SIGTERM, which is how a service is told to end."""

    def terminated(number: int, frame: object) -> NoReturn:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, terminated)
    try:
        yield
    except _Terminated:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def counters_of(workers: int) -> Iterator[int]:
    """Yield an open file for the counters of all workers, which vanishes at the end."""
    from recx.jobs.serve.counters import size

    with tempfile.TemporaryFile() as file:
        file.truncate(size(workers))
        yield file.fileno()


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def _end_of(code: int) -> str:
    if code >= 0:
        return f"ended with the exit code {code}"
    name = next((known.name for known in signal.Signals if known == -code), f"signal {-code}")
    return f"was killed by {name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
