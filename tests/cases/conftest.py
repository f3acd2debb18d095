"""Helpers of the tests of whole cases."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recx.cli import main

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return a function that runs the command line in this process and returns its exit code and stderr."""
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # restored afterwards

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["recx", *words])
        code = main.main()
        return code, capfd.readouterr().err

    return run
