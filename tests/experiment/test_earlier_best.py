"""Which earlier run a page names: the best on the same targets, and nothing that is unfinished or damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from recx.experiment import earlier_best as module
from recx.experiment.earlier_best import EarlierBest, earlier_best

CARD = {"fold": "test", "truth": "abc", "data_hash": "def"}
NDCG = "end_to_end/ndcg_at_5"


def saved(outputs: Path, name: str, value: float, *, retriever: str = "ease", **card: Any) -> Path:
    folder = outputs / name
    folder.mkdir(parents=True)
    chosen = {"options": {"retriever": retriever, "ranker": "linear"}, "settings": {}}
    (folder / "config.yaml").write_text(json.dumps({"fold": "test", "chosen": chosen}))
    (folder / "protocol.json").write_text(json.dumps({**CARD, **card}))
    (folder / "metrics.json").write_text(json.dumps({NDCG: value}))
    return folder


def test_the_best_of_the_same_targets_is_found(tmp_path: Path) -> None:
    saved(tmp_path, "day/one", 0.2)
    saved(tmp_path, "day/two", 0.4, retriever="faiss")
    saved(tmp_path, "sweeps/a/best", 0.3)
    saved(tmp_path, "day/other", 0.9, truth="xyz")
    saved(tmp_path, "day/valid", 0.9, fold="valid")
    own = saved(tmp_path, "day/own", 0.95)
    assert earlier_best(tmp_path, own, CARD, NDCG) == EarlierBest(0.4, "faiss + linear", "day/two")
    assert earlier_best(tmp_path, own, {**CARD, "truth": "new"}, NDCG) is None
    assert earlier_best(tmp_path, own, CARD, "end_to_end/mrr") is None
    assert earlier_best(tmp_path, own, {"fold": "predict"}, NDCG) is None


def test_a_damaged_run_is_no_comparison(tmp_path: Path) -> None:
    saved(tmp_path, "day/whole", 0.1)
    (saved(tmp_path, "day/torn", 0.9) / "metrics.json").write_text("{")
    (saved(tmp_path, "day/bare", 0.9) / "protocol.json").unlink()
    (saved(tmp_path, "day/none", 0.9) / "metrics.json").write_text(json.dumps({NDCG: None}))
    found = earlier_best(tmp_path, tmp_path / "day/own", CARD, NDCG)
    assert found is not None
    assert found.folder == "day/whole"


def test_only_the_newest_runs_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name in enumerate(("old", "new")):
        file = saved(tmp_path, f"day/{name}", 1.0 - place / 2) / "metrics.json"
        os.utime(file, (1e9 + place, 1e9 + place))
    monkeypatch.setattr(module, "MOST", 1)
    found = earlier_best(tmp_path, tmp_path / "day/own", CARD, NDCG)
    assert found is not None
    assert (found.value, found.folder) == (0.5, "day/new")
