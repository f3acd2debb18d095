"""What all tests share: the real data, where it is there."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from recx.config import option_sources

settings.register_profile("recx", deadline=None)  # the first example of a test may compile a kernel
settings.load_profile("recx")

# Tests send Ctrl-C to what they start, which would ignore it where a shell has started the tests in the background.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

SET_DATA = "set RECX_DATA"
"""Part of the reason of every test that is skipped because its data is missing."""

INSTALLED = {entry.value for entry in entry_points(group=option_sources.GROUP)}


def _of_tests(*, group: str) -> list[EntryPoint]:
    return [entry for entry in entry_points(group=group) if entry.value not in INSTALLED]


option_sources.entry_points = _of_tests  # type: ignore[assignment]
"""Plugins that are installed beside recx have tests of their own; here only those count that a test lays out."""


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Return a function from a name below the folder of real data to its path; it skips the test without that data.

    The folder is RECX_DATA, or ../shared/data beside the checkout.
    """
    folder = Path(os.environ.get("RECX_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))

    def path_of(name: str) -> Path:
        if not (folder / name).exists():
            pytest.skip(f"{folder / name} is not there: {SET_DATA}")
        return folder / name

    return path_of


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many tests were skipped because their data is missing."""
    without = sum(SET_DATA in str(report.longrepr) for report in terminalreporter.stats.get("skipped", ()))
    if without:
        terminalreporter.write_line(f"Tests skipped because their data is not here ({SET_DATA}): {without}")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the working directory until the test ends."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
