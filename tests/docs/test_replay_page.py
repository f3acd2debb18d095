"""The Python of docs/how-to/replay.md works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

import recx

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "replay.md"
DAY = 86_400_000
SMALL = "n_candidates=10 retriever=popularity ranker=identity tracker=console cache=off hydra.run.dir=outputs/1"


def test_what_the_page_shows_runs(here: Path) -> None:
    rows = [(user, (user + day) % 7, 1_600_000_000_000 + day * DAY + user) for day in range(6) for user in range(30)]
    log = pd.DataFrame(rows, columns=["user", "item", "time"])
    log[:120].to_csv("early.csv", index=False)
    log.to_csv("log.csv", index=False)
    recx.run(f"+experiment=table dataset.path=early.csv fold=predict split=by_time {SMALL}")
    [block] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {"run": "outputs/1"}
    exec(block, names)
    replayed = names["replayed"]
    assert isinstance(replayed, recx.jobs.replay.run.Replayed)
    assert len(replayed.frame) == 2
    assert {"name", "end_to_end/ndcg_at_5", "new_items", "drift/top_score"} <= set(replayed.frame)
    assert str(replayed).startswith("<Replayed: 2 windows of 1d, ")
    assert replayed.frame["asked"].tolist() == [30, 30]
