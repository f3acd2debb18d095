"""Models of MLflow: what is logged, what stays in the run's folder, and that MLflow's global state is left alone."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from recx.core.errors import RecxError
from recx.core.progress import shown_on
from recx.core.trackers import KeptModel, ModelForm, ModelRun
from recx.tracking.fetched_runs import hash_of
from recx.tracking.mlflow import MLflow
from recx.tracking.mlflow_model import TAG
from recx.tracking.mlflow_run import MlflowRun
from recx.tracking.store import open_client

Keep = Callable[..., KeptModel]
FIGURES = {"end_to_end/ndcg_at_5": 0.25, "time/total": 2.0}


@contextmanager
def logged(run: Path, model: KeptModel, tracker: MLflow | None = None) -> Iterator[MlflowRun]:
    with (tracker or MLflow()).run("news", {"seed": 3}) as tracked:
        assert isinstance(tracked, ModelRun)
        tracked.log_metrics(FIGURES)
        tracked.log_files(run)
        tracked.log_model(model)
        yield tracked


def models(home: Path) -> list[Any]:
    client = open_client(f"sqlite:///{home}/outputs/mlflow.db")
    return list(client.search_logged_models([one.experiment_id for one in client.search_experiments()]))


def cannot_link(*_: Any) -> None:
    raise OSError("another disk")


@pytest.mark.parametrize("linked", [True, False])
def test_a_model_is_logged_with_all_that_others_need(
    home: Path, kept: Keep, form: ModelForm, monkeypatch: Any, linked: bool
) -> None:
    if not linked:
        monkeypatch.setattr(os, "link", cannot_link)
    model = kept(home / "run")
    with logged(home / "run", model) as run:
        pass
    [found] = models(home)
    assert (found.name, str(found.status), found.source_run_id) == ("model", "READY", run.run_id)
    assert {one.key: one.value for one in found.metrics} == FIGURES
    assert found.params == run.client.get_run(run.run_id).data.params
    folder = Path(found.artifact_location.removeprefix("file://"))
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    of_mlflow = {"MLmodel", "requirements.txt", "python_env.yaml", "input_example.json", "serving_input_example.json"}
    assert set(files) == {*of_mlflow, "data/model.json", "data/1.npy", "data/part/value.json"}
    assert [(files["data/1.npy"].stat().st_nlink), files["data/1.npy"].read_bytes()] == [
        1 + linked,
        (model.folder / "1.npy").read_bytes(),
    ]
    described = yaml.safe_load(files["MLmodel"].read_text())
    of_python = described["flavors"]["python_function"]
    assert (of_python["loader_module"], of_python["data"]) == ("recx.pyfunc", "data")
    assert "code" not in of_python
    assert described["flavors"]["recx"]["requirements"] == form.requirements
    assert files["requirements.txt"].read_text() == "numpy==2.4.6\nscipy==1.17.1\n"
    assert json.loads(files["input_example.json"].read_text()) == {"columns": ["user"], "data": [[3], [1]]}
    params = json.loads(described["signature"]["params"])
    assert [(one["name"], one["type"], one["default"]) for one in params] == [("k", "long", 10), ("at", "long", None)]
    tag = run.client.get_run(run.run_id).data.tags[TAG]
    assert tag == f"{found.model_id} {hash_of(model.folder / 'model.json')}"


def test_the_files_of_the_model_are_not_logged_a_second_time(home: Path, kept: Keep) -> None:
    with logged(home / "run", kept(home / "run")) as run:
        names = {file.path for file in run.client.list_artifacts(run.run_id)}
        assert names == {"config.yaml", "files.json", "metrics.json", "valid"}
        assert len(run.client.get_metric_history(run.run_id, "time/total")) == 1


@pytest.mark.parametrize("asked", [True, False])
def test_histories_are_logged_only_where_somebody_said_so(
    home: Path, kept: Keep, asked: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    tracker = MLflow(upload_histories=asked, register="news")
    with shown_on(Console()), logged(home / "run", kept(home / "run", full=True), tracker) as run:
        pass
    said = " ".join(capsys.readouterr().out.split())
    assert bool(models(home)) == asked
    assert ("no version of news, since it holds histories (model=full)" in said) != asked
    assert (TAG in run.client.get_run(run.run_id).data.tags) == asked


@pytest.mark.parametrize(("limit", "there"), [("20kB", False), ("20MB", True), (None, True)])
def test_a_large_model_that_cannot_be_linked_stays_in_the_folder(
    home: Path, kept: Keep, monkeypatch: Any, limit: str | None, there: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    monkeypatch.setattr(os, "link", cannot_link)
    model = kept(home / "run", zeros=3_000)
    with shown_on(Console()), logged(home / "run", model, MLflow(upload_limit=limit)):
        pass
    assert bool(models(home)) == there
    said = " ".join(capsys.readouterr().out.split())
    assert ("are more than tracker.upload_limit" in said) != there


def test_a_large_model_is_linked(home: Path, kept: Keep) -> None:
    with logged(home / "run", kept(home / "run", zeros=3_000), MLflow(upload_limit="20kB")):
        pass
    assert len(models(home)) == 1


def test_a_model_that_was_not_logged_whole_has_failed(home: Path, kept: Keep, monkeypatch: Any) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("recx.tracking.mlflow_model.shutil.copyfile", full)
    with pytest.raises(OSError, match="No space left"), logged(home / "run", kept(home / "run")):
        pass
    assert [str(found.status) for found in models(home)] == ["FAILED"]


def test_a_model_whose_process_died_meanwhile_has_failed(home: Path) -> None:
    from mlflow.entities import LoggedModelOutput

    with MLflow().run("news", {}):
        pass
    client = open_client(f"sqlite:///{home}/outputs/mlflow.db")
    experiment = client.get_experiment_by_name("news").experiment_id
    dead = {"recx.host": socket.gethostname(), "recx.pid": "1", "recx.pid_started": "of another boot"}
    run_id = client.create_run(experiment, tags=dead).info.run_id
    pending = client.create_logged_model(experiment, "model", run_id)
    client.log_outputs(run_id, [LoggedModelOutput(pending.model_id, step=0)])
    with MLflow().run("news", {}):
        pass
    assert client.get_run(run_id).info.status == "KILLED"
    assert str(client.get_logged_model(pending.model_id).status) == "FAILED"


def test_a_run_of_the_user_and_mlflow_s_own_settings_are_left_alone(home: Path, kept: Keep) -> None:
    import mlflow

    ours = MLflow(f"sqlite:///{home}/outputs/mlflow.db", register="news")
    mlflow.set_tracking_uri(f"sqlite:///{home}/theirs.db")  # in the environment too
    try:
        with mlflow.start_run() as theirs:
            with logged(home / "run", kept(home / "run"), ours):
                assert mlflow.active_run().info.run_id == theirs.info.run_id
            assert mlflow.get_tracking_uri() == f"sqlite:///{home}/theirs.db"
            assert mlflow.get_active_model_id() is None
        client = mlflow.MlflowClient()
        assert not client.search_logged_models(["0"])
        assert not client.search_registered_models()
        assert not client.get_run(theirs.info.run_id).outputs.model_outputs
        assert [found.name for found in models(home)] == ["model"]
    finally:
        mlflow.set_tracking_uri(None)
        os.environ.pop("MLFLOW_TRACKING_URI", None)


@pytest.mark.parametrize("name", ["", "a/b", "a:b", "a'b", 'a"b', "..", ".", " x", "x ", "a\nb"])
def test_names_that_mlflow_would_refuse_are_refused_before_the_run(name: str) -> None:
    with pytest.raises(RecxError, match=r"tracker\.register="):
        MLflow(register=name)
    assert MLflow(register="news best-1.0").register == "news best-1.0"
