"""Filtered data in a run: the items that compete, the card, the data's hash, the doctor and the stage cache."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from recx.core.filters import Filter
from recx.core.types import Interactions
from recx.evaluation.evaluator import Evaluator
from recx.evaluation.rules import rules
from recx.experiment import protocol_card
from recx.experiment.caching import cached
from recx.experiment.experiment import Experiment, Result
from recx.parts.filter.event_counts import ItemEvents
from recx.parts.filter.k_core import KCore
from recx.parts.filter.min_weight import MinWeight
from recx.parts.ranker.identity import Identity
from recx.parts.retriever.random import Random
from recx.parts.split.leave_last import LeaveLast
from recx.storage.cache.store import Cache
from recx.testing import tiny_world


@dataclass(frozen=True)
class World:
    """The tiny world, with the weights 1, 2 and 3; items 18 and 19 have no events."""

    def load(self) -> Interactions:
        world = tiny_world()
        return replace(world, weight=(1 + np.arange(len(world)) % 3).astype(np.float32))


def chain(**filters: Filter) -> Experiment:
    evaluator = Evaluator(retrieval=["hit_at_5"], ranking=["hit_at_5"], end_to_end=["hit_at_5", "coverage_at_5"])
    return Experiment(World(), LeaveLast(), Random(seen="keep"), Identity(), evaluator, filters=filters)


def ids_shown(result: Result) -> set[int]:
    return set(result.interactions.items.ids[result.candidates.item].tolist())


def test_a_filter_of_events_neither_shrinks_nor_enlarges_the_competition() -> None:
    everything, heavy = chain().run(), chain(heavy=MinWeight(3)).run()
    assert (everything.interactions.n_items, heavy.interactions.n_items) == (20, 20)
    assert 118 in ids_shown(heavy)  # created before all events, and never clicked
    card = protocol_card.card(heavy, {})
    assert card["items"] == 20
    assert card["filters"][0]["removed"]["items"] == 0


def test_a_filter_of_items_shrinks_the_competition_and_the_card_says_so() -> None:
    result = chain(clicked=ItemEvents(1)).run()
    assert result.interactions.items.ids.tolist() == list(range(100, 118))
    assert ids_shown(result) <= set(range(100, 118))
    card = protocol_card.card(result, {})
    assert card["items"] == 18
    assert card["filters"] == [
        {
            "filter": "clicked",
            "part": "recx.parts.filter.event_counts.ItemEvents",
            "least": 1,
            "most": None,
            "removed": {"events": 0, "users": 0, "items": 2},
        }
    ]
    assert result.metrics["data/filter_clicked_items_removed"] == 2
    finding = next(one for one in result.findings if one.name == "filter_clicked_items_removed")
    assert (finding.count, finding.of, finding.verdict) == (2, 20, "fine")


def test_the_card_tells_filtered_from_unfiltered_data_and_orders_of_filters() -> None:
    chains = {
        "all": chain(),
        "heavy": chain(heavy=MinWeight(2)),
        "then core": chain(heavy=MinWeight(2), core=KCore(3, 3)),
        "core first": chain(core=KCore(3, 3), heavy=MinWeight(2)),
    }
    cards = {name: protocol_card.card(one.run(), {}) for name, one in chains.items()}
    assert len({card["data_hash"] for card in cards.values()}) == 4
    assert "filters" not in cards["all"]
    assert [one["filter"] for one in rules(cards["core first"])["filters"]] == ["core", "heavy"]
    assert len({protocol_card.tags(card)["recx.protocol"] for card in cards.values()}) == 4


def test_the_stage_cache_knows_filtered_data(tmp_path: Path) -> None:
    plain = chain(heavy=MinWeight(2)).run()
    for expected in (0, 1):
        store = Cache(tmp_path)
        with store.used():
            result = cached(chain(heavy=MinWeight(2)), store).run()
        assert store.hits["retrieve"] == expected
        assert result.metrics["end_to_end/hit_at_5"] == plain.metrics["end_to_end/hit_at_5"]
    other = Cache(tmp_path)
    with other.used():
        cached(chain(heavy=MinWeight(3)), other).run()
    assert (other.hits["load"], other.hits["retrieve"]) == (1, 0)
