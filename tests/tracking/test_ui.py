"""``python -m recx ui``: invalid arguments, and a real start and stop."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE, free_port, is_refused, until

from recx.core.errors import InputError, RecxError
from recx.tracking import store
from recx.tracking.ui import open_ui


def test_no_store_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"there are no runs in .*mlflow\.db yet"):
        open_ui()
    assert not list(tmp_path.iterdir())


def test_a_server_has_its_own_pages() -> None:
    with pytest.raises(InputError, match="open http://host:5000 in a browser"):
        open_ui(uri="http://host:5000")


def test_a_port_in_use(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").touch()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 is in use"):
            open_ui(uri=f"sqlite:///{tmp_path}/mlflow.db", port=port)


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    store.open_experiment(uri, tmp_path / "artifacts", "news", lambda tags: {})
    with pytest.raises(InputError, match=r"01234567: .*mlflow.db has no run of this id or name"):
        open_ui("01234567", uri)
    with pytest.raises(InputError, match="runs are looked up in sqlite stores only"):
        open_ui("01234567", "postgresql://db/mlflow")


def test_the_store_of_the_environment_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///theirs.db")
    with pytest.raises(InputError, match=r"there are no runs in .*theirs\.db yet"):
        open_ui()


def test_no_such_port(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").touch()
    with pytest.raises(InputError, match="--port 70000: it must be a whole number from 1 to 65535"):
        open_ui(uri=f"sqlite:///{tmp_path}/mlflow.db", port=70_000)


def test_the_server_listens_here_only_and_no_argument_holds_the_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: dict[str, Any] = {}

    def start(command: list[str], env: dict[str, str], **_: object) -> None:
        started.update(command=command, env=env)
        raise RecxError("enough")

    monkeypatch.setattr("recx.tracking.ui.subprocess.Popen", start)
    with pytest.raises(RecxError, match="enough"):
        open_ui(uri="postgresql://me:hunter2@db/mlflow", port=5999)
    command = started["command"]
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert not [word for word in command if "hunter2" in word]
    assert started["env"]["MLFLOW_BACKEND_STORE_URI"] == "postgresql://me:hunter2@db/mlflow"
    assert "postgresql://me:***@db/mlflow" in capsys.readouterr().out


SERVER = """
import sys
from http.server import HTTPServer, SimpleHTTPRequestHandler
HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), SimpleHTTPRequestHandler).serve_forever()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("stop", "is_mlflow"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_it_serves_until_it_is_stopped(tmp_path: Path, stop: signal.Signals, is_mlflow: bool) -> None:
    """MLflow's server takes seconds to start, so that one of the two is a small one in its place."""
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    client, experiment = store.open_experiment(uri, tmp_path / "artifacts", "news", lambda tags: {})
    run_id = client.create_run(experiment).info.run_id
    port = free_port()
    program = f"from recx.tracking.ui import open_ui; open_ui({run_id[:8]!r}, {uri!r}, {port})"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    if not is_mlflow:
        (tmp_path / "site" / "mlflow").mkdir(parents=True)
        (tmp_path / "site" / "mlflow" / "__init__.py").touch()
        (tmp_path / "site" / "mlflow" / "__main__.py").write_text(SERVER)
        environment["PYTHONPATH"] += f"{os.pathsep}{tmp_path / 'site'}"
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True
    )
    assert process.stdout is not None
    line = ""
    while f":{port}/#/" not in line:
        line = process.stdout.readline()
        assert line, "the server ended before it printed its address"
    assert f":{port}/#/experiments/{experiment}/runs/{run_id}?workflowType=machine_learning" in line
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as page:
        assert page.status == 200
    process.send_signal(stop)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "Traceback" not in errors
    until(lambda: is_refused(port))
