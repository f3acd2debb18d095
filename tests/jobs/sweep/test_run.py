"""Sweeps from the outside: failing, killed and taken up again, side by side, in MLflow."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from waiting import PATIENCE, until

from recx.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
WORLD = ["+experiment=news", "dataset.readers=60", "dataset.articles=50", "n_candidates=10", "retriever=popularity"]
SMALL = [*WORLD, "feature=basic", "ranker.resamples=0", "tracker=console", "runtime.threads=1"]
L2 = "ranker.l2=0.001,0.01,0.1,1"


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "recx", "-m", *words]


def environment(site: Path) -> dict[str, str]:
    """Return the variables of a process that also finds plugins laid out in a folder."""
    path = os.pathsep.join(map(str, [ROOT, site]))
    return {**os.environ, "PYTHONPATH": path, "RECX_DEBUG": "0", "OMP_NUM_THREADS": "1"}


def recx(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a sweep in this process, as if it had been started in a folder."""
    folder.mkdir(exist_ok=True)
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        patch.setattr("sys.argv", ["recx", "-m", *words])
        return subprocess.CompletedProcess(words, main(), out.getvalue(), err.getvalue())


def figures(folder: Path) -> pd.DataFrame:
    """Return a sweep's table without what a second time never is: the seconds, and what came from the cache."""
    [file] = (folder / "outputs" / "sweeps").glob("*/summary/sweep.csv")
    return pd.read_csv(file).drop(columns=["seconds", "cached"])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("undisturbed")
    done = recx(folder, *SMALL, L2, "fold=valid")
    assert (done.returncode, done.stderr) == (0, "")
    [sweep] = (folder / "outputs" / "sweeps").iterdir()
    written = {path.name for path in (sweep / "0").iterdir()}
    assert written == {".recx", "config.yaml", "metrics.json", "protocol.json", "per_user.parquet"}
    assert (sweep / "best" / "recommendations.parquet").is_file()
    assert "fold: test" in (sweep / "best" / "config.yaml").read_text()
    assert "once on test: end_to_end/ndcg_at_5 = " in done.stdout
    table = figures(folder)
    assert list(table["objective"]) == sorted(table["objective"], reverse=True)
    chosen = sweep / str(table["trial"][0])
    kept = {path.name: path.read_bytes() for path in (sweep / "best" / "valid").iterdir()}
    assert kept == {path.name: path.read_bytes() for path in chosen.iterdir() if path.name != ".recx"}
    return table


@pytest.mark.slow
def test_settings_run_with_the_options_that_have_them(tmp_path: Path) -> None:
    done = recx(tmp_path, *SMALL, "ranker=identity,linear", "ranker.l2=0.1,1", "sweep_id=mine")
    assert (done.returncode, done.stderr) == (0, "")
    where = "ranker.l2 applies to ranker=linear only; ranker.resamples applies to ranker=linear only"
    assert f"3 trials; {where}" in done.stdout
    table = figures(tmp_path).sort_values("trial")
    assert list(table["ranker"]) == ["identity", "linear", "linear"]


@pytest.mark.slow
def test_a_failing_trial_is_reported_and_the_others_continue(tmp_path: Path) -> None:
    words = [*SMALL, "ranker.l2=abc,1", "sweep_id=mine"]
    done = recx(tmp_path, *words)
    assert (done.returncode, done.stderr) == (1, "")
    assert "to choose by them would be tuning on test" in done.stdout
    table = figures(tmp_path)
    assert list(table["ranker.l2"]) == ["1", "abc"]
    assert not (tmp_path / "outputs" / "sweeps" / "mine" / "best").exists()
    assert table["reason"][1] == "ranker.l2=abc: it must be a number"
    again = recx(tmp_path, *words)
    assert again.returncode == 1
    assert "sweep_id=mine: 1 done before" in again.stdout
    assert "job 1: end_to_end/ndcg_at_5" in again.stdout
    assert again.stdout.count("(done before)") == 1


def kill_and_resume(folder: Path, kills: Sequence[tuple[int, float]], *words: str) -> None:
    """Kill a sweep again and again, each time up to so many seconds after so many trials were done, and let it end."""
    moments, trials = random.Random(0), folder / "outputs" / "sweeps" / "mine" / "trials"
    for wanted, later in kills:
        with subprocess.Popen(
            command(*words), cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL
        ) as process:
            until(lambda: process.poll() is not None or len([*trials.glob("[0-9]*.json")]) >= wanted)  # noqa: B023
            time.sleep(moments.uniform(later / 2, later))
            process.send_signal(signal.SIGKILL)
    done = recx(folder, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("(done before)") >= max(wanted for wanted, _ in kills)


KILLS = ((0, 3.0), (1, 0.3), (3, 4.0))  # before the first trial, in the second, in the last or in the best run


@pytest.mark.slow
def test_a_sweep_that_is_killed_and_resumed_gives_the_same_table(tmp_path: Path, undisturbed: pd.DataFrame) -> None:
    kill_and_resume(tmp_path, KILLS, *SMALL, L2, "fold=valid", "sweep_id=mine")
    pd.testing.assert_frame_equal(figures(tmp_path), undisturbed)


@pytest.mark.slow
def test_side_by_side_gives_the_same_figures_and_runs(tmp_path: Path, undisturbed: pd.DataFrame) -> None:
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="the launcher is not installed")
    from joblib.externals.loky import get_reusable_executor

    words = [*SMALL, L2, "fold=valid", "tracker=mlflow", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    done = recx(tmp_path, *words)
    get_reusable_executor().shutdown()
    assert done.returncode == 0, done.stderr
    pd.testing.assert_frame_equal(figures(tmp_path), undisturbed)
    from recx.tracking.store import open_client

    runs = open_client(f"sqlite:///{tmp_path}/outputs/mlflow.db").search_runs(["1"])
    assert [run.info.status for run in runs] == ["FINISHED"] * 7, "the sweep, four trials, best and baseline on test"
    [parent] = [run.info.run_id for run in runs if run.data.tags.get("recx.role") == "sweep"]
    assert {run.data.tags.get("mlflow.parentRunId", run.info.run_id) for run in runs} == {parent}


@pytest.mark.slow
def test_two_processes_cannot_run_the_same_sweep(tmp_path: Path) -> None:
    from recx.core.system.locks import turn

    words = command(*SMALL, "seed=0,1", "sweep_id=mine")
    with turn(tmp_path / "outputs" / "sweeps" / "mine" / ".lock"):
        done = subprocess.run(
            words, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith("sweep_id=mine: another process is running this sweep")


@pytest.mark.slow
def test_a_trial_on_another_fold_is_not_part_of_the_sweep(tmp_path: Path) -> None:
    """An option may set the fold, so that the first configuration does not tell it of all trials."""
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    option = "# @package _global_\n# python -m recx +experiment=other\ndefaults: [news]\nfold: test\n"
    (tmp_path / "mine" / "experiment" / "other.yaml").write_text(option)
    words = [word for word in SMALL if not word.startswith("+experiment")]
    done = recx(tmp_path, "--config-dir", "mine", "+sweep=seeds", "+experiment=news,other", *words, "seed=0")
    assert (done.returncode, done.stderr) == (1, "")
    table = figures(tmp_path)
    assert list(table["objective"].isna()) == [False, True]
    assert table["reason"][1] == "fold=test: the trials of this sweep are compared by fold=valid"


@pytest.mark.slow
def test_two_sweeps_at_once_share_one_store(tmp_path: Path) -> None:
    words = [*WORLD, "feature=basic", "fold=valid", "ranker.l2=0.1,1"]
    started = [
        subprocess.Popen(
            command(*words, f"sweep_id={name}"),
            cwd=tmp_path,
            env=environment(tmp_path),
            text=True,
            stderr=subprocess.PIPE,
        )
        for name in ("one", "other")
    ]
    for process in started:
        assert process.communicate(timeout=PATIENCE)[1] == ""
        assert process.returncode == 0
    from recx.tracking.store import open_client

    runs = open_client(f"sqlite:///{tmp_path}/outputs/mlflow.db").search_runs(["1"])
    assert {run.info.status for run in runs} == {"FINISHED"}
    parents = {
        run.data.tags["recx.sweep"]: run.info.run_id for run in runs if run.data.tags.get("recx.role") == "sweep"
    }
    assert set(parents) == {"one", "other"}
    for name, parent in parents.items():
        trials = [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parent]
        begun = sorted(run.info.run_name.partition(": ")[0].partition(",")[0] for run in trials)
        assert begun == ["baseline on test", "best", "ranker.l2=0.1", "ranker.l2=1"]
        assert {run.data.tags["recx.sweep"] for run in trials} == {name}


@pytest.mark.slow
def test_in_mlflow_trials_lie_beneath_the_sweep(tmp_path: Path) -> None:
    words = [*WORLD, "feature=basic", "fold=valid", "ranker=identity,linear", "sweep_id=mine"]
    for _ in range(2):  # the second time nothing is left to do, and the parent is still one
        done = recx(tmp_path, *words)
        assert (done.returncode, done.stderr) == (0, "")
    from recx.tracking.store import open_client

    client = open_client(f"sqlite:///{tmp_path}/outputs/mlflow.db")
    runs = {run.info.run_name: run for run in client.search_runs(["1"])}
    on_data = "on news (made up)"
    best = next(run for run in runs.values() if run.data.tags.get("recx.role") == "best")
    ranker = best.data.params["ranker"]
    assert best.info.run_name == f"best, ranker={ranker}: popularity + {ranker} {on_data}"
    of_trials = [f"ranker={ranker}: popularity + {ranker} {on_data}" for ranker in ("identity", "linear")]
    assert set(runs) == {f"sweep of ranker: popularity {on_data}", *of_trials, best.info.run_name}
    parent = runs.pop(f"sweep of ranker: popularity {on_data}")
    assert {run.data.tags["mlflow.parentRunId"] for run in runs.values()} == {parent.info.run_id}
    assert {run.data.tags["recx.sweep"] for run in runs.values()} == {"mine"}
    assert {run.info.status for run in (parent, *runs.values())} == {"FINISHED"}
    assert parent.data.tags["recx.varied"] == "ranker"
    on_test: dict[str, Any] = json.loads((tmp_path / "outputs/sweeps/mine/best/metrics.json").read_text())
    assert best.data.metrics["end_to_end/ndcg_at_5"] == on_test["end_to_end/ndcg_at_5"]
    assert "valid/end_to_end/ndcg_at_5" in runs[of_trials[0]].data.metrics
    kept = best.data.tags["recx.objective"], best.data.metrics["valid/end_to_end/ndcg_at_5"]
    assert kept == ("end_to_end/ndcg_at_5", max(runs[name].data.metrics["valid/" + kept[0]] for name in of_trials))
    assert parent.data.metrics == {}, "they would stand twice in every chart"
    assert parent.data.tags["mlflow.note.content"].startswith("**sweep of ranker on ")
    files = {file.path for file in client.list_artifacts(parent.info.run_id)}
    tables, kinds = {"trials.json", "settings.json", "settings.csv"}, ("csv", "html", "json", "svg")
    assert files == {*tables, "files.json", *(f"sweep.{kind}" for kind in kinds)}


@pytest.mark.slow
def test_the_conclusion_of_a_sweep_over_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import recx

    monkeypatch.chdir(tmp_path)
    table = recx.sweep([*SMALL, "fold=valid", "ranker=identity,linear", "seed=0,1", "choose=simplest", "sweep_id=mine"])
    assert len(table) == 4
    assert list(table.columns[-7:]) == ["difference", "low", "high", "p", "p_holm", "p_best", "folder"]
    home = tmp_path / "outputs" / "sweeps" / "mine"
    said = json.loads((home / "summary" / "sweep.json").read_text())
    by_name = {row["trial"]: row for row in said["settings"]}
    assert set(by_name) == {"0, 1", "2, 3"}
    assert by_name["2, 3"]["is"].startswith("baseline"), "linear, as the experiment has it"
    means = {name: table.loc[table["trial"].isin(numbers), "objective"].mean() for name, numbers in TRIALS.items()}
    assert {name: row["objective"] for name, row in by_name.items()} == pytest.approx(means)
    assert by_name["0, 1"]["difference"] == pytest.approx(means["0, 1"] - means["2, 3"])
    assert said["not_told_apart_from_best"] == [said["best"], *({*TRIALS} - {said["best"]})], "of so few users"
    assert said["chosen"] == "0, 1", "without any features"
    on_test = [
        json.loads((home / run / "metrics.json").read_text())["end_to_end/ndcg_at_5"] for run in ("best", "baseline")
    ]
    assert [said["on_test"][name] for name in ("chosen", "baseline")] == on_test
    assert said["on_test"]["difference"] == pytest.approx(on_test[0] - on_test[1])
    assert "seed: 0" in (home / "best" / "config.yaml").read_text()
    assert (home / "sweep.html").is_file()


@pytest.mark.slow
def test_a_sweep_over_folds_pools_its_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import recx

    monkeypatch.chdir(tmp_path)
    words = ["ranker=identity", "retriever=popularity", "split=k_fold", "split.k=2", "split.part=0,1", "tracker=mlflow"]
    table = recx.sweep([*WORLD, *words, "runtime.threads=1", "sweep_id=mine"])
    home = tmp_path / "outputs" / "sweeps" / "mine"
    users = [pd.read_parquet(Path(folder) / "per_user.parquet") for folder in table["folder"]]
    everyone = pd.concat(users)
    assert everyone["user"].is_unique
    pooled = pd.read_csv(home / "summary" / "pooled.csv").set_index("metric")
    row = pooled.loc["end_to_end/ndcg_at_5"]
    assert row["mean"] == pytest.approx(everyone["end_to_end/ndcg_at_5"].mean())
    assert row["users"] == len(everyone)
    assert row["low"] < row["mean"] < row["high"]
    said = json.loads((home / "summary" / "sweep.json").read_text())
    assert said["settings"][0]["objective"] == pytest.approx(row["mean"])
    assert f"over {len(everyone)} readers, each once" in said["conclusion"][1]
    page = (home / "sweep.html").read_text()
    assert "Figures of all runs" in page
    assert "over every part" in page
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/outputs/mlflow.db")
    [experiment] = [one for one in client.search_experiments() if one.name != "Default"]
    [parent] = client.search_runs([experiment.experiment_id], "tags.`recx.role` = 'sweep'")
    assert parent.data.metrics["end_to_end/ndcg_at_5"] == pytest.approx(row["mean"])


TRIALS = {"0, 1": [0, 1], "2, 3": [2, 3]}


@pytest.mark.slow
def test_a_search_runs_the_experiment_as_it_is_beside_its_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="the sweeper is not installed")
    import recx

    monkeypatch.chdir(tmp_path)
    words = [*SMALL, "fold=valid", "hydra/sweeper=optuna", "ranker.l2=tag(log,interval(1e-4,1))", "sweep_id=mine"]
    for _ in range(2):  # the second time nothing is left to do
        table = recx.sweep([*words, "hydra.sweeper.n_trials=3"])
        assert sorted(table["trial"]) == [0, 1, 2]
        said = json.loads((tmp_path / "outputs" / "sweeps" / "mine" / "summary" / "sweep.json").read_text())
        assert said["baseline"] == "the experiment"
        assert said["conclusion"][0].startswith("baseline: the experiment, run beside the search: rank ")
        assert said["tests"] == 3
