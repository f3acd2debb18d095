"""CITATION.cff says of this version what pyproject.toml says."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

from recx.core.version import __version__

ROOT = Path(__file__).resolve().parents[2]


def test_it_is_of_this_version_and_agrees_with_the_package() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()  # what the format demands
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "software"
    assert cited["version"] == __version__
    assert cited["license"] == project["license"]
    assert cited["authors"] == project["authors"]
    assert cited["abstract"] == project["description"]
    assert set(cited["keywords"]) <= set(project["keywords"])
