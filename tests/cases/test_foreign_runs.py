"""Folders of runs, sweeps and saved models that somebody else wrote: plain files are read, nothing else.

The commands that read runs back end with one sentence, or list the run without what cannot be read.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import recx
from recx.cli.main import main
from recx.core.errors import InputError
from recx.core.system.atomic import replacing, write_text
from recx.core.system.plain_files import check_plain, read_text
from recx.experiment import saved_runs
from recx.experiment.model.folder import read
from recx.jobs.history import past_runs
from recx.jobs.sweep.journal import TrialJournal, description_of
from recx.tracking.mlflow import MLflow

SECRET = '{"private": "KEY"}'
CHAIN = ("+experiment=news", "dataset.readers=40", "dataset.articles=30", "n_candidates=5", "retriever=popularity")
RUN = (*CHAIN, "feature=basic", "ranker.resamples=0", "tracker=console", "cache=off", "hydra.run.dir=outputs/a/b")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one run."""
    home, before = tmp_path_factory.mktemp("made"), Path.cwd()
    os.chdir(home)
    try:
        recx.run(list(RUN))
    finally:
        os.chdir(before)
    return home


@pytest.fixture
def run(made: Path, here: Path) -> Path:
    """Return the folder of a run in the working directory, and lay a secret beside it."""
    shutil.copytree(made / "outputs", here / "outputs")
    (here / "secret.json").write_text(SECRET)
    return here / "outputs" / "a" / "b"


def linked(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parents[3] / "secret.json")


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(2**40)


READS: dict[str, tuple[str, ...]] = {
    "report.json": ("report", "outputs/a/b"),
    "metrics.json": ("compare", "outputs/a/b", "outputs/a/b"),
    "per_user.parquet": ("compare", "outputs/a/b", "outputs/a/b"),
    "protocol.json": ("compare", "outputs/a/b", "outputs/a/b"),
    "config.yaml": ("explain", "outputs/a/b", "--worst", "2"),
    "recommendations.parquet": ("explain", "outputs/a/b", "--worst", "2"),
    "model/model.json": ("explain", "outputs/a/b", "--worst", "2"),
    "model/value.json": ("explain", "outputs/a/b", "--worst", "2"),
}


@pytest.mark.parametrize("change", [linked, piped, endless])
@pytest.mark.parametrize(("name", "words"), READS.items(), ids=READS)
def test_a_command_reads_no_link_and_waits_for_no_pipe(
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    words: tuple[str, ...],
    change: Callable[[Path], None],
) -> None:
    change(run / name)
    monkeypatch.setattr(sys, "argv", ["recx", *words])
    code, printed = main(), capsys.readouterr()
    assert code == 2, printed
    assert printed.err.count("\n") == 1
    assert "private" not in f"{printed.out}{printed.err}"
    if name not in ("metrics.json", "report.json") or change is linked:  # a pipe of this name is no run's file at all
        assert "plain files" in printed.err, printed.err


@pytest.mark.parametrize("change", [linked, piped, endless, huge])
def test_runs_are_listed_without_what_cannot_be_read(run: Path, change: Callable[[Path], None]) -> None:
    for name in ("metrics.json", "config.yaml"):
        change(run / name)
    listed = past_runs(Path("outputs"))
    assert [(one.id, dict(one.metrics), dict(one.settings)) for one in listed] in (
        [("a/b", {}, {})],
        [],  # a pipe is not a run's last file
    )


def test_the_files_of_sweeps(here: Path) -> None:
    write_text(here / "secret.json", json.dumps({"id": "x", "words": ["private"]}))
    (here / "sweep.json").symlink_to(here / "secret.json")
    with pytest.raises(InputError, match="is a link"):
        description_of(here)
    (here / "trials").mkdir()
    os.mkfifo(here / "trials" / "0.json")
    (here / "trials" / "1.json").symlink_to(here / "secret.json")
    assert TrialJournal(here / "trials").trials() == []


def test_a_large_text_is_refused_before_it_is_read(here: Path) -> None:
    (here / "a.json").write_text("12345")
    assert read_text(here / "a.json", 5) == "12345"
    with pytest.raises(InputError, match=r"a\.json has 5 bytes, and at most 4 are read"):
        read_text(here / "a.json", 4)
    huge(here / "a.json")
    with pytest.raises(InputError, match="at most 67,108,864 are read"):
        read_text(here / "a.json")
    with pytest.raises(InputError, match="a folder"):
        check_plain(here)
    with pytest.raises(FileNotFoundError):
        check_plain(here / "nothing")


def test_a_saved_ranker_behind_a_link(run: Path, here: Path) -> None:
    assert saved_runs.SavedRun(run).metrics
    linked(run / "model" / "value.json")
    with pytest.raises(InputError, match="is a link"):
        read(run / "model")


def test_no_link_of_a_run_is_copied_into_a_store(run: Path, here: Path) -> None:
    (run / "notes.txt").symlink_to(here / "secret.json")
    with MLflow(f"sqlite:///{here}/mlflow.db").run("name", {}) as tracked:
        tracked.log_files(run)
    assert list((here / "mlflow-artifacts").rglob("metrics.json"))
    assert not list((here / "mlflow-artifacts").rglob("notes.txt"))


def test_a_temporary_file_has_a_name_that_nobody_knows_before(here: Path) -> None:
    names = []
    for _ in range(3):
        with replacing(here / "a.json") as temporary:
            names.append(temporary.name)
            assert temporary.is_file()
            assert temporary.stat().st_size == 0
            temporary.write_text("done")
    assert len(set(names)) == 3
    assert [path.name for path in here.iterdir()] == ["a.json"]


def test_what_is_written_is_not_for_everybody_to_change(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = os.umask(0)
    try:
        monkeypatch.setattr(sys, "argv", ["recx", *CHAIN, "ranker=identity", "tracker=console"])
        assert main() == 0
        assert [path for path in here.rglob("*") if path.stat().st_mode & 0o002] == []
    finally:
        os.umask(before)
