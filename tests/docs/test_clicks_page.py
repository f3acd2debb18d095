"""What docs/how-to/clicks.md shows works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from recx.cli import main as cli

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "clicks.md").read_text(encoding="utf-8")
LOG = pd.DataFrame(
    [
        (of, item, position, int(item == clicked))
        for of, clicked in enumerate("abca-cba" * 6)
        for position, item in enumerate("abc" if of % 2 else "cab", start=1)
    ],
    columns=["list", "item", "position", "clicked"],
)


def test_the_python_of_the_page_runs() -> None:
    names: dict[str, object] = {"log": LOG, "lists": pd.DataFrame({"user": [1, 1], "item": ["a", "b"], "rank": [1, 2]})}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)


@pytest.mark.parametrize("line", re.findall(r"^python -m recx (clicks .*)$", PAGE, re.MULTILINE))
def test_the_commands_of_the_page_run(
    line: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    LOG.to_csv(here / "log.csv", index=False)
    monkeypatch.setattr("sys.argv", ["recx", *line.split()])
    assert cli.main() == 0
    assert capsys.readouterr().err == ""
