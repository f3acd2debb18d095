"""Every package says what an index and pip need to know, and all of them the same where they must agree."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT, *sorted(file.parent for file in ROOT.glob("plugins/*/pyproject.toml"))]
NEEDED = {
    *("Development Status", "Intended Audience", "Operating System", "Topic"),
    *(f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)),
    "Typing :: Typed",
}


def project(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_metadata_is_whole(folder: Path) -> None:
    about = project(folder)
    lacks = [start for start in NEEDED if not any(line.startswith(start) for line in about["classifiers"])]
    assert lacks == []
    assert "recommender-systems" in about["keywords"]
    assert about["requires-python"] == project(ROOT)["requires-python"] == ">=3.11,<3.14"
    assert about["license"] == "MIT"
    assert (folder / about["readme"]).is_file()
    assert list(folder.glob(f"{'recx' if folder == ROOT else folder.name.replace('-', '_')}/py.typed"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_licence_comes_with_each_package_but_the_template_whose_copies_have_other_authors(folder: Path) -> None:
    about = project(folder)
    if folder.name == "recx-template":
        assert {"license-files", "authors"}.isdisjoint(about)
        assert "Private :: Do Not Upload" in about["classifiers"]  # until its author has registered its name
        return
    assert about["authors"] == [{"name": "The recx authors"}]
    assert about["license-files"] == ["LICENSE"]
    assert (folder / "LICENSE").read_text(encoding="utf-8") == (ROOT / "LICENSE").read_text(encoding="utf-8")
