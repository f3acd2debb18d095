"""Environments of other libraries are made where they belong, and are complete or not there."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from recx.config import option_sources
from recx.config.option_sources import Source
from recx.core.environments import folder_of, python_of
from recx.core.errors import InputError, RecxError
from recx.core.system import child
from recx.core.system.child import Ended
from recx.jobs import bridges
from recx.jobs.bridges import VERSION, Bridge

ONE = Bridge("one", "models", ("one==1.0",), "3.11 to 3.13")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the commands that are run, none of which is: a folder for venv, nothing for pip, 3.12 for a version."""
    seen: list[list[str]] = []

    def run(command: list[str], *_: object) -> Ended:
        if command[1:] == [*VERSION]:
            version = {"python2": "2.7", "sh": "no number"}.get(Path(command[0]).name, "3.12")
            return Ended(0, (version,))
        seen.append(command)
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True)
            (Path(command[-1]) / "bin" / "python").symlink_to(sys.executable)
        if command[-1] == "stopped==1":
            raise KeyboardInterrupt
        return Ended(1 if command[-1] == "bad==1" else 0, ("pip says", "no such version"))

    monkeypatch.setattr(child, "run", run)
    return seen


def test_an_environment_is_made_with_pip_and_marked_at_the_end(home: Path, commands: list[list[str]]) -> None:
    assert (ONE.state, python_of("one")) == ("missing", None)
    folder = ONE.set_up()
    assert folder == folder_of("one") == home / "recx" / "bridges" / "one"
    assert commands[0] == [sys.executable, "-m", "venv", str(folder)]
    assert commands[1][:4] == [str(folder / "bin" / "python"), "-m", "pip", "install"]
    assert commands[1][-1] == "one==1.0"
    assert (ONE.state, python_of("one")) == ("ready", folder / "bin" / "python")
    assert Bridge("one", "models", ("one==2.0",), "").state == "outdated"
    (folder / "left").touch()
    ONE.set_up(sys.executable)
    assert not (folder / "left").exists()
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_one_that_fails_is_not_there(commands: list[list[str]]) -> None:
    ONE.set_up()
    bad = Bridge("one", "models", ("bad==1",), "3.9 to 3.13")
    with pytest.raises(RecxError, match=r"setup one: -m pip install failed \(pip says \| no such version\)"):
        bad.set_up()
    assert (bad.state, python_of("one")) == ("missing", None)
    assert not folder_of("one").exists()
    with pytest.raises(KeyboardInterrupt):
        Bridge("one", "models", ("stopped==1",), "3.11 to 3.13").set_up()
    assert not folder_of("one").exists()
    assert ONE.set_up().exists()


def test_the_mark_of_one_that_is_made_anew_goes_first(
    home: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ONE.set_up()

    def stopped(path: Path) -> None:
        raise PermissionError(1, "Operation not permitted", str(path / "bin"))

    monkeypatch.setattr(shutil, "rmtree", stopped)
    with pytest.raises(
        RecxError, match=rf"^{folder}/bin: it cannot be removed \(Operation not permitted\): remove {folder} "
    ):
        ONE.set_up()
    assert folder.exists()
    assert (ONE.state, python_of("one")) == ("missing", None)


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (
            "no-such-python",
            "--python=no-such-python: there is no such program: name a Python of 3.11 to 3.13 with --py",
        ),
        (
            "python2",
            r"recx bridge setup one: .*/python2 is Python 2\.7, and one==1\.0 and what it needs run on 3\.11 t",
        ),
        ("sh", "--python=sh: it is no Python: name a Python of 3.11 to 3.13 with --python"),
    ],
)
def test_a_python_that_does_not_fit_is_refused_before_anything_is_removed(
    home: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, python: str, message: str
) -> None:
    ONE.set_up()
    monkeypatch.setenv("PATH", str(home))
    for name in ("python2", "sh"):
        (home / name).touch(mode=0o755)
    with pytest.raises(InputError, match=message):
        ONE.set_up(python)
    assert ONE.state == "ready"


def test_plugins_declare_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "conf").mkdir(parents=True)
        (tmp_path / name / "bridges.toml").write_text('[one]\nabout = "x"\nrequires = ["one==1"]\npython = "3.11"\n')
    sources = [Source(name, tmp_path / name / "conf") for name in ("a", "b")]
    monkeypatch.setattr(option_sources, "packages", lambda: sources[:1])
    assert bridges.bridges() == {"one": Bridge("one", "x", ("one==1",), "3.11")}
    with pytest.raises(InputError, match="there is no library 'two': choose one of: one"):
        bridges.bridge("two")
    monkeypatch.setattr(option_sources, "packages", lambda: sources)
    with pytest.raises(InputError, match="another plugin has the library 'one' too"):
        bridges.bridges()
    monkeypatch.setattr(option_sources, "packages", lambda: [])
    with pytest.raises(InputError, match="install a plugin that has some, such as recx-bridges"):
        bridges.bridge("one")


def test_the_folder_is_in_the_home_without_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME")
    assert folder_of("one") == Path(os.path.expanduser("~/.local/share/recx/bridges/one"))  # noqa: PTH111
