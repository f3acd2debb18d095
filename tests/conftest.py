"""What all tests share: the real data, where it is there."""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from recx import plugins

INSTALLED = {entry.value for entry in entry_points(group=plugins.GROUP)}


def _of_tests(*, group: str) -> list[EntryPoint]:
    return [entry for entry in entry_points(group=group) if entry.value not in INSTALLED]


plugins.entry_points = _of_tests  # type: ignore[assignment]
"""Plugins that are installed beside recx have tests of their own; here only those count that a test lays out."""


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data: RECX_DATA, or ../shared/data beside the checkout; skip where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RECX_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is not there (set RECX_DATA)")
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the working directory until the test ends."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
