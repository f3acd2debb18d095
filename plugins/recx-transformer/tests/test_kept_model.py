"""A chain with a network that a run has kept makes its lists again, and serves users whom it has never seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recx

SMALL = "+experiment=sequences tracker=console cache=off model=full n_candidates=20 retriever=transformer"
QUICK = "retriever.epochs=1 retriever.factors=8"


def test_the_kept_chain_makes_the_lists_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    start = random.integers(0, 30, 200)
    rows = [(user, (first + step) % 30, step) for user, first in enumerate(start) for step in range(8)]
    pd.DataFrame(rows, columns=["user", "item", "time"]).to_csv(tmp_path / "events.csv", index=False)
    monkeypatch.chdir(tmp_path)
    result = recx.run(f"{SMALL} {QUICK} dataset=table dataset.path=events.csv dataset.relative_times=true")
    model = recx.load_model("last")
    chain, fold = model.kept.chain, result.split.fold
    candidates = chain.retriever.retrieve(fold.history, fold.requests, 20)
    assert np.array_equal(candidates.item, result.candidates.item)
    assert np.array_equal(candidates.score, result.candidates.score)

    given = pd.DataFrame({"user": [10**6] * 3, "item": model.known.history.items.ids[[3, 4, 5]], "time": [1, 2, 3]})
    found = model.recommend(history=given, k=5)
    assert found["user"].tolist() == [10**6] * 5
    assert not set(found["item"]) & set(given["item"])
