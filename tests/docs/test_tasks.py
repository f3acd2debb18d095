"""The tasks of docs/tasks.md: each names the page that solves it, and its Python works (commands: test_commands.py)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
TASKS = {
    int(number): text
    for number, text in re.findall(r"^## (\d+)\. (.*?)(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE)
}


def test_there_are_twenty() -> None:
    assert list(TASKS) == list(range(1, 21))


@pytest.mark.parametrize("number", TASKS)
def test_a_task_is_solved_by_a_page_and_by_what_is_typed(number: int) -> None:
    task = TASKS[number]
    assert "\n```" in task
    assert re.search(r"^Page: \[", task, flags=re.MULTILINE)


@pytest.mark.slow
def test_the_python_of_a_frame_in_hand_runs(here: Path) -> None:
    rows = [
        (user, (user * 7 + place) % 25, 1_700_000_000 + 60 * place + user) for user in range(30) for place in range(6)
    ]
    pd.DataFrame(rows, columns=["uid", "sku", "ts"]).to_parquet("log.parquet")
    [block] = re.findall(r"```python\n(.*?)```", TASKS[13], flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    assert names["three"]["user"].nunique() == 3
    assert names["three"].groupby("user").size().tolist() == [5, 5, 5]
