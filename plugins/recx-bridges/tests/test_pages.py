"""The commands that recx's pages on coming from other libraries show with a bridge compose."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from recx.cli import main as cli

PAGES = Path(__file__).resolve().parents[3] / "docs" / "coming-from"
LINES = [
    line
    for page in sorted(PAGES.glob("*.md"))
    for line in re.findall(r"^python -m recx (.*retriever=.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    if set(line.split()) & {"retriever=lenskit", "retriever=recbole", "retriever=rectools"}
]


@pytest.mark.parametrize("line", LINES)
def test_every_command_composes(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert len(LINES) == 4
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # restored afterwards
    monkeypatch.setattr("sys.argv", ["recx", *shlex.split(line), "--cfg", "job"])
    assert cli.main() == 0
    printed = capsys.readouterr()
    [library] = re.findall("retriever=([a-z]+)", line)
    assert f"library: {library}\n" in printed.out
    assert printed.err == ""
