"""The laws of fitted features, for every set of features in conf/feature."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from recx.config.compose import compose, plain
from recx.core.protocols import Featured, FittedFeature
from recx.core.types import Array, Fold, RankedLists
from recx.experiment import build
from recx.parts.feature.fitted import FittedWith

NEWS = ("+experiment=news", "dataset.readers=150", "dataset.articles=120", "dataset.days=2", "n_candidates=30")
TOOLS = ("+experiment=tools", "dataset.tasks=400")
JUDGED = ("+experiment=rerank_benchmark", "dataset.queries=60", "ranker=linear")
WORLDS = {
    "news": NEWS,
    "basic": (*NEWS, "feature=basic"),
    "basic_ease": (*NEWS, "retriever=union_ease", "feature=basic_ease"),
    "next_item": (*NEWS, "feature=next_item"),
    "tools": TOOLS,
    "tools_classic": (*TOOLS, "feature=tools_classic"),
    "tools_abstain": ("+experiment=tools_abstain", "dataset.tasks=400"),
    "agents": ("+experiment=agents", "dataset.traces=60"),
    "documents": (*JUDGED, "feature=documents"),
    "columns": JUDGED,
    "content": (*NEWS, "feature=content"),
    "impressions": (*NEWS, "feature=impressions"),
}
LISTS, BLOCK = 200, 7
every_set = pytest.mark.parametrize("name", WORLDS)


@dataclass(frozen=True, eq=False)
class Served:
    """The features of a set, fitted on a history, and candidates for some requests."""

    fitted: Mapping[str, FittedFeature]
    candidates: RankedLists
    fold: Fold

    def values(self, start: int = 0, stop: int = LISTS) -> dict[str, Array]:
        """Return the values of each feature for a block of requests."""
        lists, requests = self.candidates[start:stop], self.fold.requests[start:stop]
        return {name: np.asarray(feature(lists, requests)) for name, feature in self.fitted.items()}

    @property
    def blocks(self) -> list[tuple[int, int]]:
        return [(start, start + BLOCK) for start in range(0, self.candidates.n_lists, BLOCK)]


@cache
def served(name: str) -> Served:
    experiment = build.experiment(plain(compose([*WORLDS[name], "tracker=console"])))
    fold = experiment.load_and_split()[1].fold
    assert isinstance(experiment.ranker, Featured)
    requests = fold.requests[:LISTS]
    lists = experiment.retriever.fit(fold.history).retrieve(fold.history, requests, experiment.n_candidates)
    fitted = {key: feature.fit(fold.history) for key, feature in experiment.ranker.features.items()}
    return Served(fitted, lists, Fold(fold.history, None, requests))


def assert_equal(found: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    for name, values in expected.items():
        assert np.array_equal(found[name], values, equal_nan=True), name


def joined(parts: list[dict[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_every_set_has_a_world() -> None:
    assert set(WORLDS) == {path.stem for path in Path(__file__).parents[2].glob("conf/feature/*.yaml")}


@every_set
def test_a_block_of_requests_has_the_values_of_all(name: str) -> None:
    made = served(name)
    assert_equal(joined([made.values(*block) for block in made.blocks]), made.values())


@every_set
def test_threads_may_share_what_was_fitted(name: str) -> None:
    made = served(name)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda block: made.values(*block), made.blocks))
    assert_equal(joined(parts), made.values())


def leaves(value: object) -> Iterator[object]:
    """Yield what a fitted feature consists of, down to arrays and plain values."""
    if is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name))
    elif isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


@every_set
def test_what_was_fitted_consists_of_arrays_and_settings(name: str) -> None:
    for feature in served(name).fitted.values():
        for leaf in leaves(feature):
            assert isinstance(leaf, np.ndarray | sparse.csr_array | str | int | float | None), type(leaf)


ELSEWHERE = """
import pickle, sys
sets = pickle.load(sys.stdin.buffer)
values = {name: [feature(*asked) for feature in fitted.values()] for name, (fitted, asked) in sets.items()}
pickle.dump(values, sys.stdout.buffer)
"""


@pytest.mark.slow
def test_another_process_gets_the_same_values() -> None:
    sets = {name: served(name) for name in WORLDS}
    moved = pickle.dumps({name: (made.fitted, (made.candidates, made.fold.requests)) for name, made in sets.items()})
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input=moved, stdout=subprocess.PIPE, check=True)
    for name, values in pickle.loads(done.stdout).items():
        assert_equal(dict(zip(sets[name].fitted, values, strict=True)), sets[name].values())


def test_what_features_share_is_still_shared_elsewhere() -> None:
    fitted = {name: pickle.loads(pickle.dumps(served(name).fitted)) for name in ("news", "tools")}
    news, tools = fitted["news"], fitted["tools"]
    clicks = [news[name].known for name in ("news_phi_hist", "clicks_1h", "trend")]
    assert len(set(map(id, [*clicks, news["transition"].known[1]]))) == 1
    assert news["session_x_phi_coop"].known[0].known is news["news_phi_coop"].known
    texts = [tools["phi_rel"].known, tools["phi_past"].known[0], tools["nearest_tasks"].known[0]]
    assert len(set(map(id, texts))) == 1
    assert all(isinstance(feature, FittedWith) for feature in tools.values())
