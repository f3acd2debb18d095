"""Helpers of the tests of whole cases."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from recx.cli import main

Call = Callable[..., tuple[int, str]]


class Done(NamedTuple):
    """A command that ran in this process: its exit code and what it printed."""

    code: int
    out: str
    err: str


CommandIn = Callable[..., Done]


@pytest.fixture
def command_in(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandIn:
    """Return a function of a folder and words that runs the command line there, in this process."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # which a run sets: restored afterwards

    def run(folder: Path, *words: str) -> Done:
        folder.mkdir(exist_ok=True)
        capfd.readouterr()
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            patch.setattr(sys, "argv", ["recx", *words])
            patch.setattr(sys, "path", [*sys.path])  # a command adds the root of a project
            code = main.main()
        return Done(code, *capfd.readouterr())

    return run


@pytest.fixture
def call(here: Path, command_in: CommandIn) -> Call:
    """Return a function that runs the command line in this process and returns its exit code and stderr."""

    def run(*words: str) -> tuple[int, str]:
        done = command_in(here, *words)
        return done.code, done.err

    return run
