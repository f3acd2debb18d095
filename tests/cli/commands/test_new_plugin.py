"""A new plugin is a whole package: it is found, its parts run, and its own tests pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recx.cli.commands import new_plugin
from recx.core.errors import InputError

ROOT = Path(__file__).resolve().parents[3]


def test_everything_is_called_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert new_plugin.run(["my-own"]) == 0
    files = [file for file in (tmp_path / "recx-my-own").rglob("*") if file.is_file()]
    assert tmp_path / "recx-my-own" / "recx_my_own" / "conf" / "metric" / "my_own_capped_recall.yaml" in files
    assert len(files) == 9
    for file in files:
        assert "template" not in f"{file.relative_to(tmp_path)} {file.read_text(encoding='utf-8')}".lower()


@pytest.mark.slow
def test_its_own_tests_pass_and_its_parts_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new_plugin.run(["mine"])
    info = tmp_path / "recx-mine" / "recx_mine-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: recx-mine\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[recx.plugins]\nmine = recx_mine\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path / 'recx-mine'}"}
    metrics = "evaluator.end_to_end=[ndcg_at_5,mine_capped_recall_at_5]"
    words = ["+experiment=news", "dataset.readers=200", "tracker=console", "feature=mine", metrics]
    for command in (
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "recx-mine"],
        ["-m", "recx", *words, "retriever=mine", "ranker=mine"],
        ["-m", "recx", *words, "retriever=union", "ranker=linear"],
    ):
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "mine capped recall" in done.stdout
    assert "mine_freshness" in done.stdout


@pytest.mark.parametrize("name", ["", "Mine", "1st", "a b", "../x", "mine_", "é", "a--b", "a/b"])
def test_a_name_that_no_package_can_have_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"a name consists of lower-case letters, digits and -, such as mine$"):
        new_plugin.run([name])
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recx-mine").mkdir()
    with pytest.raises(InputError, match=r"the folder recx-mine exists already: remove it, or choose another name$"):
        new_plugin.run(["mine"])
