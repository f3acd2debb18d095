"""Progress: silent unless shown, plain lines off a terminal, seconds by stage."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from waiting import until

from recx.core import progress
from recx.core.progress import Stages, bar, say, shown_on, track


class Clock:
    """A clock that advances on request."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(progress, "time", fake)
    return fake


def plain() -> Console:
    return Console(file=io.StringIO(), width=80)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_nothing_is_said_unless_shown(capsys: pytest.CaptureFixture[str]) -> None:
    say("hello")
    with Stages()("load"):
        pass
    assert list(track([1, 2], "things")) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_seconds_add_up_by_stage(clock: Clock) -> None:
    console, stage = plain(), Stages(_started=clock.now)
    with shown_on(console):
        with stage("retrieve", "past"):
            clock.now += 2
        with stage("retrieve"):
            clock.now += 3.25
        with stage("rank"):
            clock.now += 1
    assert stage.total() == {"retrieve": 5.25, "rank": 1.0, "total": 6.25}
    assert stage.passes == {"retrieve": 2, "rank": 1}
    lines = [line.split() for line in shown(console).splitlines()]
    assert lines == [
        ["retrieve", "(past)", "2.00", "s"],
        ["retrieve", "3.25", "s"],
        ["rank", "1.00", "s"],
    ]


def test_a_stage_that_fails_is_not_counted(clock: Clock) -> None:
    stage = Stages(_started=clock.now)
    with pytest.raises(ValueError, match="no"), stage("load"):
        raise ValueError("no")
    assert stage.seconds == {}


def test_long_work_says_every_five_seconds_how_far_it_is(clock: Clock) -> None:
    console, seen = plain(), []
    with shown_on(console):
        for thing in track(list(range(6)), "things"):
            seen.append(thing)
            clock.now += 3
    assert seen == [0, 1, 2, 3, 4, 5]
    assert [line.strip() for line in shown(console).splitlines()] == ["2 of 6 things", "4 of 6 things"]


def test_brackets_in_what_is_said_stay_text() -> None:
    console = plain()
    with shown_on(console):
        say("[bold]x[/bold]")
    assert shown(console) == "[bold]x[/bold]\n"


def test_a_bar_moves_on_a_terminal_within_a_stage() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with shown_on(console), Stages()("fit"), bar() as show:
        show(0.5, "loss [0.25]")
        until(lambda: "50%" in shown(console))  # rich draws it ten times a second
        console.print("a line between")
    said = shown(console)
    assert "50%" in said
    assert "loss [0.25]" in said
    assert "a line between" in said
    assert "fit" in said


def test_a_bar_is_a_line_every_few_seconds_elsewhere(clock: Clock) -> None:
    console = plain()
    with shown_on(console), bar() as show:
        for second in range(12):
            clock.now += 1
            show(second / 12, f"step {second}")
    assert shown(console).split() == ["step", "5", "step", "11"]


def test_a_bar_is_silent_unless_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with bar() as show:
        show(0.5, "nothing")
    assert capsys.readouterr() == ("", "")
