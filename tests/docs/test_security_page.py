"""docs/security.md speaks of every command, and of tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from recx.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def test_the_table_has_a_row_for_every_command() -> None:
    table = PAGE.partition("## What each command reads and writes")[2].partition("## Limits")[0]
    first = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ")]
    named = {name for cell in first for name in re.findall(r"`([a-z-]+)`", cell)}
    assert set(COMMANDS) == named


def test_the_tests_that_hold_it_exist() -> None:
    named = re.findall(r"`(?:tests/cases/)?(test_\w+\.py)`", PAGE)
    assert len(named) == 8
    for name in named:
        assert (ROOT / "tests" / "cases" / name).is_file()
