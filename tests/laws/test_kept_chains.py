"""The chain that a run of each experiment kept makes the run's own lists, to the bit, and fits nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recx
from recx.core.progress import Stages
from recx.experiment.model.folder import read
from recx.experiment.model.serving import serve_with
from recx.parts.reranker.reranked import Reranked

NEWS = ("+experiment=news", "dataset.readers=90", "dataset.articles=60", "n_candidates=10")
RUNS = {
    "agents": ["+experiment=agents", "dataset.traces=30", "dataset.n_candidates=5"],
    "news": [*NEWS],
    "platt": [*NEWS, "ranker.probabilities=platt"],
    "index": [*NEWS, "retriever=faiss", "retriever.index=HNSW8"],
    "ease": [*NEWS, "retriever=ease", "ranker=identity"],
    "rp3beta": [*NEWS, "retriever=rp3beta", "ranker=identity"],
    "slim": [*NEWS, "retriever=slim", "ranker=identity"],
    "ials": [*NEWS, "retriever=ials", "retriever.factors=16", "ranker=identity"],
    "vsknn": [*NEWS, "retriever=vsknn", "retriever.gap=2h", "ranker=identity"],
    "markov": [*NEWS, "retriever=markov", "ranker=identity"],
    "mmr": [*NEWS, "reranker=mmr"],
    "less popular": [*NEWS, "ranker=identity", "reranker=popularity"],
    "co-clicks": [*NEWS, "ranker=identity", "reranker=mmr", "reranker.similarity=co_clicks"],
    "head and tail": [*NEWS, "ranker=identity", "reranker=xquad"],
    "calibrated": [*NEWS, "ranker=identity", "reranker=calibrated"],
    "popularity calibrated": [*NEWS, "ranker=identity", "reranker=calibrated", "reranker.by=popularity"],
    "random": [*NEWS, "retriever=random", "feature=basic"],
    "tools": ["+experiment=tools", "dataset.tasks=80"],
    "abstain": ["+experiment=tools_abstain", "dataset.tasks=120", "reranker=abstain", "reranker.confidence=0.5"],
    "classic": ["+experiment=tools", "dataset.tasks=80", "feature=tools_classic", "encoder=lsa"],
    "rerank": ["+experiment=rerank", "dataset.queries=30", "dataset.features=5"],
    "documents": ["+experiment=tools", "dataset.tasks=80", "feature=documents"],
    "bm25": ["+experiment=tools", "dataset.tasks=80", "ranker=bm25"],
    "cosine": ["+experiment=tools", "dataset.tasks=80", "ranker=cosine"],
}


@pytest.mark.parametrize(
    "words",
    [pytest.param(words, id=name, marks=[] if name == "agents" else pytest.mark.slow) for name, words in RUNS.items()],
)
def test_a_kept_chain_makes_the_lists_of_its_run(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = recx.run([*words, "tracker=console", "cache=off", "hydra.run.dir=run", "model=full"])
    chain, fold = read(tmp_path / "run" / "model").chain, result.split.fold
    lists = serve_with(chain, fold.history, fold.requests, Stages(aloud=False))
    for name in ("user", "indptr", "item", "score"):
        np.testing.assert_array_equal(getattr(lists, name), getattr(result.recommendations, name), strict=True)
    assert chain.known is not None
    fitted = [one.arguments[0] for one in chain.made if one.function.endswith("fitted_on")]
    ranker = chain.ranker.ranker if isinstance(chain.ranker, Reranked) else chain.ranker
    assert bool(fitted) == bool(getattr(ranker, "features", None))
    for kind in {type(feature) for feature in fitted}:
        monkeypatch.setattr(kind, "fit", None)
    again = serve_with(chain, chain.known.history, chain.known.requests, Stages(aloud=False))
    assert again.n_lists == len(chain.known.requests)
