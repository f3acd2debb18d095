"""A real server: its workers, what happens when one dies, and its end."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE, is_alive, is_refused, until

from recx.jobs.serve.limits import Limits

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Running:
    """A server that runs.

    Attributes:
        process: The process that was started.
        port: Where it listens.
        lines: What it has printed.
    """

    process: subprocess.Popen[str]
    port: int
    lines: list[str]

    def get(self, path: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, json.loads(body) if answer.headers.get_content_subtype() == "json" else body.decode()

    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(child) for child in children]

    def until(self, condition: Callable[[], bool]) -> None:
        try:
            until(condition)
        except AssertionError as error:
            raise AssertionError(f"it did not come to that: {self.lines}") from error


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RECX_TOKEN": ""}
    command = [sys.executable, "-m", "recx", "serve", str(folder), *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder.parent, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True
    )


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Running]:
    process = start(folder, "--port", "0", *arguments)
    lines: list[str] = []
    assert process.stdout is not None
    try:
        while not lines or "serving on" not in lines[-1]:
            line = process.stdout.readline()
            assert line, lines
            lines.append(line)
        port = int(lines[-1].split(",")[0].rpartition(":")[2])
        reader = threading.Thread(target=lambda: lines.extend(process.stdout or ()))
        reader.start()
        try:
            yield Running(process, port, lines)
            process.terminate()
            process.wait(PATIENCE)
        finally:
            process.kill()
            reader.join(PATIENCE)  # its workers, which end with it, have the same output
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stdout.close()


@pytest.fixture
def run(model_folder: Path, tmp_path: Path) -> Path:
    """Return the folder of a finished run with a model."""
    shutil.copytree(model_folder, tmp_path / "run" / "model")
    (tmp_path / "run" / "metrics.json").write_text("{}", encoding="utf-8")
    return tmp_path / "run"


@pytest.mark.slow
def test_a_worker_that_dies_is_started_again_and_none_outlives_a_server_that_is_killed(run: Path) -> None:
    with serving(run, "--workers", "2") as server:
        for _ in range(10):
            assert server.get("/recommend?users=u05&k=3")[0] == 200
        answers = 'recx_requests_total{endpoint="recommend",code="200"} '
        server.until(lambda: f"{answers}10" in server.get("/metrics")[1])  # each is counted after it was sent
        before = server.workers()
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        server.until(lambda: len(server.workers()) == 2 and before[0] not in server.workers())
        assert server.get("/recommend?users=u05&k=3")[0] == 200
        server.until(lambda: "recx_worker_starts_total 3" in server.get("/metrics")[1])
        server.until(lambda: f"{answers}11" in server.get("/metrics")[1])
        workers, printed = server.workers(), "".join(server.lines)
        server.process.kill()
        server.until(lambda: not any(map(is_alive, workers)))
        server.until(lambda: is_refused(server.port))  # a process counts as dead a little before its sockets are closed
    assert printed.count("was killed by SIGKILL (out of memory?): it is started again") == 1
    assert "Traceback" not in printed


@pytest.mark.slow
@pytest.mark.parametrize(("stop", "code", "n_workers"), [(signal.SIGINT, 130, 2), (signal.SIGTERM, 0, 1)])
def test_an_open_request_is_finished_at_the_end_and_idle_connections_do_not_delay_it(
    run: Path, stop: signal.Signals, code: int, n_workers: int
) -> None:
    with serving(run, "--workers", str(n_workers)) as server:
        workers, began = server.workers(), time.monotonic()
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        for half_open in idle[:10]:
            half_open.sendall(b"GET /hea")
        idle[-1].sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        body = b'{"users":["u05"],"k":3}'
        head = b"POST /recommend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as client:
            client.sendall(head)
            assert client.recv(65536).startswith(b"HTTP/1.1 100")  # now the request is open
            client.sendall(body[:5])
            server.process.send_signal(stop)
            time.sleep(0.5)  # in which it arrives
            client.sendall(body[5:])
            answer = b"".join(iter(lambda: client.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200 OK")
        assert server.process.wait(PATIENCE) == code
        assert time.monotonic() - began < Limits().head_seconds  # after which those half open would be cut off
        assert not any(map(is_alive, workers))
        server.until(lambda: is_refused(server.port))
        for client in idle:
            client.close()
    assert "Traceback" not in "".join(server.lines)


@pytest.mark.slow
def test_a_damaged_model_is_not_served(run: Path) -> None:
    array = next((run / "model").glob("*.npy"))
    array.write_bytes(array.read_bytes()[:-1] + b"\x7f")
    process = start(run, "--port", "0", "--workers", "2")
    printed, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert f"{array.name} has changed" in printed.splitlines()[-1]
    assert "Traceback" not in printed


@pytest.mark.slow
def test_a_server_whose_workers_die_at_once_ends(run: Path) -> None:
    with serving(run) as server:
        shutil.rmtree(run / "model")
        os.kill(server.workers()[0], signal.SIGKILL)
        assert server.process.wait(PATIENCE) == 1
    assert "see its output above" in server.lines[-1]
    assert any("holds no model" in line for line in server.lines)
