"""A store that was moved or copied keeps its files, and those of later runs, beside it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from recx.core.errors import RecxError
from recx.core.run_context import ALONE
from recx.experiment.tracked_runs import tracked_folder
from recx.tracking import moved
from recx.tracking.mlflow import MLflow
from recx.tracking.moved import folder_here
from recx.tracking.store import open_client


def logged(place: Path, artifacts: Path | None = None, name: str = "news") -> str:
    """Log a run with a file in the store of a folder; return its id."""
    files = place / "outputs" / "2024-05-01" / "12-00-00_news"
    files.mkdir(parents=True, exist_ok=True)
    (files / "metrics.json").write_text("{}")
    tracker = MLflow(f"sqlite:///{place}/outputs/mlflow.db", None if artifacts is None else str(artifacts))
    with tracker.run(name, {}, ALONE) as run:
        run.log_files(files)
        return run.run_id


def kept(place: Path, run: str) -> Path:
    return place / "outputs" / "mlflow-artifacts" / run / "artifacts" / "metrics.json"


def recorded(place: Path, run: str) -> str:
    uri: str = open_client(f"sqlite:///{place}/outputs/mlflow.db").get_run(run).info.artifact_uri
    return uri


@pytest.mark.parametrize("name", ["old", "an old pläce"])
def test_public_32_after_a_move_nothing_is_written_where_the_store_was(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / name, tmp_path / "new"
    first = logged(old)
    assert capfd.readouterr().err == ""
    old.rename(new)
    second = logged(new)
    there = [str(place / "outputs" / "mlflow-artifacts") for place in (new, old)]
    said = f"  the store was moved or copied: the files of news go to {there[0]}, and no longer to {there[1]}\n"
    assert capfd.readouterr().err == said
    assert not old.exists()
    for run in (first, second):
        assert kept(new, run).is_file()
        assert recorded(new, run) == kept(new, run).parent.as_uri()
    logged(new)
    assert capfd.readouterr().err == ""


def test_the_runs_of_a_copy_stay_in_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    old, copy = tmp_path / "old", tmp_path / "copy"
    first = logged(old)
    shutil.copytree(old, copy)
    second, third = logged(copy), logged(old)
    assert capfd.readouterr().err.count("the store was moved or copied") == 1
    assert kept(copy, second).is_file()
    assert not kept(old, second).exists()
    assert kept(old, third).is_file()
    assert recorded(copy, first) == kept(copy, first).parent.as_uri()
    assert recorded(old, first) == kept(old, first).parent.as_uri()


def test_what_was_written_to_the_old_place_after_the_move_is_still_found(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    first, later = logged(old), logged(old)
    shutil.copytree(old, new)
    shutil.rmtree(kept(new, later).parents[1])  # as if it had been logged from the new place into the old one
    logged(new)
    assert recorded(new, first) == kept(new, first).parent.as_uri()
    assert recorded(new, later) == kept(old, later).parent.as_uri()


def test_a_folder_that_was_chosen_stays_and_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place, chosen = tmp_path / "place", tmp_path / "chosen"
    first = logged(place, chosen)
    assert logged(place, chosen) != first
    assert capfd.readouterr().err == ""
    again = logged(place)
    default = place / "outputs" / "mlflow-artifacts"
    said = f"  the files of news go to {chosen}, as the store says, not to {default}: choose another name\n"
    assert capfd.readouterr().err == said
    assert (chosen / again / "artifacts" / "metrics.json").is_file()


def test_the_folder_of_a_run_is_the_one_beside_the_store(tmp_path: Path) -> None:
    old, new, copy = (tmp_path / name for name in ("old", "new", "copy"))
    run = logged(old)
    shutil.copytree(old, copy)
    old.rename(new)
    for place in (new, copy):
        found = tracked_folder(run, place / "outputs")
        assert found == str(place / "outputs" / "2024-05-01" / "12-00-00_news")
    database = new / "outputs" / "mlflow.db"
    for elsewhere in ("", "/data/run", "/data/outputs", "/data/outputs/2024-05-01/13-00-00_news"):
        assert folder_here(elsewhere, database) == elsewhere


def test_a_store_that_another_program_keeps_locked_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mlflow.db"
    monkeypatch.setattr(moved, "PATIENCE", 0.01)
    with closing(sqlite3.connect(file, isolation_level=None)) as store:
        store.execute("CREATE TABLE experiments (experiment_id, name, artifact_location)")
        store.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RecxError, match=r"mlflow\.db failed: database is locked \(tracker=console"):
            moved.bring_along(file, tmp_path / "artifacts")
