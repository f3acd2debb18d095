"""Runs in an MLflow store: what is written, and how a run ends when its process fails."""

from __future__ import annotations

import getpass
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from waiting import PATIENCE

from recx.core.errors import InputError, RecxError
from recx.core.progress import shown_on
from recx.core.run_context import RunContext
from recx.core.system.signals import Interrupted
from recx.experiment.saved_runs import load
from recx.tracking import store
from recx.tracking.mlflow import SYSTEM_METRICS, MLflow, address

PROGRAM = """
import sys, time
from recx.tracking.mlflow import MLflow
with MLflow().run("news", {"k": 1}) as run:
    print(run.run_id, flush=True)
    time.sleep(float(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a working directory whose store exists already: creating one takes seconds."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def tracker(home: Path, monkeypatch: pytest.MonkeyPatch) -> MLflow:
    monkeypatch.chdir(home)
    return MLflow()


def stored(home: Path, run_id: str) -> Any:
    return store.open_client(f"sqlite:///{home}/outputs/mlflow.db").get_run(run_id)


def start(home: Path, seconds: float) -> subprocess.Popen[str]:
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    command = [sys.executable, "-c", PROGRAM, str(seconds)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=home, env=environment, stdout=pipe, stderr=pipe, text=True)


def stop_this_process() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(5)


def test_settings_figures_and_tags_are_kept(tracker: MLflow, home: Path) -> None:
    params = {
        "retriever": {"_target_": "recx.parts.retriever.union.Union", "k": 60, "unasked": 1},
        "ranker": {"_target_": "recx.parts.ranker.linear.Linear"},
        "dataset": {"path": "/data/day1"},
        "chosen": {
            "options": {"retriever": "union", "ranker": "linear"},
            "settings": {"retriever.k": 60, "evaluator.ranking": ["ndcg_at_5"], "long": "y" * 7_000}
            | {f"many.x{number}": number for number in range(250)},
        },
    }
    with tracker.run("news", params, RunContext(name="retriever.k=60")) as run:
        run.log_metrics({f"time/x{number}": number for number in range(1_500)} | {"ranking/auc": math.nan, "p@5": 1})
        run.log_curves({"transformer/loss": [3.0, 2.5, 2.25]})
        run.log_tags({"recx.data": "0123"})
        run.describe("**union + linear**")
        run.log_dataset("day1", "0123", "/data/day1")
    data, info = stored(home, run.run_id).data, stored(home, run.run_id).info
    assert info.status == "FINISHED"
    assert info.run_name == "retriever.k=60: union + linear on day1"
    assert data.params["retriever.k"] == "60"
    assert data.params["evaluator.ranking"] == '["ndcg_at_5"]'
    assert (data.params["retriever"], data.params["ranker"]) == ("union", "linear")
    assert not any("_target_" in name or "unasked" in name for name in data.params)
    assert len([name for name in data.params if name.startswith("many.")]) == 250
    assert len(data.params["long"]) == 6_000
    assert data.tags["recx.cut_params"] == "long"
    assert len(data.metrics) == 1_503
    curve = run.client.get_metric_history(run.run_id, "transformer/loss")
    assert [(point.step, point.value) for point in curve] == [(1, 3.0), (2, 2.5), (3, 2.25)]
    assert data.metrics["p_5"] == 1
    assert data.tags["recx.renamed.metrics"] == "p@5 -> p_5"
    assert data.tags["recx.data"] == "0123"
    assert data.tags["recx.pid"] == str(os.getpid())
    assert data.tags["mlflow.note.content"] == "**union + linear**"
    assert data.tags["mlflow.user"] == getpass.getuser()
    [given] = stored(home, run.run_id).inputs.dataset_inputs
    assert (given.dataset.name, given.dataset.digest) == ("day1", "0123")
    assert json.loads(given.dataset.source) == {"uri": "/data/day1"}
    artifacts = home / "outputs" / "mlflow-artifacts" / run.run_id / "artifacts"
    kept = (artifacts / "config.yaml").read_text()
    assert "y" * 7_000 in kept
    assert "unasked: 1" in kept
    assert not (home / "mlruns").exists()


def test_an_experiment_says_what_it_is_and_what_its_runs_are_compared_by(tracker: MLflow, home: Path) -> None:
    with tracker.run("kinds", {"objective": "end_to_end/mrr"}) as run:
        pass
    experiment = run.client.get_experiment_by_name("kinds")
    assert experiment is not None
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
    assert experiment.tags["mlflow.experiment.primaryMetric.name"] == "end_to_end/mrr"
    assert experiment.tags["mlflow.experiment.primaryMetric.greaterIsBetter"] == "true"
    assert "`ranking/` is a figure of the ranker alone" in experiment.tags["mlflow.note.content"]


def test_rows_are_kept_as_a_table_that_pages_show(tracker: MLflow, home: Path) -> None:
    with tracker.run("news", {}) as run:
        run.log_table("detailed_results", {"query": ["你好", ""], "rank": [1, None], "top3": [["a", "b"], []]})
    [table] = json.loads(stored(home, run.run_id).data.tags["mlflow.loggedArtifacts"])
    assert table == {"path": "detailed_results.json", "type": "table"}
    artifacts = home / "outputs" / "mlflow-artifacts" / run.run_id / "artifacts"
    kept = json.loads((artifacts / "detailed_results.json").read_text())
    assert kept == {"columns": ["query", "rank", "top3"], "data": [["你好", 1, ["a", "b"]], ["", None, []]]}


def test_the_address_opens_the_run(tracker: MLflow, tmp_path: Path) -> None:
    with tracker.run("news", {}) as run:
        assert run.address == f"python -m recx ui {run.run_id[:8]}"
    other = f"sqlite:///{tmp_path}/other.db"
    assert address(other, "1", "0123456789") == f"python -m recx ui 01234567 --uri {other}"
    page = "http://host:80/#/experiments/1/runs/a?workflowType=machine_learning"
    assert address("http://me:secret@host:80/", "1", "a") == page


@pytest.mark.parametrize(("limit", "copied"), [("1kB", False), ("1MB", True), (None, True)])
def test_files_are_copied_except_large_ones(
    home: Path, tracker: MLflow, tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: str | None, copied: bool
) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "metrics.json").write_text("{}")
    (tmp_path / "figures" / "roc.svg").write_text("<svg/>")
    (tmp_path / "recommendations.parquet").write_bytes(b"x" * 1_001)
    with replace(tracker, upload_limit=limit).run("news", {}) as run, shown_on(Console(file=sys.stdout, width=500)):
        run.log_files(tmp_path)
    artifacts = home / "outputs" / "mlflow-artifacts" / run.run_id / "artifacts"
    found = {str(path.relative_to(artifacts)) for path in artifacts.rglob("*") if path.is_file()}
    assert found - {"recommendations.parquet"} == {"config.yaml", "files.json", "metrics.json", "figures/roc.svg"}
    assert ("recommendations.parquet" in found) is copied
    tags, out = stored(home, run.run_id).data.tags, capsys.readouterr().out
    assert tags.get("recx.only_in_folder") == (None if copied else "recommendations.parquet")
    assert (f"only in {tmp_path}, since larger than tracker.upload_limit: recommendations.parquet" in out) is not copied
    assert tags["recx.folder"] == str(tmp_path)
    assert load(run.run_id, home / "outputs").folder == tmp_path


def test_a_person_may_name_tag_and_describe_runs(tracker: MLflow, home: Path) -> None:
    named = replace(tracker, run_name="a/b", tags={"team": "search"}, description="**Why**", experiment="team/news")
    with named.run("news", {}, RunContext(name="seed=1")) as run:
        run.describe("summary")
    kept = stored(home, run.run_id)
    assert kept.info.run_name == "a/b, seed=1"
    assert kept.data.tags["team"] == "search"
    assert kept.data.tags["mlflow.note.content"] == "**Why**\n\nsummary"
    assert run.client.get_experiment(kept.info.experiment_id).name == "team/news"


def test_tags_of_recx_are_its_own() -> None:
    with pytest.raises(InputError, match=r"tracker\.tags\.recx\.sweep: names that begin with recx\."):
        MLflow(tags={"recx.sweep": "x"})


@pytest.mark.parametrize(
    ("setting", "variable", "key"), [(True, "", "tracker.system_metrics"), (None, "true", SYSTEM_METRICS)]
)
def test_what_system_metrics_need_is_said_before_any_work(
    monkeypatch: pytest.MonkeyPatch, setting: bool | None, variable: str, key: str
) -> None:
    monkeypatch.setenv(SYSTEM_METRICS, variable)
    monkeypatch.setattr("recx.tracking.mlflow.find_spec", lambda name: None)
    with pytest.raises(InputError, match=f"{key}=true: MLflow needs the package psutil"):
        MLflow(system_metrics=setting)
    assert MLflow(system_metrics=False).system_metrics is False


def test_the_use_of_the_machine_is_watched_until_the_run_ends(tracker: MLflow, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    class Monitor:
        def __init__(self, run_id: str, tracking_uri: str) -> None:
            seen.append(tracking_uri.rpartition("/")[2])

        def start(self) -> None:
            seen.append("start")

        def finish(self) -> None:
            seen.append("finish")

    name = "mlflow.system_metrics.system_metrics_monitor"  # without psutil it cannot be imported
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(SystemMetricsMonitor=Monitor))  # type: ignore[misc]
    monkeypatch.setattr("recx.tracking.mlflow.find_spec", lambda name: object())
    with pytest.raises(ZeroDivisionError), replace(tracker, system_metrics=True).run("news", {}):
        raise ZeroDivisionError
    assert seen == ["mlflow.db", "start", "finish"]


@pytest.mark.parametrize("typed", [False, True])
def test_the_store_and_experiment_of_the_environment_hold_where_nothing_is_set(
    tracker: MLflow, home: Path, monkeypatch: pytest.MonkeyPatch, typed: bool
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{home}/theirs.db")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "team/theirs")
    ours = replace(tracker, uri=f"sqlite:///{home}/outputs/mlflow.db", experiment="ours")
    with (ours if typed else tracker).run("news", {}) as run:
        pass
    experiment = run.client.get_experiment(run.client.get_run(run.run_id).info.experiment_id)
    assert experiment.name == ("ours" if typed else "team/theirs")
    assert run.client.tracking_uri == f"sqlite:///{home}/{'outputs/mlflow' if typed else 'theirs'}.db"
    command = f"python -m recx ui {run.run_id[:8]}"
    said = f" --uri sqlite:///{home}/theirs.db  # MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME"
    assert run.address == command + ("" if typed else said)


def test_a_wrong_address_in_the_environment_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "./mlruns")
    with pytest.raises(InputError, match=r"MLFLOW_TRACKING_URI='./mlruns' is not an MLflow store"):
        MLflow()


def test_no_run_of_that_id(tracker: MLflow, home: Path) -> None:
    with tracker.run("news", {}):
        pass
    with pytest.raises(InputError, match="no run '0000"):
        load("0" * 32, home / "outputs")


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (InputError("file x: no such file"), "FAILED", "file x: no such file"),
        (ZeroDivisionError("oops"), "FAILED", "ZeroDivisionError: oops"),
        (KeyboardInterrupt(), "KILLED", "interrupted from the keyboard"),
        (SystemExit(3), "FAILED", "SystemExit: 3"),
    ],
)
def test_an_error_ends_the_run(tracker: MLflow, home: Path, error: BaseException, status: str, reason: str) -> None:
    with pytest.raises(type(error)), tracker.run("news", {}) as run:
        raise error
    ended = stored(home, run.run_id)
    assert ended.info.status == status
    assert ended.data.tags["recx.reason"] == reason


def test_sigterm_ends_the_run_and_the_handler_is_restored(tracker: MLflow, home: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted), tracker.run("news", {}) as run:
        stop_this_process()
    assert stored(home, run.run_id).info.status == "KILLED"
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.slow
def test_a_killed_run_is_ended_at_the_next_start(tracker: MLflow, home: Path) -> None:
    process = start(home, 60)
    assert process.stdout is not None
    run_id = process.stdout.readline().strip()
    with tracker.run("news", {}):
        assert stored(home, run_id).info.status == "RUNNING"  # its process is alive
    process.kill()
    process.communicate()
    with tracker.run("news", {}) as run:
        assert stored(home, run.run_id).info.status == "RUNNING"
    ended = stored(home, run_id)
    assert ended.info.status == "KILLED"
    assert "SIGKILL" in ended.data.tags["recx.reason"]


@pytest.mark.slow
def test_parallel_first_starts_are_silent_and_whole(tmp_path: Path) -> None:
    processes = [start(tmp_path, 0) for _ in range(2)]
    ended = [process.communicate(timeout=PATIENCE) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert [error for _, error in ended] == ["", ""]
    assert [stored(tmp_path, output.strip()).info.status for output, _ in ended] == ["FINISHED"] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outputs"]


@pytest.mark.slow
def test_a_deleted_experiment_is_one_sentence(tracker: MLflow, home: Path) -> None:
    with tracker.run("gone", {}):
        pass
    client = store.open_client(f"sqlite:///{home}/outputs/mlflow.db")
    client.delete_experiment(client.get_experiment_by_name("gone").experiment_id)
    with pytest.raises(InputError, match="was deleted"), tracker.run("gone", {}):
        pass


def test_a_store_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_bytes(b"this is not a database" * 100)
    broken = MLflow(uri=f"sqlite:///{tmp_path}/mlflow.db")
    with pytest.raises(RecxError, match=r"cannot be opened: .*tracker=console"), broken.run("news", {}):
        pass


def test_a_server_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    away = MLflow(uri="http://127.0.0.1:9")
    with pytest.raises(RecxError, match=r"http://127.0.0.1:9 failed: .*tracker=console"), away.run("news", {}):
        pass


def test_a_store_that_fails_on_the_way_is_reported_but_never_hides_the_run_s_own_error(
    tracker: MLflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow.exceptions import MlflowException

    def full(*arguments: object, **options: object) -> None:
        raise MlflowException("(sqlite3.OperationalError) database or disk is full\n[SQL: ...]")

    def fail_with(error: Exception | None) -> None:
        with tracker.run("news", {}) as run:
            for method in ("log_batch", "set_tag", "set_terminated"):
                monkeypatch.setattr(run.client, method, full)
            if error:
                raise error

    with pytest.raises(RecxError, match=r"mlflow.db failed: .*disk is full \(tracker"):
        fail_with(None)
    with pytest.raises(InputError, match="no such file"):
        fail_with(InputError("x: no such file"))


def test_trials_are_nested_in_their_sweep_which_resumes_as_the_same_run(tracker: MLflow, home: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        tracker.sweep("news", {}, RunContext(sweep="mine", name="sweep of a")) as parent,
    ):
        raise KeyboardInterrupt
    assert stored(home, parent.run_id).info.status == "KILLED"
    with tracker.sweep("news", {}, RunContext(sweep="mine", name="sweep of a")) as again:
        assert stored(home, again.run_id).info.status == "RUNNING"
        with tracker.run("news", {}, RunContext(again.run_id, "mine", "a=1")) as trial:
            pass
    assert again.run_id == parent.run_id
    assert stored(home, parent.run_id).info.status == "FINISHED"
    run = stored(home, trial.run_id)
    assert run.info.run_name == "a=1"
    assert (run.data.tags["mlflow.parentRunId"], run.data.tags["recx.sweep"]) == (parent.run_id, "mine")
    with tracker.sweep("news", {}, RunContext(sweep="other")) as other:
        assert other.run_id != parent.run_id


@pytest.mark.parametrize("uri", ["outputs/mlflow.db", "file:///tmp/x", "sqlit:///x.db"])
def test_a_wrong_address_is_refused_at_once(uri: str) -> None:
    with pytest.raises(InputError, match=r"tracker\.uri=.* is not an MLflow store"):
        MLflow(uri=uri)


def test_names_must_stay_distinct(tracker: MLflow) -> None:
    with pytest.raises(RecxError, match="rename"), tracker.run("news", {}) as run:
        run.log_metrics({"a@b": 1, "a_b": 2})
