"""A chain with LambdaMART that a run has kept makes its lists again, and serves new histories without being fitted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recx

NEWS = "+experiment=news dataset.readers=300 dataset.articles=100 n_candidates=20 tracker=console cache=off model=full"
TREES = "ranker=lambdamart ranker.trees=20 ranker.min_trees=5"


def test_the_kept_chain_makes_the_lists_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = recx.run(f"{NEWS} {TREES}")
    model = recx.load_model("last")
    chain, fold = model.kept.chain, result.split.fold
    candidates = chain.retriever.retrieve(fold.history, fold.requests, 20)
    ranked = chain.ranker.rank(candidates, fold.history, fold.requests)
    assert np.array_equal(ranked.item, result.recommendations.item)
    assert np.array_equal(ranked.score, result.recommendations.score)

    history = model.known.history
    user = int(np.argmax(history.lengths))
    rows = slice(int(history.indptr[user]), int(history.indptr[user + 1]))
    assert history.time is not None
    ids, items = history.users.ids[[user]], history.items.ids[history.item[rows]]
    given = pd.DataFrame({"user": ids.repeat(len(items)), "item": items, "time": history.time[rows]})
    pd.testing.assert_frame_equal(model.recommend(history=given), model.recommend(ids))
