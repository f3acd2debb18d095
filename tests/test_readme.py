"""What the README shows works as it stands there."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from recx import cli
from recx.testing import check_retriever

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def newest() -> Any:
    [code] = [block for block in blocks("python") if "class Newest" in block]
    names: dict[str, Any] = {"__name__": "builtins"}
    exec(compile(code, "README.md", "exec", dont_inherit=True), names)
    return names["Newest"]


def test_the_example_of_a_part_keeps_its_promises() -> None:
    check_retriever(newest()())


def test_the_option_file_of_the_example_names_every_setting() -> None:
    [option] = blocks("yaml")
    settings = yaml.safe_load(option)
    assert settings.pop("_target_") == "my_recx.newest.Newest"
    assert set(settings) == {field.name for field in fields(newest())}


def commands() -> list[str]:
    lines = [line.partition("   #")[0].strip() for block in blocks("") for line in block.splitlines()]
    return [line.removeprefix("python -m recx ") for line in lines if line.startswith("python -m recx ")]


@pytest.mark.parametrize("command", commands())
def test_every_command_composes(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # restored afterwards
    words = [word.strip("'") for word in command.split() if word != "-m"]
    words = [word.partition(",")[0] for word in words]  # of a sweep the first job
    monkeypatch.setattr("sys.argv", ["recx", *words, "--cfg", "job"])
    assert cli.main() == 0
    assert capsys.readouterr().err == ""
