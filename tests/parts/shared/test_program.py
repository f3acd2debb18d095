"""A program is found and run as it is told, and what it depends on is known."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recx.core.errors import InputError, RecxError
from recx.core.project import Project, entered
from recx.parts.retriever.external import External
from recx.parts.shared import program
from recx.parts.shared.program import Program, Workplace
from recx.storage.cache.keys import key_of_part

HERE = (sys.executable, "-S", "-c")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what programs leave behind removed with the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_program_gets_its_settings_its_folder_last_and_no_packages_of_this_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("RECX_SECRET_0", "hidden")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    script = "import json, os, sys; json.dump(dict(os.environ), open(sys.argv[-1] + '/told', 'w'))"
    Program("retriever.command", (*HERE, script), {"factors": 8}, seed=3).run(tmp_path, "fit", tmp_path / "m", k=5)
    environment = json.loads((tmp_path / "told").read_text())
    assert not {"PYTHONPATH", "VIRTUAL_ENV", "RECX_SECRET_0"} & environment.keys()
    assert environment["OMP_NUM_THREADS"] == "2"
    assert json.loads((tmp_path / "settings.json").read_text()) == {
        "contract": 1,
        "task": "fit",
        "model": str(tmp_path / "m"),
        "seed": 3,
        "threads": 2,
        "k": 5,
        "settings": {"factors": 8},
    }


@pytest.mark.parametrize(
    ("script", "timeout", "message"),
    [
        (
            "print('one'); print('two'); raise SystemExit(3)",
            None,
            "ended with the code 3 at the task fit; the end of its",
        ),
        ("print('one'); print('two'); raise SystemExit(3)", None, "output: one | two; its files are left in"),
        ("import time; time.sleep(60)", "200ms", "was stopped after 200ms (ranker.timeout) at the task fit"),
        ("import os; os.kill(os.getpid(), 9)", None, "was killed by the signal 9 at the task fit"),
    ],
)
def test_what_fails_is_one_sentence_and_its_files_stay(script: str, timeout: str | None, message: str) -> None:
    place = Workplace()
    with pytest.raises(RecxError) as caught, place.task() as folder:
        Program("ranker.command", (*HERE, script), timeout=timeout).run(folder, "fit", place.model)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    del place
    assert (folder / "settings.json").is_file()


def test_a_folder_is_for_this_user_alone_and_is_removed_with_what_holds_it() -> None:
    place = Workplace()
    assert place.folder.stat().st_mode & 0o777 == 0o700
    with place.task() as folder:
        assert folder.parent == place.folder
    assert not folder.exists()
    gone = place.folder
    del place
    assert not gone.exists()


def leave(path: Path, text: str = "") -> None:
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        lambda model: leave(model / "learnt", "other"),
        lambda model: leave(model / "more"),
        lambda model: (model / "learnt").unlink(),
        lambda model: (model / "learnt").rename(model / "renamed"),
    ],
    ids=["changed", "added", "removed", "renamed"],
)
def test_what_a_program_learnt_is_not_read_if_it_is_not_as_the_program_left_it(change: Callable[[Path], Any]) -> None:
    workplace = Workplace()
    for text in ("once", "twice"):  # a program may go on learning in each of its tasks
        with workplace.task():
            leave(workplace.model / "learnt", text)
    change(workplace.model)
    with pytest.raises(RecxError, match="something else has changed what the program learnt"), workplace.task():
        pass


def test_what_may_not_or_cannot_run_is_refused() -> None:
    with pytest.raises(InputError, match=r"^retriever.command is not set: name a program"):
        External().preflight()
    with pytest.raises(InputError, match="there is no program 'no-such-program': give its path"):
        External(("no-such-program",)).preflight()
    with entered(Project()), pytest.raises(InputError, match=r"retriever.command=\[rm,-r\]: neither this command line"):
        External(("rm", "-r")).preflight()
    with pytest.raises(InputError, match=r"retriever.command.1=3: it must be text"):
        External(("python", 3))  # type: ignore[arg-type]


def environment(folder: Path, *packages: str) -> Path:
    """Make what looks like a virtual environment, and return its Python."""
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").touch()
    (folder / "bin" / "python").symlink_to(sys.executable)
    for package in packages:
        (folder / "lib" / "python3.9" / "site-packages" / f"{package}.dist-info").mkdir(parents=True)
    return folder / "bin" / "python"


def test_the_key_follows_the_command_its_files_and_the_packages_of_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("als.py").write_text("import implicit\n")
    Path("helper.py").write_text("1\n")
    python = str(environment(tmp_path / "one", "implicit-0.7.2", "numpy-2.0"))
    part = External((python, "als.py"), uses=("helper.py",))
    keys = [key_of_part(part), key_of_part(External((python, "als.py", "x"), uses=("helper.py",)))]
    Path("als.py").write_text("import implicit  # again\n")
    keys.append(key_of_part(part))
    Path("helper.py").write_text("2\n")
    keys.append(key_of_part(part))
    site = tmp_path / "one" / "lib" / "python3.9" / "site-packages"
    (site / "implicit-0.7.2.dist-info").rename(site / "implicit-0.7.3.dist-info")
    keys.append(key_of_part(part))
    keys.append(key_of_part(External((python, "als.py"), settings={"factors": 8}, uses=("helper.py",))))
    assert len(set(keys)) == len(keys)
    assert key_of_part(part) == keys[-2]


def test_the_card_has_the_command_and_the_versions_of_what_the_script_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("als.py").write_text("import sys\nfrom implicit.als import AlternatingLeastSquares\n")
    python = str(environment(tmp_path / "one", "implicit-0.7.3", "numpy-2.0"))
    said = External((python, "als.py")).loaded
    assert said["from"] == f"{python} als.py"
    assert said["versions"] == {"implicit": "0.7.3"}
    Path("als.py").write_text("import numpy\n")
    again = External((python, "als.py")).loaded
    assert again["versions"] == {"numpy": "2.0"}
    assert again["digest"] != said["digest"]


def test_a_program_that_is_no_python_has_no_packages() -> None:
    part = External(("ls",))
    assert part._program.packages == ()
    assert key_of_part(part)


def test_progress_is_read_from_a_line() -> None:
    lines = ["epoch 3/10", "loss 0.3", " 45%|####", "7 / 0", "12/10", "done 100 %"]
    shares = [program._share(line, 0.5) for line in lines]
    assert shares == [0.3, 0.5, 0.45, 0.5, 0.5, 1.0]


def test_neither_program_nor_what_it_learnt_leaves_this_machine() -> None:
    import pickle

    with pytest.raises(InputError, match="choose engine=local"):
        pickle.dumps(Workplace())
