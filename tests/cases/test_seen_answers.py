"""What a chain uses that was made elsewhere says which events it has seen, and is refused where these may be answers.

Fault 03; ``plugins/recx-transformer/tests/test_seen_answers.py`` tests the part that loads the network of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.seen_events import UNKNOWN_EVENTS, SeenEvents
from recx.core.types import Array, Interactions
from recx.evaluation.evaluator import Evaluator
from recx.evaluation.rules import rules
from recx.experiment import protocol_card
from recx.experiment.experiment import Experiment
from recx.parts.dataset.news import News
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.ranker.callable import Callable
from recx.parts.ranker.cosine import Cosine
from recx.parts.ranker.identity import Identity
from recx.parts.retriever.popularity import Popularity
from recx.parts.retriever.text import Text
from recx.parts.retriever.union import Union
from recx.parts.split.by_query import ByQuery
from recx.parts.split.by_time import ByTime
from recx.parts.split.by_user import ByUser
from recx.parts.split.cold_items import ColdItems
from recx.parts.split.cold_users import ColdUsers
from recx.parts.split.k_fold import KFold
from recx.parts.split.leave_last import LeaveLast
from recx.parts.split.session import Session

SPLITS = [
    *(LeaveLast(), LeaveLast(n=2), ByTime(), ByTime(window="6h", min_history=0), ByUser(), ByUser(given=2)),
    *(KFold(), KFold(part=3, n=2), ColdUsers(), ColdItems(), Session()),
]


@pytest.mark.parametrize("splitter", [*SPLITS, ByQuery()], ids=str)
def test_a_history_is_within_every_later_one_and_within_no_earlier_one(splitter: Any) -> None:
    data = replace(News(readers=200, articles=60).load(), to_predict=None)
    folds = {name: splitter.split(data, name) for name in ("valid", "test", "predict")}
    for name, split in folds.items():
        assert split.past is not None
        histories = [split.past.history, split.fold.history]
        for place, seen in enumerate(histories):
            for later in histories[place:]:
                assert SeenEvents.of(seen).users_outside(later) == 0, name
            for earlier in histories[:place]:
                answers = np.unique(split.past.target.user)
                assert SeenEvents.of(seen).users_outside(earlier) >= len(answers), name
    assert SeenEvents.of(folds["valid"].fold.history).users_outside(folds["test"].fold.history) == 0
    everything = SeenEvents.of(folds["predict"].fold.history)
    assert everything.users_outside(folds["test"].fold.history) >= len(folds["test"].fold.requests)


@dataclass(frozen=True)
class Downloaded:
    """An encoder whose weights come from somewhere."""

    model: str = "a/model"

    @property
    def loaded(self) -> Mapping[str, str]:
        return {"from": self.model, "seen": UNKNOWN_EVENTS}

    def fit(self, texts: Array) -> Any:
        return Tfidf().fit(texts)


def texts() -> Interactions:
    """Return 30 tasks, each answered by one of three tools, without times."""
    words = np.array(["red", "green", "blue"], dtype=object)
    item = np.arange(30, dtype=np.int32) % 3
    users, items = Entities(np.arange(30), {"text": words[item]}), Entities(np.arange(3), {"text": words})
    return Interactions(indptr_of(np.ones(30, int)), item, None, np.ones(30, np.float32), users, items)


@dataclass(frozen=True)
class Tasks:
    def load(self) -> Interactions:
        return texts()


def card_of(retriever: Any, ranker: Any) -> dict[str, Any]:
    chain = Experiment(Tasks(), ByUser(past="none"), retriever, ranker, Evaluator(["hit_at_1"], [], []), n_candidates=3)
    return protocol_card.card(chain.run(), {"seed": 0})


def test_the_card_says_so_of_a_part_at_any_depth() -> None:
    origin = {"from": "a/model", "seen": UNKNOWN_EVENTS}
    assert "loaded" not in card_of(Text(Tfidf()), Cosine(Tfidf()))
    assert card_of(Text(Downloaded()), Identity())["loaded"] == {"retriever": origin}
    deep = Union({"popular": Popularity(), "near": Text(Downloaded())})
    assert card_of(deep, Cosine(Downloaded()))["loaded"] == {"retriever": origin, "ranker": origin}
    two = Union({"near": Text(Downloaded()), "far": Text(Downloaded("b/model")), "again": Text(Downloaded())})
    assert card_of(two, Identity())["loaded"] == {"retriever": [origin, {**origin, "from": "b/model"}]}
    assert rules(card_of(deep, Identity())) != rules(card_of(Text(Tfidf()), Identity()))


def test_an_object_of_ones_own_has_seen_nobody_knows_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "class Longest:\n    def rerank(self, query, documents):\n        return [len(t) for t in documents]\n"
    (tmp_path / "rerankers_of_mine.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    ranker = Callable("rerankers_of_mine:Longest")
    said = card_of(Text(Tfidf()), ranker)["loaded"]
    assert said == {"ranker": {"from": "rerankers_of_mine:Longest", "seen": UNKNOWN_EVENTS}}
