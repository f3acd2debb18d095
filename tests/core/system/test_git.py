from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from recx.core.system.git import git_state


def test_the_commit_and_whether_files_differ_from_it(here: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)

    git("init")
    Path("file").write_text("one")
    git("add", "file")
    git("commit", "-m", "one")
    clean = git_state()
    assert len(clean["commit"]) == 40
    assert clean["dirty"] == "false"
    Path("file").write_text("two")
    assert git_state() == {"commit": clean["commit"], "dirty": "true"}


def test_no_repository_has_no_state(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(here.parent))
    assert git_state() == {}
    monkeypatch.setenv("PATH", "")
    assert git_state() == {}
