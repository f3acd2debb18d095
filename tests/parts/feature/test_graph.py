"""Features of graphs of tools, on a world small enough to work them out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.protocols import FeatureSet
from recx.core.types import Array, Interactions, RankedLists, Requests
from recx.parts.dataset.tool_pool import ToolPool
from recx.parts.dataset.trees import Query, Traces, Tree, interactions_of
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.feature.graph import (
    Attached,
    CoOccurrence,
    SizeFit,
    StructureFit,
    TextSimilarity,
    ToolUsage,
    Transition,
)
from recx.parts.feature.graph_tasks import Votes

CHAIN = Tree(("", "a", "b"), ((0, 1), (1, 2)))
OTHER = Tree(("", "c"), ((0, 1),))
STAR = Tree(("", "a", "b"), ((0, 1), (0, 2)))
LOOSE = Tree(("", "a"), ())
ONE = Tree(("", "a"), ((0, 1),))
POOL = ToolPool.of({"a": "flights", "b": "hotels", "c": "music"})
FEATURES: Mapping[str, Any] = {
    "phi_rel": TextSimilarity(Tfidf()),
    "phi_hist": ToolUsage(),
    "phi_coop": SizeFit(),
    "co_occurrence": CoOccurrence(),
    "phi_struct": StructureFit(),
    "attached": Attached(),
    "transition": Transition(),
    "transition_least": Transition(least=True),
    "votes": Votes(Tfidf()),
}
every_feature = pytest.mark.parametrize("feature", FEATURES.values(), ids=FEATURES)


@dataclass(frozen=True, eq=False)
class World:
    """Two past nodes, answered by CHAIN and ONE, and two that ask: one for four graphs, one for one."""

    history: Interactions
    requests: Requests
    candidates: RankedLists

    def ask(self, feature: Any) -> Any:
        return feature.fit(self.history)(self.candidates, self.requests)


def world(task: str = "fly", past: int = 2, request: str = "") -> World:
    asking = [Query("t2", "n0", task, request, [CHAIN, OTHER, STAR, LOOSE], list("xyzw"))]
    asking.append(Query("t3", "n0", "some music for tonight please", "", [ONE], ["v"]))
    known = [Query("t0", "n0", "fly to rome", "", [CHAIN], ["p"]), Query("t1", "n0", "fly to oslo", "", [ONE], ["q"])]
    data = interactions_of(Traces(POOL, [*known, *asking]), 0)
    assert data.slates is not None
    slates = data.slates.take(np.array([2, 3]))
    assert data.items.names is not None
    order = np.argsort([("xyzw" + "v").index(str(data.items.names[item])[-1]) for item in slates.item])
    candidates = replace(slates, item=slates.item[order])
    history = data.keep(data.user < past)
    return World(history, Requests(candidates.user), candidates)


@pytest.mark.parametrize(
    ("feature", "expected"),
    [
        (ToolUsage(), [0.75, 0.5, 0.75, 5 / 6, 5 / 6]),  # 3 uses: a 2, b 1
        (CoOccurrence(), [np.log(6) / 2, 0, np.log(3) / 2, 0, np.log(3)]),
        (Attached(), [1, 1, 1, 0, 1]),
        # 3 edges from 2 starts; a leads once, the askers twice; P(anywhere) of a, b, c: 3/7, 2/7, 1/7
        (
            Transition(strength=1),
            [np.log(17 / 21 * 9 / 14) / 2, np.log(1 / 21), np.log(17 / 21 * 2 / 21) / 2, -np.log(7), np.log(17 / 21)],
        ),
        (
            Transition(strength=1, least=True),
            [np.log(9 / 14), np.log(1 / 21), np.log(2 / 21), -np.log(7), np.log(17 / 21)],
        ),
        # sizes 3, 2, 3, 2; alone in its list 0.6 / 2 + 0.4 / 2
        (StructureFit(), [0.4 + 0.4 / 7, 0.3 + 0.05, 0.4 + 0.4 / 7, 0.05, 0.5]),
        # tasks of 1 and of 5 words
        (SizeFit(), [0.2 + 0.8 / (1 + np.log(n + 1)) for n in (3, 2, 3, 2)] + [0.2 + 0.8 * np.log(3) / 5]),
    ],
    ids=["phi_hist", "co_occurrence", "attached", "transition", "transition_least", "phi_struct", "phi_coop"],
)
def test_values_worked_out_by_hand(feature: Any, expected: list[float]) -> None:
    assert world().ask(feature) == pytest.approx(np.array(expected), abs=1e-6)


def test_a_given_reliability_takes_the_place_of_usage() -> None:
    made = world()
    graphs = made.history.items.graphs
    assert graphs is not None
    rated = replace(graphs, reliability=np.array([0.9, np.nan, 0.3]))  # of a, b, c; b has their mean, 0.6
    other = replace(made, history=replace(made.history, items=replace(made.history.items, graphs=rated)))
    assert other.ask(ToolUsage()) == pytest.approx(np.array([0.75, 0.3, 0.75, 0.9, 0.9]), abs=1e-6)
    assert other.ask(ToolUsage("usage")) == pytest.approx(made.ask(ToolUsage()))
    with pytest.raises(InputError, match="the data gives none"):
        made.ask(ToolUsage("reliability"))


@dataclass(frozen=True)
class ByTable:
    """An encoder that knows the vectors of a few texts by heart."""

    def fit(self, texts: Array) -> ByTable:
        return self

    def encode(self, texts: Array) -> Array:
        table = {"fly to rome": (1, 0), "fly to oslo": (0.6, 0.8), "fly north": (1, 0)}
        return np.array([table.get(str(text).strip(), (0, 0)) for text in texts], dtype=np.float32)


def test_votes_worked_out_by_hand() -> None:
    # The cosines 1 and 0.6 weigh 0.625 and 0.375, so tool a and its edge have 1, b and its edge have 0.625.
    votes = Votes(ByTable(), k=2)
    asked = world(request="north")  # the task alone is in no table: with its request it is
    expected = [
        [0.8125, 0.625, 1, 0.8125, 0.625, 1],
        [0, 0, 0, 0, 0, 0],
        [0.8125, 0.625, 1, 0.5, 0, 1 / 1.625],
        [1, 1, 1 / 1.625, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],  # no past task is near
    ]
    assert asked.ask(votes) == pytest.approx(np.array(expected), abs=1e-6)
    assert world().ask(votes) == pytest.approx(0)
    nearest = asked.ask(Votes(ByTable(), k=1))
    assert nearest[3] == pytest.approx([1, 1, 0.5, 0, 0, 0])
    names = ["past_tools_mean", "past_tools_least", "past_tools_held"]
    assert votes.names(asked.candidates)[:3] == names


def test_phi_rel_compares_the_task_with_the_text() -> None:
    found = world(task="I need flights").ask(TextSimilarity(Tfidf()))
    assert found[0] > 0.5
    assert found[1] == pytest.approx(0.5)
    assert found[3] > found[0]  # there is less else in it


@every_feature
@pytest.mark.parametrize("past", [0, 1, 2])
def test_values_are_finite_whatever_is_asked_and_known(feature: Any, past: int) -> None:
    for task in ("fly", "", "帮我订机票", "🚗" * 5, "fly " * 25_000):
        made = world(task, past)
        found = made.ask(feature)
        n = (len(feature.names(made.candidates)),) if isinstance(feature, FeatureSet) else ()
        assert found.shape == (5, *n)
        assert found.dtype == np.float32
        assert np.isfinite(found).all()


@every_feature
def test_other_lists_change_nothing(feature: Any) -> None:
    made = world()
    together = made.ask(feature)
    for number, rows in ((0, slice(0, 4)), (1, slice(4, 5))):
        alone = feature.fit(made.history)(made.candidates[number : number + 1], made.requests[number : number + 1])
        assert np.array_equal(alone, together[rows])
    none = feature.fit(made.history)(made.candidates[:0], made.requests[:0])
    assert len(none) == 0


@every_feature
def test_data_without_graphs_is_told_in_a_sentence(feature: Any) -> None:
    made = world()
    bare = replace(made.history, items=replace(made.history.items, graphs=None))
    if not isinstance(feature, TextSimilarity):
        with pytest.raises(InputError, match="the items of this dataset are not graphs"):
            feature.fit(bare)


def test_data_with_times_and_wrong_settings_are_told_in_a_sentence() -> None:
    made = world()
    timed = replace(made.history, time=np.zeros(len(made.history), dtype=np.int64))
    with pytest.raises(InputError, match="this dataset has times"):
        ToolUsage().fit(timed)
    with pytest.raises(InputError, match=r"feature.strength=0: it must be above 0"):
        Transition(strength=0)
    with pytest.raises(InputError, match=r"feature.k=0: it must be 1 or more"):
        Votes(Tfidf(), k=0)
