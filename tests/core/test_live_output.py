"""Progress in a notebook: one output of the cell, replaced while a run goes on, that ends with what is done."""

from __future__ import annotations

import builtins
import io
import sys
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

from recx.core import progress
from recx.core.live_output import in_notebook
from recx.core.progress import Stages, bar, say, shown_on
from recx.report.terminal.console import console_of_stdout


class ZMQInteractiveShell:
    """Stand-in for the shell of a notebook's kernel, which rich knows by this name."""


class Cell:
    """The outputs of a cell: display id -> its texts, one after the other."""

    def __init__(self) -> None:
        self.outputs: dict[str, list[str]] = {}

    def display(self, data: dict[str, str], *, raw: bool, display_id: str) -> None:
        assert raw
        assert display_id not in self.outputs
        self.outputs[display_id] = [data["text/plain"]]

    def update_display(self, data: dict[str, str], *, raw: bool, display_id: str) -> None:
        assert raw
        self.outputs[display_id].append(data["text/plain"])


class Clock:
    """A clock that advances on request."""

    now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(progress, "time", fake)
    return fake


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    made, package, module = Cell(), ModuleType("IPython"), ModuleType("IPython.display")
    vars(module).update(display=made.display, update_display=made.update_display)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as kernels do
    return made


def test_outside_a_notebook_there_is_none() -> None:
    assert not in_notebook()


def test_a_run_has_one_output_that_ends_with_the_seconds_of_every_stage(cell: Cell, clock: Clock) -> None:
    console, stage = Console(file=io.StringIO(), force_terminal=True), Stages(_started=clock.now)
    with shown_on(console):
        with stage("load"):
            clock.now += 2
        with stage("rank"), bar() as show:
            clock.now += 1
            show(0.5, "3 of 6 blocks")
            show(0.6, "too soon after the last one to be shown")
        say("submission.csv: 2 rows")
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == ""
    (texts,) = cell.outputs.values()
    lines = [[line.split() for line in text.splitlines()] for text in texts]
    load, rank = ["load", "2.00", "s"], ["rank", "1.00", "s"]
    assert lines == [
        [["load", "…"]],
        [load],
        [load, ["rank", "…"]],
        [load, ["rank", "…", "50%", "3", "of", "6", "blocks"]],
        [load, rank],
        [load, rank, ["submission.csv:", "2", "rows"]],
    ]


def test_a_stage_that_fails_does_not_go_on_in_the_output(cell: Cell, clock: Clock) -> None:
    with pytest.raises(ValueError, match="no"), shown_on(Console(file=io.StringIO())), Stages()("load"):
        raise ValueError("no")
    (texts,) = cell.outputs.values()
    assert texts == ["load …", "load stopped"]


def test_every_run_of_a_cell_has_its_own_output_and_silent_work_none(cell: Cell) -> None:
    with Stages()("load"):
        pass
    assert cell.outputs == {}
    for text in ("one", "two"):
        with shown_on(Console(file=io.StringIO())):
            say(text)
    assert list(cell.outputs.values()) == [["one"], ["two"]]


def test_the_summary_is_plain_text_in_one_output(cell: Cell, capsys: pytest.CaptureFixture[str]) -> None:
    console: Any = console_of_stdout()
    console.print("[bold]first[/bold]")
    console.print("second")
    assert capsys.readouterr().out == "first\nsecond\n"
    assert cell.outputs == {}
