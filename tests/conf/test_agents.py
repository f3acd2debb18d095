"""The agents experiment on made-up traces: it learns, and nothing but the task and the past tells the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from recx.config.compose import compose, plain
from recx.core.types import Floats, Interactions
from recx.experiment import build
from recx.experiment.experiment import Experiment
from recx.parts.dataset.calling_graphs import queries_of
from recx.parts.dataset.synthetic_agents import make_traces
from recx.parts.dataset.trees import Traces, interactions_of
from recx.parts.shared.design_matrix import design_matrix

WRONG = 9  # wrong graphs beside each right one, so that chance is 0.1
SETTINGS = ("+experiment=agents", "tracker=console", "dataset.traces=250", f"dataset.n_candidates={WRONG}")


@dataclass(frozen=True)
class Loaded:
    interactions: Interactions

    def load(self) -> Interactions:
        return self.interactions


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


@cache
def composed(*overrides: str) -> Experiment:
    return build.experiment(plain(compose([*SETTINGS, *overrides])))


@cache
def data() -> Interactions:
    return composed().dataset.load()


def accuracy(interactions: Interactions, *overrides: str) -> tuple[float, float]:
    """Return top-1 accuracy and four standard deviations of it at chance."""
    report = replace(composed(*overrides), dataset=Loaded(interactions)).run().report
    assert report is not None
    chance = 1 / (WRONG + 1)
    return report.means["end_to_end/top_1_accuracy"], 4 * np.sqrt(chance * (1 - chance) / len(report.users))


def test_the_right_graphs_are_found_far_above_chance() -> None:
    found, _ = accuracy(data())
    assert found > 0.6


def test_without_a_ranker_the_order_of_the_candidates_is_chance() -> None:
    found, spread = accuracy(data(), "ranker=identity")
    assert found == pytest.approx(1 / (WRONG + 1), abs=spread)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_canary_labels_permuted_within_each_node_give_chance(seed: int) -> None:
    slates = data().slates
    assert slates is not None
    place = np.random.default_rng(seed).integers(0, slates.lengths)
    permuted = replace(data(), item=slates.item[slates.indptr[:-1] + place])
    found, spread = accuracy(permuted)
    assert found == pytest.approx(1 / (WRONG + 1), abs=spread)


def design(traces: Traces, seed: int) -> tuple[Interactions, Floats]:
    experiment = composed()
    interactions = interactions_of(traces, seed)
    now = experiment.splitter.split(interactions.unnamed(), "test").fold
    candidates = experiment.retriever.fit(now.history).retrieve(now.history, now.requests, WRONG + 1)
    table = design_matrix(experiment.ranker.features, candidates, now.history, now.requests)  # type: ignore[union-attr]
    rows = np.lexsort((*np.round(table.T, 4), candidates.list_of_row))  # by list and content alone
    return interactions, table[rows]


def test_ids_and_the_order_of_the_file_change_no_feature() -> None:
    pool, traces = make_traces(60, 0)
    first = queries_of(traces, pool, WRONG, 0)
    turned = [
        replace(query, trees=query.trees[::-1], names=[f"id{n}" for n in range(WRONG + 1)], right=WRONG)
        for query in first.queries
    ]
    one, features = design(first, 0)
    other, same = design(Traces(pool, turned), 5)
    assert (one.item != other.item).mean() > 0.9
    assert features == pytest.approx(same, abs=1e-4)
