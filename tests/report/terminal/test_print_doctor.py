"""The printed table of findings."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from recx.experiment.doctor import Finding
from recx.report.terminal.print_doctor import print_findings

LONG = "a sentence that goes on and on so that it does not fit on one line of a table of a hundred columns: break it"
FINDINGS = [
    Finding("requests", 31_374.0, 39_218.0, "fine", ""),
    Finding("repeated_pairs", 1.0, 39_218.0, "look", LONG),
    Finding("median_hours_to_target", 1 / 120, 24.0, "fine", ""),
    Finding("events_later_than_target", 35_849.1, 79_121.0, "bad", "short: fix it"),
    Finding("cuts_beyond_catalogue", 0.0, 0.0, "fine", ""),
]


def printed(**of_console: Any) -> str:
    out = io.StringIO()
    print_findings(Console(file=out, **{"width": 100, **of_console}), FINDINGS, "2 users, 3 items")
    return out.getvalue()


def test_every_finding_has_its_row_and_its_reason_below_the_table() -> None:
    heading, columns, *lines, verdicts = printed().splitlines()
    assert heading == "2 users, 3 items"
    assert columns.split() == ["count", "share", "verdict"]
    assert [line.split() for line in lines[:5]] == [
        ["requests", "31,374", "80.0", "%", "fine"],
        ["repeated", "pairs", "1", "<0.1", "%", "look"],
        ["median", "hours", "to", "target", "0.008333", "<0.1", "%", "fine"],
        ["events", "later", "than", "target", "35,849", "45.3", "%", "bad"],
        ["cuts", "beyond", "catalogue", "0", "0.0", "%", "fine"],
    ]
    assert " ".join(" ".join(lines[5:]).split()) == (
        f"• repeated pairs: {LONG} • events later than target: short: fix it"
    )
    assert verdicts == "3 fine, 1 look, 1 bad"


@pytest.mark.parametrize("width", [60, 80, 300])
def test_plain_text_says_the_same_at_every_width(width: int) -> None:
    text = printed(width=width)
    assert text.split() == printed().split()
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_a_terminal_gets_colour_and_the_same_words() -> None:
    coloured = printed(force_terminal=True)
    assert "\x1b" in coloured
    assert Text.from_ansi(coloured).plain.split() == printed().split()
