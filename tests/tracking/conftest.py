"""MLflow servers on this machine, with and without passwords, and made-up models for tests of what trackers do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from waiting import answers, free_port, until

from recx.core.trackers import MODEL, Field, KeptModel, ModelForm, Verdict
from recx.tracking.fetched_runs import hash_of
from recx.tracking.store import open_experiment

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
    port = free_port()
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
    server = Server(f"http://127.0.0.1:{port}", process)
    try:
        until(lambda: answers(f"{server.uri}/health"), lambda: process.poll() is not None and "the server ended")
    except AssertionError as error:
        server.stop()
        raise AssertionError((folder / "log").read_text()[-2000:]) from error
    return server


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


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server that all tests share, each with experiments and models of names of its own."""
    started = _start(tmp_path_factory.mktemp("server"))
    yield started
    started.stop()


FORM = ModelForm(
    loader="recx.pyfunc",
    requirements=["numpy==2.4.6", "scipy==1.17.1"],
    inputs=[Field("user", "long"), Field("item", "string", needed=False)],
    params=[Field("k", "long", default=10), Field("at", "long")],
    outputs=[Field("user", "long"), Field("item", "string")],
    example={"user": [3, 1]},
)
FILES = ("valid/per_user.parquet", "protocol.json")


@dataclass
class Contest:
    """Wins or loses as it was told to, and remembers the files of each champion it was compared with."""

    better: bool = True
    files: tuple[str, ...] = FILES
    met: list[dict[str, str] | None] = field(default_factory=list)

    def verdict(self, champion: Path | None) -> Verdict:
        found = None if champion is None else {name: (champion / name).read_text() for name in self._of(champion)}
        self.met.append(found)
        return Verdict(self.better, "it wins" if self.better else "it loses")

    def _of(self, champion: Path) -> list[str]:
        return [name for name in self.files if (champion / name).is_file()]


def _kept(run: Path, *, full: bool = False, contest: Contest | None = None, zeros: int = 100) -> KeptModel:
    """Return a model that was kept in the folder of a run, which gets other files too."""
    folder = run / MODEL
    (folder / "part").mkdir(parents=True)
    np.save(folder / "1.npy", np.zeros(zeros))
    (folder / "part" / "value.json").write_text("[]")
    files = {name: [(folder / name).stat().st_size, hash_of(folder / name)] for name in ("1.npy", "part/value.json")}
    (folder / "model.json").write_text(json.dumps({"files": files}))
    (run / "valid").mkdir()
    (run / "valid" / "per_user.parquet").write_text(f"values of {run.name}")
    (run / "metrics.json").write_text("{}")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return KeptModel(folder, size, full, FORM, contest or Contest())


@pytest.fixture(scope="session")
def form() -> ModelForm:
    """Return how the made-up models are asked."""
    return FORM


@pytest.fixture(scope="session")
def kept() -> Callable[..., KeptModel]:
    """Return a function that keeps a model in the folder of a run."""
    return _kept


@pytest.fixture(scope="session")
def contest_of() -> type[Contest]:
    """Return the class of contests that win or lose as they are told to."""
    return Contest


@pytest.fixture
def home(here: Path) -> Path:
    """Return a folder with a new store, which is the working directory until the test ends."""
    open_experiment(f"sqlite:///{here}/outputs/mlflow.db", None, "Default", dict)
    return here
