"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest

from recx.cli import main
from recx.jobs.sweep.plan import read as read_sweep

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    return [block for of, block in fenced if of == language]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of the plugin that the README makes, installed as pip would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["recx", "new-plugin", "mine"])
    assert main.main() == 0
    info = tmp_path / "recx-mine" / "recx_mine-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: recx-mine\nVersion: 0.1.0\n", encoding="utf-8")
    project = tomllib.loads((tmp_path / "recx-mine" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [(name, package)] = project["entry-points"]["recx.plugins"].items()
    (info / "entry_points.txt").write_text(f"[recx.plugins]\n{name} = {package}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "recx-mine")
    yield tmp_path / "recx-mine"
    for module in [module for module in sys.modules if module.split(".")[0] == "recx_mine"]:
        del sys.modules[module]


def test_the_example_of_a_part_is_what_new_plugin_writes(mine: Path) -> None:
    [code] = [block for block in blocks("python") if "class Newest" in block]
    assert code in (mine / "recx_mine" / "parts.py").read_text(encoding="utf-8")
    [option] = blocks("yaml")
    assert option == (mine / "recx_mine" / "conf" / "retriever" / "mine.yaml").read_text(encoding="utf-8")


def commands() -> list[str]:
    lines = [line.partition("   #")[0].strip() for block in blocks("") for line in block.splitlines()]
    return [line.removeprefix("python -m recx ") for line in lines if line.startswith("python -m recx ")]


def _missing() -> list[str]:
    """Return the words that choose Hydra plugins which are not installed here."""
    plugins = {
        "hydra/sweeper=optuna": "hydra_optuna_sweeper",
        "hydra/launcher=joblib": "hydra_joblib_launcher",
        "hydra/launcher=ray": "hydra_ray_launcher",
    }
    installed = {distribution.name.replace("-", "_") for distribution in distributions()}
    return [word for word, plugin in plugins.items() if plugin not in installed]


def is_verb(command: str) -> bool:
    return command.split()[0] in main.COMMANDS


@pytest.mark.parametrize("command", [command for command in commands() if not is_verb(command)])
def test_every_command_composes(
    command: str, mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # restored afterwards
    words = shlex.split(command)
    if words[0] == "-m":
        assert read_sweep([word for word in words[1:] if word not in ("resume=last", *_missing())])
        return
    monkeypatch.setattr("sys.argv", ["recx", *words, "--cfg", "job"])
    assert main.main() == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", [command for command in commands() if command.startswith("evaluate ")])
def test_every_evaluation_judges_files_of_those_names(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.csv").write_text("user,item,score\n1,a,0.9\n1,b,0.8\n2,a,0.3\n", encoding="utf-8")
    Path("truth.csv").write_text("user,item,grade\n1,b,1\n2,a,2\n", encoding="utf-8")
    Path("results.trec").write_text("1 Q0 a 1 0.9 x\n1 Q0 b 2 0.8 x\n2 Q0 a 1 0.3 x\n", encoding="utf-8")
    Path("qrels.trec").write_text("1 0 b 1\n2 0 a 2\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["recx", *command.split()])
    assert main.main() == 0
    said = capsys.readouterr()
    assert "0.8155" in said.out or "0.815464" in said.out  # NDCG: (1 / log2(3) + 1) / 2
    assert said.err == ""


def test_the_verbs_shown_are_there() -> None:
    shown = {command.split()[0] for command in commands() if is_verb(command)}
    assert {"evaluate", "list", "new-plugin"} <= shown
