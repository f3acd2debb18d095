"""What serves blocks can be sent to another process, and serves them there as it does here."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from recx.config.compose import compose, plain
from recx.core.types import RankedLists, Requests
from recx.experiment import blocks, build
from recx.experiment.caching import cached
from recx.experiment.experiment import Experiment
from recx.storage.cache.store import Cache

CHAINS = {
    "news": ["dataset.readers=60", "dataset.articles=50", "dataset.days=3"],
    "tools": ["dataset.tasks=60", "dataset.tools=20"],
    "agents": ["dataset.traces=30"],
    "rerank": ["dataset.queries=30", "dataset.features=6"],
}
SLOW = {"tools", "agents", "rerank"}


@dataclass(frozen=True)
class Elsewhere:
    """Serves blocks with a copy as Ray would make it: pickled, with arrays that cannot be written to."""

    def each(
        self, work: Callable[[Requests], blocks.Served], parts: Iterable[Requests]
    ) -> Generator[blocks.Served, None, None]:
        buffers: list[pickle.PickleBuffer] = []
        text = pickle.dumps(work, protocol=5, buffer_callback=buffers.append)
        arrays = [memoryview(bytes(buffer.raw())).toreadonly() for buffer in buffers]
        yield from map(pickle.loads(text, buffers=arrays), parts)


def same(one: RankedLists, other: RankedLists) -> bool:
    arrays = [(one.user, other.user), (one.indptr, other.indptr), (one.item, other.item), (one.score, other.score)]
    arrays += [(column, other.columns[name]) for name, column in one.columns.items()]
    equal = [np.array_equal(here, there, equal_nan=here.dtype.kind == "f") for here, there in arrays]
    return all(equal) and one.notes == other.notes and list(one.columns) == list(other.columns)


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CHAINS])
def chain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    monkeypatch.setattr(blocks, "REQUESTS", 5)
    return build.experiment(plain(compose([f"+experiment={request.param}", *CHAINS[request.param]])))


def test_the_parts_of_a_chain_serve_the_same_lists_in_another_process(chain: Experiment) -> None:
    here, there = chain.run(), replace(chain, engine=Elsewhere()).run()
    assert len(here.split.fold.requests) > 5
    assert same(here.candidates, there.candidates)
    assert same(here.recommendations, there.recommendations)


@pytest.mark.slow
@pytest.mark.parametrize("chain", ["news"], indirect=True)
def test_the_stage_cache_stays_behind(chain: Experiment, tmp_path: Path) -> None:
    here, stages = chain.run(), []
    for _ in range(2):
        cache = Cache(tmp_path / "cache")
        with cache.used():
            there = cached(replace(chain, engine=Elsewhere()), cache).run()
        assert same(here.candidates, there.candidates)
        assert same(here.recommendations, there.recommendations)
        stages.append(set(cache.hits))
    # What is sent is fitted here, or read: that of the first run, with the features that its ranker needs there.
    assert stages == [set(), {"load", "fit_retriever", "fit_ranker", "features", "evaluate"}]
