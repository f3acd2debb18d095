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
from pathlib import Path
from typing import Any

import pytest

from recx.core.errors import InputError, RecxError
from recx.core.run_context import RunContext
from recx.experiment.saved_runs import load
from recx.tracking import store
from recx.tracking.mlflow import MLflow, address
from recx.tracking.mlflow_run import LARGEST_FILE
from recx.tracking.process import Interrupted

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
    assert info.run_name == "day1: union + linear, retriever.k=60"
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


def test_files_are_copied_except_large_ones(tracker: MLflow, home: Path, tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "metrics.json").write_text("{}")
    (tmp_path / "figures" / "roc.svg").write_text("<svg/>")
    with (tmp_path / "candidates.parquet").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with tracker.run("news", {}) as run:
        run.log_files(tmp_path)
    artifacts = home / "outputs" / "mlflow-artifacts" / run.run_id / "artifacts"
    found = {str(path.relative_to(artifacts)) for path in artifacts.rglob("*") if path.is_file()}
    assert found == {"config.yaml", "metrics.json", "figures/roc.svg"}
    tags = stored(home, run.run_id).data.tags
    assert tags["recx.only_in_folder"] == "candidates.parquet"
    assert tags["recx.folder"] == str(tmp_path)
    assert load(run.run_id, home / "outputs").folder == tmp_path


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
    processes = [start(tmp_path, 0) for _ in range(4)]
    ended = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    assert [error for _, error in ended] == ["", "", "", ""]
    assert [stored(tmp_path, output.strip()).info.status for output, _ in ended] == ["FINISHED"] * 4
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
