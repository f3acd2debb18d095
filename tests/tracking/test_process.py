"""Telling a live process from a dead one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recx.tracking.console import Console
from recx.tracking.process import identity, is_dead


def test_this_process_lives() -> None:
    assert not is_dead(identity())


def test_a_pid_that_another_process_got_is_dead() -> None:
    assert is_dead({**identity(), "recx.pid_started": "1"})


def test_an_ended_process_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert is_dead({**identity(), "recx.pid": str(process.pid)})


@pytest.mark.parametrize("other", [{"recx.host": "elsewhere"}, {"recx.pid": ""}])
def test_what_cannot_be_known_counts_as_alive(other: dict[str, str]) -> None:
    assert not is_dead({**identity(), "recx.pid_started": "1", **other})
    assert not is_dead({})


def test_the_console_tracker_keeps_nothing(tmp_path: Path) -> None:
    with Console().run("news", {"k": 1}) as run:
        run.log_metrics({"a": 1})
        run.log_tags({"b": "c"})
        run.log_files(tmp_path)
        assert run.address is None
    assert not list(tmp_path.iterdir())
