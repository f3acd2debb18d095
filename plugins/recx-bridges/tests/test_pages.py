"""The commands that recx's pages on coming from other libraries show with a bridge compose."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).resolve().parents[3] / "docs" / "coming-from"
LINES = [
    line
    for page in sorted(PAGES.glob("*.md"))
    for line in re.findall(r"^python -m recx (.*retriever=.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    if set(line.split()) & {"retriever=lenskit", "retriever=recbole", "retriever=rectools"}
]


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_every_command_composes(line: str, tmp_path: Path) -> None:
    assert len(LINES) == 4
    command = [sys.executable, "-m", "recx", *shlex.split(line), "--cfg", "job"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    [library] = re.findall("retriever=([a-z]+)", line)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"library: {library}\n" in done.stdout
