"""Another program as a child of this process: it ends in time, and with it all that it has started."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

TICK = 0.05
"""Seconds between two looks at a child that says nothing."""
GRACE = 5.0
"""Seconds that a program has to end when it is asked to, before it is killed."""
LINES, WIDTH = 20, 300
"""The last lines of its output that are held, and the length to which each is cut."""


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    Attributes:
        code: Its exit code; negative: the number of the signal that killed it; None: it took too long.
        lines: The last lines of its output.
    """

    code: int | None
    lines: tuple[str, ...]


@dataclass
class _Output:
    """The last lines of what a program writes, also where it writes one line over another, as a progress bar does."""

    show: Callable[[str], None]
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES))
    rest: bytes = b""

    def add(self, piece: bytes) -> None:
        *whole, rest = re.split(rb"[\r\n]+", self.rest + piece)
        self.rest = rest[:WIDTH]  # a line without end takes no memory
        for line in whole[-LINES:]:
            self._line(line)

    def end(self) -> tuple[str, ...]:
        self._line(self.rest)
        return tuple(self.lines)

    def _line(self, line: bytes) -> None:
        text = line[:WIDTH].decode("utf-8", "replace").strip()
        if text:
            self.lines.append(text)
            self.show(text)


def run(
    command: Sequence[str], environment: Mapping[str, str], seconds: float | None, show: Callable[[str], None]
) -> Ended:
    """Run a program without a shell, and wait for it; whatever it started ends with it, and with this process's stop.

    Args:
        command: The program and its arguments.
        environment: Its environment variables.
        seconds: The longest time that it may take; None: any.
        show: Is called with each line that it writes.

    Raises:
        OSError: It cannot be started.
    """
    latest = None if seconds is None else time.monotonic() + seconds
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        env=dict(environment),
        start_new_session=True,  # a process group of its own
    )
    output, in_time = _Output(show), True
    assert child.stdout is not None
    try:
        os.set_blocking(child.stdout.fileno(), False)
        with selectors.DefaultSelector() as waiting:
            waiting.register(child.stdout, selectors.EVENT_READ)
            while not _has_ended(child.pid):
                in_time = latest is None or time.monotonic() < latest
                if not in_time:
                    break
                if not waiting.get_map():
                    time.sleep(TICK)
                elif waiting.select(TICK) and _read(child.stdout, output) == b"":
                    waiting.unregister(child.stdout)
    finally:
        code = _end(child)
        while _read(child.stdout, output):
            pass
        child.stdout.close()
    return Ended(code if in_time else None, output.end())


def _read(stream: IO[bytes], output: _Output) -> bytes | None:
    """Add what can be read now, and return it: None where nothing can yet, empty where nothing more will."""
    piece: bytes | None = stream.read(1 << 16)
    output.add(piece or b"")
    return piece


def _has_ended(pid: int) -> bool:
    """Return whether a child has ended; it stays known, so that the number of its group means nothing else."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(child: subprocess.Popen[bytes]) -> int:
    """End a child with its process group, by force after a while, and return its exit code."""
    latest = time.monotonic() + GRACE
    if not _has_ended(child.pid):
        _signal(child.pid, signal.SIGTERM)
    while not _has_ended(child.pid) and time.monotonic() < latest:
        time.sleep(TICK)
    _signal(child.pid, signal.SIGKILL)  # also what a child that has ended left behind
    return child.wait()


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS permits none to a child that has ended
        os.killpg(group, number)
