"""What docs/how-to/compare-runs.md shows of online tests works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recx.cli import main as cli

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "compare-runs.md").read_text(encoding="utf-8")
SECTION = re.split("^## ", PAGE[PAGE.index("## Which arm of an online test") :], flags=re.MULTILINE)[1]


def log() -> pd.DataFrame:
    """Return a log of 80 users with a row an item."""
    rng = np.random.default_rng(0)
    rows = [
        (user, "AB"[user % 2], f"{user}.{of}", item, place, int(rng.random() < 0.2))
        for user in range(80)
        for of in range(3)
        for place, item in enumerate(rng.permutation(20)[:4].tolist(), start=1)
    ]
    return pd.DataFrame(rows, columns=["user", "variant", "list", "item", "position", "clicked"])


def commands() -> list[str]:
    return re.findall(r"^python -m recx (compare --ab .*)$", SECTION, re.MULTILINE)


def test_there_are_commands() -> None:
    assert len(commands()) == 2


@pytest.mark.parametrize("form", ["", " --json", " --csv", " --html"])
@pytest.mark.parametrize("line", commands())
def test_the_commands_of_the_section_run(
    line: str, form: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log().to_csv(here / "impressions.csv", index=False)
    monkeypatch.setattr("sys.argv", ["recx", *line.split(), *form.split()])
    assert cli.main() == 0
    assert capsys.readouterr().err == ""


def test_the_python_of_the_section_runs() -> None:
    names: dict[str, object] = {"log": log()}
    [block] = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    exec("import recx\n" + block, names)
    assert len(names["found"].table) == 3  # type: ignore[attr-defined]
