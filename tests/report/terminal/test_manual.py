"""A page in the terminal: prose as wide as it, and lines of code whole."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from recx.report.terminal.manual import Manual
from recx.report.terminal.text_table import show

COMMAND = "python -m recx +experiment=table dataset.path=log.parquet dataset.user=uid dataset.item=sku dataset.time=ts"
PROSE = "A sentence of the page that is wider than a terminal of eighty columns, and is therefore put in lines."


@pytest.mark.parametrize("width", [40, 80])
def test_a_command_is_one_line_and_prose_is_not(width: int) -> None:
    out = io.StringIO()
    text = f"# Title\n\n{PROSE}\n\n```\n{COMMAND}\n\nx: [1]\n```\n"
    show(Console(file=out, width=width), [Manual(text, hyperlinks=False)])
    lines = out.getvalue().splitlines()
    start = lines.index(f"  {COMMAND}")
    assert lines[start : start + 3] == [f"  {COMMAND}", "", "  x: [1]"]
    assert max(len(line) for line in lines if COMMAND not in line) <= width
    assert " ".join(" ".join(lines[1:start]).split()).endswith(PROSE)
