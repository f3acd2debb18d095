"""A chain with LightGCN that a run has kept makes its lists again, and serves users of other histories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recx

NEWS = "+experiment=news dataset.readers=300 dataset.articles=100 n_candidates=20 tracker=console cache=off model=full"


def test_the_kept_chain_makes_the_lists_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = recx.run(f"{NEWS} retriever=lightgcn retriever.factors=8 retriever.epochs=4 ranker=identity")
    model = recx.load_model("last")
    fold = result.split.fold
    candidates = model.kept.chain.retriever.retrieve(fold.history, fold.requests, 20)
    assert np.array_equal(candidates.item, result.candidates.item)
    assert np.array_equal(candidates.score, result.candidates.score)
    assert not list(tmp_path.rglob("*.pkl"))

    history = model.known.history
    user = int(np.argmax(history.lengths))
    rows = slice(int(history.indptr[user]), int(history.indptr[user + 1]))
    assert history.time is not None
    ids, items = history.users.ids[[user]], history.items.ids[history.item[rows]]
    given = pd.DataFrame({"user": ids.repeat(len(items)), "item": items, "time": history.time[rows]})
    pd.testing.assert_frame_equal(model.recommend(history=given), model.recommend(ids), rtol=1e-4)
    stranger = given.assign(user="stranger" if given["user"].dtype.kind in "OU" else 10**9)
    assert len(model.recommend(history=stranger)) == 10
