"""MLflow servers on this machine, with and without passwords."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PATIENCE = 90
QUIET = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}


@dataclass(frozen=True)
class Server:
    """A server that was started.

    Attributes:
        uri: Its address.
        process: Its process.
    """

    uri: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """End it with all its workers, at once."""
        os.killpg(self.process.pid, 9)
        self.process.wait()


def _start(folder: Path, *flags: str, **variables: str) -> Server:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    stores = ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "files")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "mlflow", "server", *place, *stores, *flags],
            cwd=folder,
            env={**os.environ, **QUIET, **variables},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    server, end = Server(f"http://127.0.0.1:{port}", process), time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.uri}/health", timeout=5):
                return server
        except OSError:
            time.sleep(0.2)
    server.stop()
    raise AssertionError((folder / "log").read_text()[-2000:])


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server, which ends with the test."""
    started: list[Server] = []

    def start(*flags: str, **variables: str) -> Server:
        folder = tmp_path / f"server{len(started)}"
        folder.mkdir()
        started.append(_start(folder, *flags, **variables))
        return started[-1]

    yield start
    for server in started:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server that the tests of a module share."""
    started = _start(tmp_path_factory.mktemp("server"))
    yield started
    started.stop()
