"""The wheel holds everything that a run needs, option files included, and runs from any folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from recx import __version__

ROOT = Path(__file__).resolve().parents[2]
KINDS = (".py", ".yaml", ".toml", ".jinja", ".css", ".js")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel's content, built from a copy so that nothing is left in the checkout."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    for name in ("recx", "conf", "plugins/recx-template"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def test_the_changelog_begins_with_this_version() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert newest
    assert newest[1] == __version__


@pytest.mark.slow
def test_every_module_and_option_file_is_in_the_wheel(unpacked: Path) -> None:
    sources = {"recx": "recx", "conf": "recx/conf", "plugins/recx-template": "recx/template"}
    expected = {
        Path(there) / file.relative_to(ROOT / here)
        for here, there in sources.items()
        for kind in KINDS
        for file in (ROOT / here).rglob(f"*{kind}")
    }
    packed = [file for file in (unpacked / "recx").rglob("*") if file.suffix in KINDS]
    assert {file.relative_to(unpacked) for file in packed} == expected
    assert (unpacked / "recx" / "py.typed").is_file()
    assert (unpacked / f"recx-{__version__}.dist-info").is_dir()


@pytest.mark.slow
def test_the_wheel_runs_from_another_folder(unpacked: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "recx", "+experiment=news", "tracker=console", "dataset.readers=200"]
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    where = "import recx; print(recx.__file__)"
    found = subprocess.run([sys.executable, "-c", where], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert found.stdout.startswith(str(unpacked))
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert list((tmp_path / "outputs").glob("*/*_news/metrics.json"))
