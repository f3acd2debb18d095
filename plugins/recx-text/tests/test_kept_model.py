"""A chain with a trained cross-encoder serves again from its run's folder, without the model that it began as."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import recx

TOOLS = "+experiment=tools dataset.tasks=150 dataset.tools=8 n_candidates=5 tracker=console model=full"


def test_the_kept_chain_makes_the_lists_of_its_run(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(pairs, tmp_path / "base")
    ranker = f"ranker=cross_encoder ranker.model={tmp_path / 'base'} ranker.epochs=1 ranker.max_length=32"
    result = recx.run(f"{TOOLS} {ranker} ranker.device=cpu ranker.max_users=20")
    assert len(result.curves["cross_encoder/loss"]) == 1
    again = recx.run(f"{TOOLS} {ranker} ranker.device=cpu ranker.max_users=20 n_candidates=5")
    assert again.hits is not None
    assert again.hits["fit_ranker"] == 1
    assert np.array_equal(again.recommendations.score, result.recommendations.score)
    shutil.rmtree(tmp_path / "base")
    model = recx.load_model("last")
    fold = result.split.fold
    ranked = model.kept.chain.ranker.rank(result.candidates, fold.history, fold.requests)
    assert np.array_equal(ranked.item, result.recommendations.item)
    assert not [*tmp_path.rglob("*.pkl"), *tmp_path.rglob("*.bin")]
    user = fold.history.users.ids[[int(fold.requests.user[0])]]
    assert len(model.recommend(user, k=3)) == 3


def test_without_epochs_no_past_is_needed(pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ranker = f"ranker=cross_encoder ranker.model={pairs} ranker.max_length=32 ranker.device=cpu"
    result = recx.run(f"{TOOLS.replace('full', 'off')} {ranker} split.past=none split.max_users=10 cache=off")
    assert "fit_ranker" not in result.seconds
    assert len(result.recommendations) > 0
