"""Runs and sweeps on a real MLflow server on this machine: who may write, and what happens when it goes away."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import recx
from recx.cli import main as cli
from recx.core.errors import RecxError
from recx.experiment.saved_runs import load
from recx.tracking.mlflow import MLflow
from recx.tracking.store import open_client

pytestmark = pytest.mark.slow
USER, PASSWORD = "admin", "a-long-password-of-the-tests"
SMALL = ["+experiment=news", "dataset.readers=150", "dataset.articles=80", "ranker=identity"]
ROOT = Path(__file__).resolve().parents[2]
DYING = """
import os, signal, sys, time
from recx.tracking.mlflow import MLflow
with MLflow().run("dying", {}) as run:
    print(run.run_id, flush=True)
    time.sleep(60)
"""


def runs_of(uri: str, experiment: str) -> list[Any]:
    client = open_client(uri)
    found = client.get_experiment_by_name(experiment)
    return list(client.search_runs([found.experiment_id])) if found else []


def test_the_variables_of_mlflow_hold_where_the_tracker_says_nothing(
    server: Any, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "team/of the environment")
    recx.run(SMALL)
    out = capsys.readouterr().out
    assert f"address  {server.uri}/#/experiments/" in out
    assert "# MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME" in out
    assert "View run" not in out
    assert len(runs_of(server.uri, "team/of the environment")) == 1
    assert not (here / "outputs" / "mlflow.db").exists()
    recx.run([*SMALL, "tracker.experiment=team/typed"])
    assert len(runs_of(server.uri, "team/typed")) == 1
    recx.run([*SMALL, f"tracker.uri=sqlite:///{here}/own.db"])
    assert (here / "own.db").is_file()


def test_a_sweep_is_nested_on_a_server_too(server: Any, here: Path) -> None:
    recx.sweep([*SMALL, "seed=0,1", "dataset.seed=0", "name=nested", f"tracker.uri={server.uri}", "sweep_id=two"])
    roles = [run.data.tags.get("recx.role", "trial") for run in runs_of(server.uri, "nested")]
    assert sorted(roles) == ["sweep", "trial", "trial"]
    client = open_client(server.uri)
    [parent] = [run for run in runs_of(server.uri, "nested") if run.data.tags.get("recx.role")]
    files = {file.path for file in client.list_artifacts(parent.info.run_id)}
    tables = {f"{name}.{kind}" for name in ("settings", "pooled") for kind in ("csv", "json")}
    page = {f"sweep.{kind}" for kind in ("csv", "html", "json", "svg")}
    assert files == {"trials.json", "files.json", *tables, *page}


def test_a_server_with_passwords_lets_in_who_knows_them(
    start_server: Callable[..., Any],
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = here / "auth.ini"
    config.write_text(
        f"[mlflow]\ndefault_permission = READ\ndatabase_uri = sqlite:///{here}/auth.db\nadmin_username = {USER}\n"
        f"admin_password = {PASSWORD}\nauthorization_function = mlflow.server.auth:authenticate_request_basic_auth\n"
    )
    secret = {"MLFLOW_FLASK_SERVER_SECRET_KEY": "of the tests", "MLFLOW_AUTH_CONFIG_PATH": str(config)}
    closed = start_server("--app-name", "basic-auth", **secret)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", closed.uri)
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", USER)
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "wrong-password")
    monkeypatch.setattr("sys.argv", ["recx", *SMALL])
    assert cli.main() == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"the MLflow store {closed.uri} failed: " in err
    assert "wrong-password" not in err
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", PASSWORD)
    assert cli.main() == 0
    assert PASSWORD not in capsys.readouterr().out
    assert len(runs_of(closed.uri, "news")) == 1
    for path in here.rglob("*"):
        if path.is_file() and path != config:
            assert PASSWORD.encode() not in path.read_bytes(), path


def test_runs_of_a_server_are_found_without_their_folders(
    server: Any, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = [f"tracker.uri={server.uri}", "tracker.experiment=far/away"]
    for name, ranker in (("first", "identity"), ("second", "linear")):
        recx.run([*SMALL, f"ranker={ranker}", f"tracker.run_name={name}", *at])
    before = {name: load(name, uri=server.uri).metrics for name in ("first", "second")}
    shutil.rmtree(here / "outputs")
    capsys.readouterr()

    def said(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["recx", *words])
        assert cli.main() == 0
        return capsys.readouterr().out

    table = said("runs", "--uri", server.uri, "--filter", "far/away", "--csv")
    assert len(table.splitlines()) == 3
    [run_id] = [line.partition(",")[0] for line in table.splitlines() if "identity" in line]
    assert load(run_id, uri=server.uri).metrics == load("first", uri=server.uri).metrics == before["first"]
    assert "ndcg_at_5" in said("compare", "first", "second", "--uri", server.uri, "--resamples", "50")
    assert said("report", run_id, "--uri", server.uri).strip().endswith("report.html")
    assert "user" in said("explain", "second", "--worst", "2", "--uri", server.uri)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    assert "far/away" in said("runs")
    assert load("second").metrics == before["second"]


@pytest.mark.parametrize("at", ["log_metrics", "log_files"])
def test_a_server_that_goes_away_costs_the_record_but_not_the_run(
    start_server: Callable[..., Any], server: Any, here: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """It dies where figures are logged; where files are, its silence stands for that: a server takes long to start."""
    from requests import ConnectionError as Unreachable

    from recx.tracking.mlflow_run import MlflowRun

    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    going = start_server() if at == "log_metrics" else server
    original = getattr(MlflowRun, at)

    def stopped(*arguments: object, **named: object) -> None:
        if going is server:
            raise Unreachable
        going.stop()
        original(*arguments, **named)

    monkeypatch.setattr(MlflowRun, at, stopped)
    with pytest.raises(RecxError, match=r"the run itself is complete, its files are in .*outputs") as error:
        recx.run([*SMALL, f"tracker.uri={going.uri}"])
    assert "\n" not in str(error.value)
    [folder] = here.glob("outputs/2*/*")
    assert json.loads((folder / "metrics.json").read_text())["end_to_end/ndcg_at_5"] > 0
    assert (folder / "report.html").is_file()


def test_a_killed_run_does_not_stay_running(server: Any, here: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MLFLOW_TRACKING_URI": server.uri}
    process = subprocess.Popen(
        [sys.executable, "-c", DYING], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    run_id = process.stdout.readline().strip()
    process.kill()
    process.communicate()
    client = open_client(server.uri)
    assert client.get_run(run_id).info.status == "RUNNING"
    with MLflow(uri=server.uri).run("later", {}):
        pass
    assert client.get_run(run_id).info.status == "KILLED"


SWEEP = ["fold=valid", "retriever=popularity", "retriever.window=6h,24h", "name=shop", "tracker.register=shop"]


def test_the_best_run_of_an_experiment_predicts_anywhere(
    server: Any, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A folder without runs stands for another machine."""

    def predicted(folder: str, name: str) -> pd.DataFrame:
        (here / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(here / folder)
        words = ["predict", name, "--uri", server.uri, "--output", "top.parquet", "--force"]
        monkeypatch.setattr("sys.argv", ["recx", *words])
        assert cli.main() == 0
        return pd.read_parquet("top.parquet")

    (here / "here").mkdir()
    monkeypatch.chdir(here / "here")
    recx.sweep([*SMALL, *SWEEP, f"tracker.uri={server.uri}"])
    best = predicted("here", "best:shop")
    said = capfd.readouterr().err
    assert "best:shop: run " in said
    assert "the best of 1" in said
    [folder] = here.glob("here/outputs/sweeps/*/best")
    pd.testing.assert_frame_equal(predicted("there", str(folder)), best)
    shutil.rmtree(here / "here" / "outputs")
    for name in ("best:shop", "models:/shop/1", "models:/shop@champion"):
        pd.testing.assert_frame_equal(predicted(name.translate({47: "_", 58: "_"}), name), best)
