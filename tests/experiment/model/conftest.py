"""A finished run of a small chain with parts of many kinds."""

from __future__ import annotations

import pytest

from recx.core.types import Interactions
from recx.evaluation.evaluator import Evaluator
from recx.experiment.experiment import Experiment, Result
from recx.parts.feature.coclick import CoClicks
from recx.parts.feature.popularity import Clicks
from recx.parts.feature.retrieval import Score
from recx.parts.ranker.linear import Linear
from recx.parts.retriever.ease import EASE
from recx.parts.retriever.faiss import Faiss
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.retriever.popularity import Popularity
from recx.parts.retriever.union import Union
from recx.parts.split.leave_last import LeaveLast
from recx.testing.tiny_dataset import tiny_world


class World:
    """A dataset of the tiny world."""

    def load(self) -> Interactions:
        return tiny_world()


@pytest.fixture(scope="session")
def result() -> Result:
    sources = {
        "faiss": Faiss(index="HNSW8"),
        "knn": ItemKNN(),
        "ease": EASE(),
        "popularity": Popularity(half_life="1h"),
    }
    return Experiment(
        dataset=World(),
        splitter=LeaveLast(),
        retriever=Union(sources),
        ranker=Linear({"clicks": Clicks(), "pairs": CoClicks(), "score": Score()}, resamples=0, probabilities="platt"),
        evaluator=Evaluator(["recall_at_5"], ["ndcg_at_3"], ["ndcg_at_3"]),
        n_candidates=8,
    ).run()
