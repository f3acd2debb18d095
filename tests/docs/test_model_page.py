"""The Python of docs/how-to/model.md works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import recx

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "model.md"
NEWS = "+experiment=news dataset.readers=200 dataset.articles=100 n_candidates=20 tracker=console"
TOOLS = "+experiment=tools dataset.tasks=100 dataset.tools=20 tracker=console"


def test_what_the_page_shows_runs(here: Path) -> None:
    *clicks, texts = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    recx.run(NEWS)
    names: dict[str, object] = {}
    for block in clicks:
        exec(block, names)
    frame = names["model"].recommend(history=names["clicks"])  # type: ignore[attr-defined]
    assert set(frame["user"]) == {1_000_001}
    recx.run(TOOLS)
    names["model"] = recx.load_model(str(here / sorted(here.glob("outputs/2*/*"))[-1]))
    exec(texts, names)
    with pytest.raises(recx.core.errors.InputError):
        names["model"].rank("a task", [17])  # type: ignore[attr-defined]
