"""Another distribution that owns the package recx is named, and none that does not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import recx
from recx.cli import main as cli
from recx.core.distribution import check_distribution
from recx.core.errors import InputError


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder that is searched for distributions."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "gone.zip"), str(tmp_path)])
    return tmp_path


def lay(site: Path, name: str, **files: str) -> None:
    info = site / f"{name}.dist-info"
    info.mkdir()
    for file, text in files.items():
        (info / file.replace("top_level", "top_level.txt")).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("folder", "files", "named"),
    [
        ("recx-0.9.2", {"top_level": "recx\n"}, "recx 0.9.2"),
        ("RecX-1.0", {"RECORD": "recx-1.0.dist-info/METADATA,,\n__editable__.recx.pth,,\n"}, "recx 1.0"),
        ("recx-2.0", {}, "recx 2.0"),
        ("frames-3.1", {"top_level": "frames\nrecx\n"}, "frames 3.1"),
        ("recx_fork-1.0rc1", {"RECORD": "recx_fork.py,,\nrecx/__init__.py,sha256=x,1\n"}, "recx-fork 1.0rc1"),
    ],
)
def test_an_owner_is_named_with_its_place_and_the_way_out(
    folder: str, files: dict[str, str], named: str, site: Path
) -> None:
    lay(site, "numpy-2.4", top_level="numpy\n")
    lay(site, folder, **files)
    with pytest.raises(InputError) as raised:
        check_distribution()
    assert str(raised.value) == (
        f"the distribution {named} in {site} has the package recx too: its files and those of recx-lab share one "
        f"folder or one name, so it is unknown which code runs: pip uninstall {named.split()[0]} recx-lab, then "
        "install recx-lab again from its folder or wheel"
    )


def test_what_does_not_own_it_passes(site: Path) -> None:
    lay(site, "recx_lab-0.1.0", top_level="recx\n")
    lay(site, "recx_text-0.1.0", top_level="recx_text\n")
    lay(site, "recx_flit-0.1.0", RECORD="recx_flit/recx/__init__.py,,\n")
    lay(site, "recx_broken-0.1.0")
    lay(site, "other-1.0", RECORD="recx/__init__.py,,\n")  # read only where the name begins with recx
    (site / "recx.egg-info").mkdir()  # what a build leaves in a checkout is not installed
    (site / "recx.egg-info" / "top_level.txt").write_text("recx\n", encoding="utf-8")
    check_distribution()


def test_the_command_line_stops_with_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lay(tmp_path, "recx-0.9.2", top_level="recx\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "argv", ["recx", "list"])
    assert cli.main() == 2
    assert capsys.readouterr().err.startswith(f"the distribution recx 0.9.2 in {tmp_path} has the package recx too")


@pytest.mark.parametrize("start", [recx.run, recx.sweep])
def test_a_run_and_a_sweep_from_python_stop(
    start: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(tmp_path, "recx-0.9.2", top_level="recx\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"the distribution recx 0\.9\.2"):
        start("+experiment=news")
