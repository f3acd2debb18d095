"""A finished run of a small chain with parts of many kinds, and models of small runs, made once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import recx
from recx.core.types import Interactions
from recx.evaluation.evaluator import Evaluator
from recx.experiment.experiment import Experiment, Result
from recx.experiment.model.model import Model
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

NEWS = ["+experiment=news", "dataset.readers=300", "dataset.articles=100", "n_candidates=30"]
TOOLS = ["+experiment=tools", "dataset.tasks=120", "dataset.tools=30"]
Made = Callable[..., tuple[Result, Model]]


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


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a function from overrides to a run's result and its model, read from the run's folder."""
    known: dict[tuple[str, ...], tuple[Result, Model]] = {}

    def make(*overrides: str) -> tuple[Result, Model]:
        if overrides not in known:
            home: Path = tmp_path_factory.mktemp("home")
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(home)
                result = recx.run([*overrides, "tracker=console", "cache=off", "hydra.run.dir=run"])
            known[overrides] = (result, Model.of(home / "run" / "model"))
        return known[overrides]

    return make


@pytest.fixture
def news(made: Made) -> Model:
    return made(*NEWS, "model=full")[1]


@pytest.fixture
def tools(made: Made) -> Model:
    return made(*TOOLS, "model=full")[1]
