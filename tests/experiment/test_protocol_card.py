"""The protocol card, the data's hash and plain values."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.evaluation import Evaluation
from recx.core.graphs import Graphs
from recx.core.ragged import indptr_of
from recx.core.system.serialize import flat, plain
from recx.core.types import Fold, Interactions, RankedLists, Requests, Split
from recx.evaluation.definitions import METRICS
from recx.evaluation.evaluator import Evaluator
from recx.evaluation.metrics.registry import NAMES
from recx.evaluation.rules import rules
from recx.experiment import protocol_card
from recx.experiment.experiment import Result
from recx.parts.retriever.given import Given


@dataclass(frozen=True)
class LeaveOne:
    n: int = 1
    request_time: str = "target"


@dataclass(frozen=True)
class Judge:
    retrieval: tuple[str, ...] = ("hit_at_5",)


@dataclass(frozen=True)
class Chain:
    dataset: LeaveOne = LeaveOne()
    splitter: LeaveOne = LeaveOne()
    retriever: Any = LeaveOne()
    ranker: LeaveOne = LeaveOne()
    evaluator: Judge = Judge()
    fold: str = "test"
    n_candidates: int = 100
    refit: bool = True
    at_once: int | None = None
    filters: dict[str, Any] = field(default_factory=dict)


def events(ids: list[str] | list[int], time: list[int] | None = None, weight: float = 1) -> Interactions:
    entities = Entities(np.array(ids, dtype=object if isinstance(ids[0], str) else np.int64))
    times = None if time is None else np.array(time)
    item = np.array([0, 1], np.int32)
    return Interactions(indptr_of(np.ones(2, int)), item, times, np.full(2, weight, np.float32), entities, entities)


def result_of(interactions: Interactions) -> Result:
    requests = Requests(np.array([0, 1], np.int32), interactions.time)
    lists = RankedLists(requests.user, np.array([0, 1, 1]), np.array([1], np.int32), np.zeros(1, np.float32))
    report = Evaluation(requests.user, {"ranking/ndcg_at_5": np.ones(2), "funnel/lost_in_ranking_at_5": np.ones(2)})
    fold = Fold(interactions, interactions, requests)
    split = Split(fold, fold, {"users_left_out_too_few_events": 3, "later_events": 4})
    return Result(Chain(), interactions, split, object(), object(), lists, lists, report, {})  # type: ignore[arg-type]


def test_the_card_says_what_competes() -> None:
    result = result_of(events(["a", "b"]))
    slates = replace(result, experiment=replace(result.experiment, retriever=Given()))
    assert protocol_card.card(result, {})["ranking"].startswith("full: every item")
    assert protocol_card.card(slates, {})["ranking"].startswith("slates: the lists that the data itself offers")


def test_the_card_says_how_the_items_of_sampled_metrics_were_drawn() -> None:
    result = result_of(events(["a", "b"]))
    assert result.report is not None
    values = {**result.report.values, "end_to_end/hit_at_5_sampled_20": np.ones(2)}
    evaluator = Evaluator([], [], ["hit_at_5_sampled_20"], negatives="popularity", negatives_seed=7)
    experiment = replace(result.experiment, evaluator=evaluator)
    card = protocol_card.card(replace(result, experiment=experiment, report=replace(result.report, values=values)), {})
    assert "drawn for each request (popularity, seed 7): never comparable with metrics over all" in card["sampled"]
    assert "never comparable with hit" in card["definitions"]["hit_at_5_sampled_20"]
    assert "sampled" not in protocol_card.card(result, {})
    assert rules(card)["sampled"] == card["sampled"]
    assert "negatives" not in rules(card)["evaluator"]


def test_the_card_has_the_rules() -> None:
    card = protocol_card.card(result_of(events(["a", "b"], [0, 86_400_000])), {"seen": "keep", "seed": 3})
    # Nothing is said of "seen" but what the lists show, and two events are at or after the first target.
    assert card["fold"] == "test"
    assert card["split"]["n"] == 1
    assert card["split"]["part"].endswith("LeaveOne")
    assert card["steps"]["past"] == card["steps"]["fold"]
    assert card["steps"]["fold"]["first_request"] == "1970-01-01T00:00:00.000+00:00"
    assert card["steps"]["fold"]["last_request"] == "1970-01-02T00:00:00.000+00:00"
    left_out = {"users_left_out_too_few_events": 3}
    assert card["users"] == {"known": 2, "asked": 2, "judged": 2, "judged_without_list": 0, "left_out": left_out}
    assert (card["seen"], card["seed"], card["later_events"], card["items"]) == ("drop", 3, 2, 2)
    assert set(card["definitions"]) == {"ndcg", "lost_in_ranking"}
    assert json.loads(json.dumps(card, allow_nan=False)) == card


def test_the_card_needs_neither_times_nor_a_configuration() -> None:
    card = protocol_card.card(result_of(events([1, 2])), {})
    assert card["steps"]["fold"]["first_request"] is None
    assert card["later_events"] is None, "without times nobody knows"
    assert card["context"] == {"time": "none: requests follow all history", "users": {}}


def test_every_built_in_metric_is_defined() -> None:
    assert set(NAMES) == set(METRICS)


def test_tags_are_hashes_of_the_rules_and_of_the_data() -> None:
    card = protocol_card.card(result_of(events(["a", "b"])), {})
    tags = protocol_card.tags(card)
    assert tags["recx.data"] == card["data_hash"]
    assert protocol_card.tags({**card, "notes": {"more": 1}}) == tags, "counts do not make runs incomparable"
    assert protocol_card.tags({**card, "fold": "valid"})["recx.protocol"] != tags["recx.protocol"]
    assert set(tags) == {"recx.data", "recx.protocol"}


def test_the_hash_changes_with_the_data() -> None:
    base = events(["ab", "c"], [1, 2])
    table = Entities(base.items.ids, {"words": np.array([1, 2], np.float32)})
    worlds = [
        base,
        events(["a", "bc"], [1, 2]),
        events(["ab", "c"], [1, 3]),
        events(["ab", "c"]),
        events([1, 2], [1, 2]),
        events(["1", "2"], [1, 2]),
        events(["ab", "c"], [1, 2], weight=2),
        replace(base, item=base.item[::-1]),
        replace(base, to_predict=np.array([1], np.int32)),
        replace(base, to_predict=np.zeros(0, np.int32)),
        replace(base, items=table),
        replace(base, items=replace(table, embedding=np.ones((2, 3), np.float32))),
    ]
    ends = np.array([0, 1, 1]), np.array([0], np.int32), np.array([0, 0, 0]), np.zeros((0, 2), np.int32)
    graphs = Graphs(*ends, np.array(["a"]), np.array(["text"]))
    for made in (graphs, replace(graphs, tool=np.array([-1], np.int32)), replace(graphs, texts=np.array(["other"]))):
        worlds.append(replace(base, items=replace(base.items, graphs=made)))
    slates = RankedLists(np.array([0], np.int32), np.array([0, 1]), np.array([0], np.int32), np.zeros(1, np.float32))
    for column in (0.0, 1.0):
        columns = {"x": np.array([column], np.float32)}
        worlds.append(replace(base, slates=replace(slates, columns=columns)))
    hashes = [protocol_card.data_hash(world) for world in worlds]
    assert len(set(hashes)) == len(worlds)
    assert protocol_card.data_hash(events(["ab", "c"], [1, 2])) == hashes[0]
    named = replace(base, items=replace(base.items, names=np.array(["x", "y"])))
    assert protocol_card.data_hash(named) == hashes[0], "names are not part of the data"


def test_plain_values() -> None:
    given = {"a": (np.int32(1), np.float32(0.5)), 2: math.nan, "p": Path("x"), "part": LeaveOne(), "n": np.arange(2)}
    made = plain(given)
    assert made["a"] == [1, 0.5]
    assert made["2"] is None
    assert made["p"] == "x"
    assert made["part"] == {"part": f"{__name__}.LeaveOne", "n": 1, "request_time": "target"}
    assert made["n"] == [0, 1]


@pytest.mark.parametrize(
    ("nested", "expected"),
    [
        ({"a": {"b": {"c": 1}}}, {"a.b.c": "1"}),
        ({"a": None, "b": True, "c": "x", "d": 0.1}, {"a": "null", "b": "true", "c": "x", "d": "0.1"}),
        ({"a": [1, "x"], "b": {}}, {"a": '[1, "x"]', "b": "{}"}),
    ],
)
def test_flat_names(nested: dict[str, object], expected: dict[str, str]) -> None:
    assert flat(nested) == expected
