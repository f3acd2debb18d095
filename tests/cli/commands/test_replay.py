"""``recx replay``: files, a run of MLflow with a step per window, an exit code for alarms, and sentences."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recx
from recx.cli import main
from recx.cli.commands.replay import run
from recx.core.errors import InputError
from recx.core.exit_codes import ALARM
from recx.jobs.history import past_runs

DAY = 86_400_000
START = 1_600_041_600_000  # 2020-09-14, midnight
CHAIN = ("retriever=item_knn", "ranker=linear", "feature=basic", "n_candidates=10", "seen=keep", "cache=off")


def write_logs(folder: Path) -> None:
    rng, users = np.random.default_rng(0), np.arange(40)
    rows = [
        (user, (user + rng.integers(0, 5)) % 20, START + day * DAY + 1000 * user) for day in range(8) for user in users
    ]
    log = pd.DataFrame(rows, columns=["user", "item", "time"])
    log.to_csv(folder / "log.csv", index=False)
    log[log["time"] < START + 5 * DAY].to_csv(folder / "early.csv", index=False)
    log.drop(columns="time").to_csv(folder / "timeless.csv", index=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    write_logs(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        path = [f"dataset.path={home / 'early.csv'}", "fold=predict", "split=by_time", "hydra.run.dir=outputs/1"]
        recx.run(["+experiment=table", *CHAIN, *path, "tracker=console", "name=shop"])
        listed = ["model=off", "hydra.run.dir=outputs/2"]
        recx.run(["+experiment=table", *CHAIN, *path[:-1], "tracker=console", *listed])
    return home


@pytest.fixture
def home(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return made


def test_a_replay_writes_its_figures_as_json_a_table_and_a_page(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["outputs/1", "--log", "log.csv", "--refit", "2d", "--no-mlflow", "--output", str(tmp_path / "mine")]
    assert run(words) == 0
    said = json.loads((tmp_path / "mine" / "replay.json").read_text())
    assert [one["partial"] for one in said["windows"]] == [False, False, False]
    assert said["windows"][0]["asked"] == said["windows"][0]["users"] == 40
    assert said["reference"]["learned"] is True
    assert set(said["trends"]) == set()  # of three windows
    table = pd.read_csv(tmp_path / "mine" / "replay.csv")
    for place, one in enumerate(said["windows"]):
        assert table["end_to_end/ndcg_at_5"][place] == pytest.approx(one["figures"]["end_to_end/ndcg_at_5"])
        assert table["end_to_end/ndcg_at_5_low"][place] == pytest.approx(one["intervals"]["end_to_end/ndcg_at_5"][0])
        assert table["drift/top_score"][place] == pytest.approx(one["drift"]["top_score"]["psi"])
    assert table["refit_gain/end_to_end/ndcg_at_5"].notna().tolist() == [False, False, True]
    page = (tmp_path / "mine" / "report.html").read_text()
    assert all(f">{word}<" in page for word in ("Quality", "Drift", "What refitting would have gained"))
    assert "https://" not in page
    out = capsys.readouterr().out
    assert said["windows"][0]["name"] in out
    assert f"files: {tmp_path / 'mine'}" in out
    assert run(words) == 0, "it replaces its own files"
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="it holds files that no run wrote there"):
        run(words)


def test_an_alarm_is_an_exit_code_and_named(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["outputs/1", "--log", "log.csv", "--no-mlflow", "--output", str(tmp_path / "mine")]
    assert run([*words, "--alarm", "end_to_end/ndcg_at_5<0"]) == 0
    assert run([*words, "--alarm", "end_to_end/ndcg_at_5<1.01", "--alarm", "new_users>0.5"]) == ALARM == 3
    said = json.loads((tmp_path / "mine" / "replay.json").read_text())
    assert [(one["window"], one["figure"]) for one in said["alarms"]] == [
        (n, "end_to_end/ndcg_at_5") for n in (1, 2, 3)
    ]
    assert "3 alarms: end_to_end/ndcg_at_5" in capsys.readouterr().out


def test_each_window_is_a_step_of_a_run_of_mlflow(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["outputs/1", "--log", "log.csv"]) == 0
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{home}/outputs/mlflow.db")
    [experiment] = client.search_experiments(filter_string="name = 'shop/replay'")
    [found] = client.search_runs([experiment.experiment_id])
    [folder] = (home / "outputs" / "replays").iterdir()
    said = json.loads((folder / "replay.json").read_text())
    steps = client.get_metric_history(found.info.run_id, "end_to_end/ndcg_at_5")
    assert {one.step: one.value for one in steps} == {
        one["window"]: one["figures"]["end_to_end/ndcg_at_5"] for one in said["windows"]
    }
    assert found.data.tags["recx.replay.log"] == "log.csv"
    files = {one.path for one in client.list_artifacts(found.info.run_id)}
    assert {"replay.json", "replay.csv", "report.html"} <= files
    assert re.search(r"MLflow: python -m recx ui \w{8}", capsys.readouterr().out)
    assert found.info.run_id not in [one.id for one in past_runs(Path("outputs"))], "it is no run of its own"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["outputs/1"], "the following arguments are required: --log"),
        (["outputs/1", "--log", "missing.csv"], "missing.csv"),
        (["outputs/1", "--log", "timeless.csv"], "timeless.csv: its events have no times"),
        (["outputs/1", "--log", "early.csv"], "no event is later than the fit"),
        (["outputs/2", "--log", "log.csv"], "this run kept no model"),
        (["outputs/1", "--log", "log.csv", "--every", "soon"], "--every=soon"),
        (["outputs/1", "--log", "log.csv", "--every", "9d"], "a window is longer than the log goes on"),
        (["outputs/1", "--log", "log.csv", "--refit", "0d"], "--refit=0d"),
        (["outputs/1", "--log", "log.csv", "--alarm", "ndcg"], "--alarm 'ndcg': write a figure"),
        (["outputs/1", "--log", "log.csv", "--alarm", "ndgc_at_5<1"], "no figure has this name"),
        (["outputs/1", "--log", "log.csv", "--min-history", "-1"], "min_history"),
    ],
    ids=lambda value: None if isinstance(value, str) else "-".join(value[1:]) or "nothing",
)
def test_every_mistake_is_one_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    monkeypatch.setattr("sys.argv", ["recx", "replay", *words])
    before = set(home.rglob("*"))
    assert main.main() == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert set(home.rglob("*")) == before


@pytest.mark.parametrize("until", ["soon", 10**30, [1]], ids=["text", "far", "list"])
def test_a_model_whose_time_is_none_is_damaged(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], until: object
) -> None:
    shutil.copytree("outputs/1", tmp_path / "run")
    manifest = tmp_path / "run" / "model" / "model.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "until": until}))
    monkeypatch.setattr("sys.argv", ["recx", "replay", str(tmp_path / "run"), "--log", "log.csv"])
    assert main.main() == 2
    said = capsys.readouterr().err
    assert "model.json is damaged" in said
    assert said.count("\n") == 1


def test_a_model_of_an_earlier_recx_takes_the_time_from_its_data(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree("outputs/1", tmp_path / "run")
    manifest = tmp_path / "run" / "model" / "model.json"
    about = json.loads(manifest.read_text())
    until = about.pop("until")
    manifest.write_text(json.dumps(about))
    words = [str(tmp_path / "run"), "--log", "log.csv", "--no-mlflow", "--output", str(tmp_path / "mine")]
    assert run(words) == 0
    said = json.loads((tmp_path / "mine" / "replay.json").read_text())
    assert said["until"] == str(np.datetime64(until, "ms"))
    (home / "early.csv").rename(home / "moved.csv")
    try:
        monkeypatch.setattr("sys.argv", ["recx", "replay", *words])
        assert main.main() == 2
    finally:
        (home / "moved.csv").rename(home / "early.csv")
    assert "this model does not say until when it has learned" in capsys.readouterr().err
