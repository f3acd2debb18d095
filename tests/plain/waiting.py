"""Waiting for what other processes do: patiently, since a machine may be busy, and no longer than it takes."""

from __future__ import annotations

import os
import random
import socket
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

PATIENCE = 900.0
"""After so many seconds something hangs: with ten processes to each core, a study of ten seconds takes four minutes.

Tests start processes that sleep for 1000 seconds, of which they see by this limit that nobody waits for their end.
"""

Found = TypeVar("Found")


def until(found: Callable[[], Found], hopeless: Callable[[], object] = lambda: None) -> Found:
    """Return what is found as soon as it is true.

    Args:
        found: What to look for.
        hopeless: A function that returns, as soon as there is nothing to wait for any more, why; else what is false.
    """
    end = time.monotonic() + PATIENCE
    while True:
        over = hopeless() or (f"nothing happened for {PATIENCE:g} s" if time.monotonic() > end else None)
        if here := found():  # asked last: it may have come just before the end
            return here
        if over:
            raise AssertionError(over)
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Return whether a process goes on; one that has ended and is not yet buried by its parent does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it has ended since, or the system has no /proc
        return not Path("/proc/self").exists()


def is_refused(port: int) -> bool:
    """Return whether nobody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def answers(address: str) -> bool:
    """Return whether a server answers at an address, and well."""
    try:
        with urllib.request.urlopen(address, timeout=30):
            return True
    except OSError:
        return False


def free_port() -> int:
    """Return a port where nobody listens.

    It is drawn from below those that systems give to clients and to listeners at port 0, and above those that Ray gives
    to its workers: what else runs on the machine does not take it in the moment before a server of a test does.
    """
    ports = random.SystemRandom()
    while True:
        port = ports.randrange(20_000, 32_000)
        with socket.socket() as server:
            try:
                server.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
