"""Programs run only by a command of this command line or of an own option file: nothing that a folder names is run."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from .conftest import CommandIn

PROGRAM = """
import sys, json
from pathlib import Path
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
folder = Path(sys.argv[-1])
with open("runs", "a") as file:
    file.write(json.loads((folder / "settings.json").read_text())["task"] + "\\n")
user = pq.read_table(folder / "requests.parquet")["user"].to_numpy() if (folder / "requests.parquet").exists() else []
table = {"user": np.asarray(user, dtype=np.int32), "item": np.zeros(len(user), np.int32), "score": np.ones(len(user))}
pq.write_table(pa.table(table), folder / "lists.parquet")
"""
WORDS = ("+experiment=news", "dataset.readers=60", "dataset.articles=40", "tracker=console", "ranker=identity")


def runs(folder: Path) -> list[str]:
    file = folder / "runs"
    return file.read_text().split() if file.exists() else []


@pytest.fixture(scope="module")
def once() -> list[Path]:
    """Return a list with the folder where a program was run, as soon as it was."""
    return []


@pytest.fixture
def ran(once: list[Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, command_in: CommandIn) -> Path:
    """Return a folder where a program was run by a typed command: a copy of the first, as a program takes a second."""
    if not once:
        folder = tmp_path_factory.mktemp("ran")
        (folder / "one.py").write_text(PROGRAM)
        done = command_in(folder, *WORDS, "retriever=external", f"retriever.command=[{sys.executable},one.py]")
        assert (done.code, done.err) == (0, "")
        said = (
            "contains what an external program has learnt, which is this run's alone: see python -m recx help external"
        )
        assert f"the model is not kept, since it {said}, or choose model=off" in " ".join(done.out.split())
        assert runs(folder) == ["fit", "retrieve"]
        once.append(folder)
    shutil.copytree(once[0], tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path


def test_a_typed_command_runs_once_and_its_lists_are_kept(ran: Path, command_in: CommandIn) -> None:
    words = (*WORDS, "retriever=external", f"retriever.command=[{sys.executable},one.py]", "name=again")
    assert command_in(ran, *words).code == 0
    assert runs(ran) == ["fit", "retrieve"]
    (ran / "one.py").write_text(PROGRAM + "\n# another\n")
    assert command_in(ran, *words).code == 0
    assert runs(ran) == ["fit", "retrieve"] * 2
    card = json.loads(max(ran.glob("outputs/*/*/protocol.json")).read_text())
    assert card["loaded"]["retriever"]["from"] == f"{sys.executable} one.py"
    assert card["loaded"]["retriever"]["versions"].keys() == {"numpy", "pyarrow"}


def test_what_reads_the_run_runs_nothing(ran: Path, command_in: CommandIn) -> None:
    [folder] = ran.glob("outputs/2*/*")
    for words in (("explain", "last", "--worst", "2"), ("report", "last"), ("predict", "last"), ("serve", "last")):
        done = command_in(ran, *words)
        assert done.code == (2 if words[0] in ("predict", "serve") else 0), done.err
        assert done.code == 0 or "this run kept no model" in done.err
    shutil.rmtree(ran / "outputs" / "cache")
    assert command_in(ran, "explain", str(folder), "--worst", "2").code == 0
    assert runs(ran) == ["fit", "retrieve"]


def test_a_command_of_an_option_file_runs_only_where_its_folder_is_named(ran: Path, command_in: CommandIn) -> None:
    [folder] = ran.glob("outputs/2*/*")
    settings = yaml.safe_load((folder / "config.yaml").read_text())["retriever"]
    own = ran / "shop" / "conf" / "retriever"
    own.mkdir(parents=True)
    (own / "theirs.yaml").write_text(f"# a program\n{yaml.safe_dump(settings)}")
    before = runs(ran)
    shutil.rmtree(ran / "outputs" / "cache")
    done = command_in(ran, *WORDS, f"hydra.searchpath=[file://{own.parent}]", "retriever=theirs")
    assert done.code == 2
    assert "neither this command line nor an option file under its --config-dir has this command" in done.err
    assert runs(ran) == before
    done = command_in(ran, "--config-dir", str(own.parent), *WORDS, "retriever=theirs")
    assert (done.code, done.err) == (0, "")
    assert runs(ran) == [*before, "fit", "retrieve"]


@pytest.mark.slow
def test_a_sweep_that_somebody_added_a_trial_to_runs_nothing_for_it(ran: Path, command_in: CommandIn) -> None:
    words = ("-m", *WORDS, "retriever=popularity", "seed=1,2", "fold=valid", "sweep_id=mine")
    assert command_in(ran, *words).code == 0
    [first] = ran.glob("outputs/sweeps/mine/trials/*0.json")
    trial = json.loads(first.read_text())
    trial |= {"number": 7, "objective": 1.0}
    trial["words"] += ["retriever=external", f"retriever.command=[{sys.executable},one.py,evil]"]
    first.with_name(first.name.replace("0", "7")).write_text(json.dumps(trial))
    done = command_in(ran, *words)
    assert done.code == 1
    assert "has this command, word for word, so it is not run" in " ".join(done.out.split())
    assert runs(ran) == ["fit", "retrieve"]
