"""recx writes into folders that are new, empty or its own, removes what it made, and keeps runs apart."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.core.system.atomic import replacing
from recx.core.system.own_folder import MARK, OwnFolder, files_of_run, is_finished
from recx.experiment import saved_runs
from recx.jobs.from_python import run
from recx.jobs.history import past_runs

TINY = ("+experiment=news", "dataset.readers=60", "dataset.articles=40", "tracker=console", "cache=off")
Call = Callable[..., tuple[int, str]]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def precious(folder: Path) -> None:
    (folder / "precious" / "inner").mkdir(parents=True)
    (folder / "precious" / "config.yaml").write_text("my: own settings")
    (folder / "precious" / "inner" / ".env").write_text("TOKEN=secret")


@pytest.mark.parametrize("more", [(), ("hydra.output_subdir=.hydra",), ("hydra/job_logging=default",)])
@pytest.mark.parametrize("name", ["precious", "link", "precious/../precious", "{here}/precious"])
def test_a_run_is_refused_a_folder_with_files_of_others(call: Call, here: Path, name: str, more: tuple[str]) -> None:
    precious(here)
    (here / "link").symlink_to("precious")
    before = content(here)
    code, said = call(*TINY, "ranker=identity", f"hydra.run.dir={name.format(here=here)}", *more)
    assert (code, said.count("\n")) == (2, 1)
    assert "holds files that no run wrote there (config.yaml, inner/.env)" in said
    assert content(here) == before


@pytest.mark.parametrize("name", [".", "..", "outputs", "{here}"])
def test_a_run_is_refused_the_folder_of_all_output(call: Call, here: Path, name: str) -> None:
    code, said = call(*TINY, f"hydra.run.dir={name.format(here=here)}")
    assert code == 2
    assert "would lie in it" in said
    assert not list(here.iterdir())


def test_a_run_is_refused_a_file_and_a_link_to_nowhere(call: Call, here: Path) -> None:
    (here / "file").write_text("mine")
    (here / "nowhere").symlink_to("not/there")
    for name in ("file", "nowhere"):
        code, said = call(*TINY, f"hydra.run.dir={name}")
        assert code == 2
        assert "exists already and is not a folder" in said
    assert (here / "file").read_text() == "mine"


@pytest.mark.parametrize("subdir", ["..", "{here}/precious", "summary", "../../../precious"])
def test_a_trial_is_refused_a_folder_outside_of_its_sweep(call: Call, here: Path, subdir: str) -> None:
    precious(here)
    older = here / "outputs" / "sweeps" / "older"
    older.mkdir(parents=True)
    (older / "sweep.csv").write_text("keep")
    before = content(here)
    code, said = call("-m", *TINY, "ranker=identity", "seed=1,2", f"hydra.sweep.subdir={subdir.format(here=here)}")
    assert code == 2
    assert "hydra.sweep.subdir: the trial would write into" in said
    assert before.items() <= content(here).items()


def test_two_trials_are_not_mixed_in_one_folder(call: Call, here: Path) -> None:
    words = ("ranker=identity,linear", "hydra.sweep.subdir=trial", "sweep_id=mine")
    assert call("-m", *TINY, *words)[0] == 1
    trials = [json.loads((here / f"outputs/sweeps/mine/trials/{n}.json").read_text()) for n in (0, 1)]
    assert "holds the files of trial 0 of this sweep, not of trial 1" in trials[1]["reason"]
    metrics = saved_runs.load(trials[0]["folder"]).metrics
    assert metrics["end_to_end/ndcg_at_5"] == pytest.approx(trials[0]["objective"])
    assert saved_runs.load(trials[0]["folder"]).config["ranker"]["_target_"].endswith("Identity")


def test_a_sweep_is_refused_a_folder_of_no_sweep(call: Call, here: Path) -> None:
    mine = here / "outputs" / "sweeps" / "mine"
    mine.mkdir(parents=True)
    (mine / "study.db").write_text("years of work")
    code, said = call("-m", *TINY, "ranker=identity", "seed=1,2", "sweep_id=mine")
    assert code == 2
    assert "holds files of no sweep (study.db)" in said
    assert content(mine) == {"study.db": b"years of work"}


def test_a_second_run_in_a_folder_replaces_the_first_as_a_whole(call: Call, here: Path) -> None:
    folder = here / "mine"
    assert call(*TINY, "hydra.run.dir=mine") == (0, "")
    assert (folder / "model").is_dir()
    assert call(*TINY, "ranker=identity", "dataset.path=nowhere", "hydra.run.dir=mine")[0] == 2
    assert is_finished(folder)  # what failed before it wrote anything replaces nothing
    assert call(*TINY, "ranker=identity", "model=off", "hydra.run.dir=mine") == (0, "")
    assert not (folder / "model").exists()
    assert saved_runs.load("mine").config["ranker"]["_target_"].endswith("Identity")
    (folder / "notes.txt").write_text("mine")
    code, said = call(*TINY, "hydra.run.dir=mine")
    assert code == 2
    assert "no run wrote there (notes.txt)" in said
    assert saved_runs.load("mine").config["ranker"]["_target_"].endswith("Identity")


def test_two_runs_at_once_do_not_share_a_folder(here: Path) -> None:
    first, second = (OwnFolder(here / "a" / "b", ["x"]) for _ in range(2))
    with first.held(), pytest.raises(InputError, match="another run is writing there"), second.held():
        pass
    assert not (here / "a").exists()  # nothing was written


def test_only_what_was_written_is_removed(here: Path) -> None:
    own, other = OwnFolder(here / "run", ["x.csv", "tables"]), OwnFolder(here / "run", ["x.csv"], "a benchmark")
    own.begin()
    assert not is_finished(own.path)
    (own.path / "x.csv").write_text("1")
    (own.path / "tables").mkdir()
    for name in ("x.csv", "tables/y.csv", MARK):
        replacing(own.path / name).__enter__().write_text("half")
    own.clear()  # killed: what it may write is its own
    assert not content(own.path)
    (own.path / ".notes.txt.0123abcd.part").write_text("half")
    with pytest.raises(InputError, match=r"no run wrote there \(.notes.txt.0123abcd.part"):
        own.clear()
    (own.path / ".notes.txt.0123abcd.part").unlink()
    own.begin()
    (own.path / "of_a_plugin.txt").write_text("1")
    own.add(own.path / "of_a_plugin.txt")
    own.seal()
    own.check()  # finished: what it wrote is its own
    with pytest.raises(InputError, match="holds the files of a run, not of a benchmark"):
        other.clear()
    (own.path / MARK).write_text('{"of": 3}')  # a damaged mark is none
    with pytest.raises(InputError, match=r"no run wrote there \(of_a_plugin.txt"):
        own.clear()
    assert (own.path / "of_a_plugin.txt").exists()


def test_links_in_a_run_are_not_followed(here: Path) -> None:
    precious(here)
    own = OwnFolder(here / "run", ["tables"])
    own.begin()
    (own.path / "tables").symlink_to(here / "precious")
    own.clear()
    assert not (own.path / "tables").exists()
    assert (here / "precious" / "config.yaml").exists()


def test_a_run_of_an_older_version_is_finished_by_its_figures(here: Path) -> None:
    run = here / "outputs" / "a" / "b"
    run.mkdir(parents=True)
    (run / "metrics.json").write_text("{}")
    assert saved_runs.load("last").folder == Path("outputs/a/b")
    OwnFolder(run, ["metrics.json"])._mark(False, ["metrics.json"])
    with pytest.raises(InputError, match="no run has finished"):
        saved_runs.load("last")
    with pytest.raises(InputError, match="ended before it was complete"):
        saved_runs.load("a/b")
    assert past_runs(Path("outputs")) == []


def test_no_page_is_written_over_another_file(call: Call, here: Path) -> None:
    assert call(*TINY, "ranker=identity") == (0, "")
    (here / "thesis.html").write_text("<!doctype html>\n<html>mine</html>")
    code, said = call("report", "last", "--output", "thesis.html")
    assert code == 2
    assert "is not a page of recx" in said
    assert "mine" in (here / "thesis.html").read_text()
    for _ in range(2):  # its own is replaced
        assert call("report", "last", "--output", "new/page.html") == (0, "")


def test_pruning_removes_entries_only(call: Call, here: Path) -> None:
    other = here / "store" / "ab" / f"ab{'0' * 30}"
    other.mkdir(parents=True)
    (other / "photo.jpg").write_text("mine")
    assert call("cache", "--folder", "store", "--keep", "0B") == (0, "")
    assert (other / "photo.jpg").exists()


def test_the_database_of_another_program_is_left_alone(call: Call, here: Path) -> None:
    with sqlite3.connect(here / "shop.db") as shop:
        shop.execute("CREATE TABLE orders (id INTEGER)")
    shop.close()
    before = (here / "shop.db").read_bytes()
    words = ("+experiment=news", "dataset.readers=60", "dataset.articles=40", "cache=off", "ranker=identity")
    code, said = call(*words, f"tracker.uri=sqlite:///{here}/shop.db")
    assert code == 2
    assert "is the database of another program (orders)" in said
    assert (here / "shop.db").read_bytes() == before


def test_only_files_of_the_run_are_logged(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recx.tracking.mlflow import MlflowRun

    own, logged = OwnFolder(here / "run", ["metrics.json"]), []

    class Client:
        def log_artifact(self, run: str, path: str, place: str | None) -> None:
            logged.append(os.path.basename(path))  # noqa: PTH119

        def log_text(self, run: str, text: str, path: str) -> None: ...

        def log_batch(self, run: str, **_: object) -> None: ...

    with own.held():
        own.begin()
        (own.path / "metrics.json").write_text("{}")
        MlflowRun(Client(), "id", "").log_files(own.path)  # type: ignore[arg-type]
    assert logged == ["metrics.json"]


@pytest.mark.parametrize(
    "name", ["outputs/cache", "outputs/cache/12", "outputs/mlflow.db", "outputs/mlflow-artifacts/1", "outputs/sweeps/a"]
)
def test_a_run_is_refused_the_places_of_other_things(call: Call, here: Path, name: str) -> None:
    code, said = call(*TINY, "ranker=identity", f"hydra.run.dir={name}")
    assert code == 2
    assert "holds other things than runs" in said
    with pytest.raises(InputError, match="holds other things than runs"):
        run([*TINY, f"hydra.run.dir={here / name}"])
    assert not list(here.iterdir())


@pytest.mark.parametrize("name", [".hydra/config.yaml", "recx.log"])
@pytest.mark.parametrize("more", [(), ("hydra.output_subdir=.hydra", "hydra/job_logging=default")])
def test_what_hydra_wrote_for_another_program_stays(call: Call, here: Path, name: str, more: tuple[str, ...]) -> None:
    (here / "theirs" / ".hydra").mkdir(parents=True)
    (here / "theirs" / name).write_text("theirs")
    code, said = call(*TINY, "ranker=identity", "hydra.run.dir=theirs", *more)
    assert code == 2
    assert f"holds files that no run wrote there ({name})" in said
    with pytest.raises(InputError, match="no run wrote there"):
        run([*TINY, "hydra.run.dir=theirs"])
    assert content(here) == {f"theirs/{name}": b"theirs"}


def test_what_hydra_wrote_for_an_earlier_run_is_replaced(call: Call, here: Path) -> None:
    words = (*TINY, "ranker=identity", "hydra.run.dir=mine", "hydra.output_subdir=.hydra", "hydra/job_logging=default")
    for _ in range(2):
        assert call(*words) == (0, "")
    assert (here / "mine" / ".hydra" / "config.yaml").is_file()


@pytest.mark.parametrize("name", [".hydra", "recx.log", ".recx.lock"])
def test_a_link_with_a_name_of_ours_is_not_followed(call: Call, here: Path, name: str) -> None:
    precious(here)
    (here / "run").mkdir()
    target = here / "precious" / ("" if name == ".hydra" else "config.yaml")
    (here / "run" / name).symlink_to(target)
    before = content(here)
    more = ("hydra.output_subdir=.hydra", "hydra/job_logging=default")
    code, said = call(*TINY, "ranker=identity", "hydra.run.dir=run", *more)
    assert (code, f"no run wrote there ({name})" in said) == (2, True)
    assert content(here) == before


def test_the_mark_of_a_stranger_decides_nothing(here: Path) -> None:
    own = OwnFolder(here / "theirs", ["x.csv"])
    own.begin()
    (own.path / "x.csv").write_text("1")
    own.add(own.path / "mine.txt")
    (own.path / "mine.txt").write_text("1")
    own.seal()
    own.check()
    shutil.copytree(own.path, here / "copy")
    with pytest.raises(InputError, match=r"no run wrote there \(mine.txt\)"):
        OwnFolder(here / "copy", ["x.csv"]).clear()
    assert (here / "copy" / "mine.txt").exists()
    (own.path / MARK).unlink()
    os.mkfifo(own.path / MARK)
    with pytest.raises(InputError, match=r"no run wrote there"):
        own.clear()


def test_a_file_that_a_person_adds_meanwhile_is_not_of_the_run(here: Path) -> None:
    own = OwnFolder(here / "run", ["x.csv"])
    own.begin()
    for name in ("x.csv", ".env", "of_a_plugin.txt"):
        (own.path / name).write_text("1")
    own.add(own.path / "of_a_plugin.txt")
    assert files_of_run(own.path) == ["of_a_plugin.txt", "x.csv"]
    own.seal()
    with pytest.raises(InputError, match=r"no run wrote there \(\.env\)"):
        own.clear()


@pytest.mark.slow
def test_a_benchmark_replaces_an_earlier_one(call: Call, here: Path) -> None:
    words = ["+experiment=rerank_benchmark", "tracker=console", "hydra.run.dir=bench", "dataset.queries=20"]
    words += [f"~benchmark.rankers.{name}" for name in ("bm25", "linear")]
    for _ in range(2):
        assert call(*words) == (0, "")
    assert call(*TINY, "hydra.run.dir=bench")[0] == 2


def test_a_store_that_is_a_folder_is_said(call: Call, here: Path) -> None:
    (here / "outputs" / "mlflow.db").mkdir(parents=True)
    code, said = call(*TINY, "ranker=identity", "tracker=mlflow")
    assert code == 2
    assert "mlflow.db is not a file" in said
