"""Models on a real MLflow server, served by MLflow in a process of its own, and processes that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from waiting import PATIENCE, answers, free_port, until

import recx
from recx.experiment.model.model import Model
from recx.tracking.found_runs import find_run
from recx.tracking.mlflow import MLflow
from recx.tracking.mlflow_model import TAG
from recx.tracking.registry import CHAMPION, COMPARED, WAITING
from recx.tracking.store import open_client

pytestmark = pytest.mark.slow
CHAIN = ["+experiment=table", "retriever=popularity", "ranker=identity", "n_candidates=8", "dataset.path=clicks.csv"]
REGISTERING = """
import sys
from pathlib import Path
import numpy as np
from recx.core.trackers import Field, KeptModel, ModelForm, Verdict
from recx.tracking.mlflow import MLflow

class Contest:
    files = ()
    def verdict(self, champion):
        print("comparing", flush=True)
        sys.stdin.readline()
        return Verdict(True, "it wins")

folder = Path(sys.argv[1], "model")
folder.mkdir(parents=True)
(folder / "model.json").write_text("{}")
fields = [Field("user", "long")]
form = ModelForm("recx.pyfunc", ["numpy==2.4.6"], fields, [], fields, {"user": [1]})
with MLflow(uri=sys.argv[2], register="race").run("race", {}) as run:
    run.log_files(folder.parent)
    run.log_model(KeptModel(folder, 2, False, form, Contest()))
print("done", flush=True)
"""


@pytest.fixture
def clicks(here: Path) -> Path:
    """Return the working directory, with a table of clicks."""
    rng = np.random.default_rng(0)
    rows = {"user": np.repeat(np.arange(30), 5), "item": rng.integers(0, 20, 150)}
    pd.DataFrame({**rows, "time": 1_600_000_000_000 + np.arange(150) * 60_000}).to_csv("clicks.csv", index=False)
    return here


@pytest.fixture
def serve(here: Path) -> Iterator[Callable[[str, str], str]]:
    """Return a function that serves a model of a store by MLflow, and returns its address."""
    started: list[subprocess.Popen[bytes]] = []

    def start(model: str, store: str) -> str:
        port = free_port()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # MLflow starts uvicorn by its name
        words = [
            "-m",
            "mlflow",
            "models",
            "serve",
            "--env-manager",
            "local",
            "-m",
            model,
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
        ]
        with (here / "serve.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *words],
                env={**os.environ, "PATH": path, "MLFLOW_TRACKING_URI": store, "MLFLOW_DISABLE_TELEMETRY": "true"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        started.append(process)
        server = f"http://127.0.0.1:{port}"
        try:
            until(lambda: answers(f"{server}/ping"), lambda: process.poll() is not None and "the server ended")
        except AssertionError as error:
            raise AssertionError((here / "serve.log").read_text()[-2000:]) from error
        return f"{server}/invocations"

    yield start
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def ask(address: str, content: Any) -> tuple[int, Any]:
    """Return the status and the answer."""
    body = json.dumps(content).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


@pytest.mark.parametrize("remote", [True, False])
def test_a_run_s_model_is_served_by_mlflow(
    request: pytest.FixtureRequest, clicks: Path, serve: Callable[[str, str], str], remote: bool
) -> None:
    store = request.getfixturevalue("server").uri if remote else f"sqlite:///{clicks}/outputs/mlflow.db"
    name = f"clicks-{remote}"
    recx.run(
        [
            *CHAIN,
            "hydra.run.dir=outputs/run",
            "tracker=mlflow",
            f"tracker.uri={store}",
            f"tracker.register={name}",
            "name=served",
        ]
    )
    client = open_client(store)
    [found] = client.search_logged_models([client.get_experiment_by_name("served").experiment_id])
    [registered] = client.search_registered_models(f"name = '{name}'")
    assert (str(found.status), found.model_type) == ("READY", "recommender")
    assert {"end_to_end/ndcg_at_5", "time/total"} <= {metric.key for metric in found.metrics}
    assert [version.run_id for version in registered.latest_versions] == [found.source_run_id]
    assert registered.aliases == {}
    assert json.loads(found.tags["mlflow.modelVersions"])[0]["name"] == name
    model = Model.of(clicks / "outputs" / "run" / "model")
    url = serve(f"models:/{name}/1" if remote else f"runs:/{found.source_run_id}/model", store)
    status, answer = ask(url, {"dataframe_split": {"columns": ["user"], "data": [[7], [3]]}, "params": {"k": 3}})
    expected = model.recommend([7, 3], k=3)
    assert status == 200
    assert answer["predictions"] == json.loads(expected.to_json(orient="records", double_precision=15))
    status, answer = ask(url, {"dataframe_records": [{"user": 1, "time": 5}]})
    assert (status, answer["error_code"]) == (400, "INVALID_PARAMETER_VALUE")
    assert "time is that of an event, which needs the column item too" in answer["message"]
    assert "stack_trace" not in answer


def test_a_model_comes_back_from_a_server_byte_by_byte(server: Any, clicks: Path) -> None:
    recx.run([*CHAIN, "hydra.run.dir=outputs/run", "tracker=mlflow", f"tracker.uri={server.uri}", "name=fetched"])
    (clicks / "outputs").rename(clicks / "gone")
    client = open_client(server.uri)
    [run] = client.search_runs([client.get_experiment_by_name("fetched").experiment_id])
    found = find_run(server.uri, run.info.run_id)
    assert found is not None
    from recx.tracking.fetched_models import fetch_model

    folder = fetch_model(server.uri, found, clicks / "fetched") / "model"
    theirs = clicks / "gone" / "run" / "model"
    files = sorted(path.relative_to(theirs) for path in theirs.rglob("*") if path.is_file())
    assert sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file()) == files
    assert all((folder / name).read_bytes() == (theirs / name).read_bytes() for name in files)
    expected = Model.of(theirs).recommend(k=5)
    pd.testing.assert_frame_equal(Model.of(folder).recommend(k=5), expected, check_exact=True)


def start(folder: str, store: str) -> subprocess.Popen[bytes]:
    """Start a process that registers a model, and stops where it compares it until it reads a line."""
    words = [sys.executable, "-W", "ignore", "-c", REGISTERING, folder, store]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


@pytest.mark.parametrize("remote", [True, False])
def test_processes_that_register_at_once_and_one_that_is_killed(
    request: pytest.FixtureRequest, here: Path, remote: bool, kept: Any, contest_of: Any
) -> None:
    if remote:
        store = request.getfixturevalue("server").uri
    else:
        store = f"sqlite:///{here}/outputs/mlflow.db"
        with MLflow().run("race", {}):
            pass
    killed = start("killed", store)
    assert killed.stdout is not None
    assert killed.stdout.readline() == b"comparing\n"
    killed.kill()
    killed.communicate()
    both = [start(name, store) for name in ("one", "two")]
    for process in both:  # which of them is the first is not known
        assert process.stdin is not None
        process.stdin.write(b"\n" * 10)
        process.stdin.flush()
    for process in both:
        out, _ = process.communicate(timeout=PATIENCE)
        assert out.endswith(b"done\n")
        assert process.returncode == 0
    client = open_client(store)
    versions = {int(one.version): one for one in client.search_model_versions("name = 'race'")}
    assert sorted(versions) == [1, 2, 3]
    assert str(client.get_registered_model("race").aliases[CHAMPION]) in ("2", "3")
    texts = [versions[number].tags[COMPARED] for number in (1, 2, 3)]
    assert texts[0] == "never compared with the champion, since its process ended before"
    assert WAITING not in texts
    statuses = [client.get_run(versions[number].run_id).info.status for number in (1, 2, 3)]
    assert statuses == ["KILLED", "FINISHED", "FINISHED"]
    model = kept(here / "third", contest=contest_of(better=False))
    with MLflow(uri=store, register="race").run("race", {}) as run:
        run.log_files(here / "third")
        run.log_model(model)
    assert TAG in client.get_run(run.run_id).data.tags
    assert client.get_model_version("race", "4").tags[COMPARED].endswith("it loses")
