from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.retriever import union
from recx.parts.retriever.union import Union


@dataclass(frozen=True)
class Fixed:
    """Returns these (item, score) pairs for each user, cut at k."""

    lists: dict[int, list[tuple[int, float]]]
    notes: dict[str, float] = field(default_factory=dict)

    def fit(self, history: Interactions) -> Fixed:
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        found = [self.lists.get(int(user), [])[:k] for user in requests.user]
        return RankedLists(
            user=requests.user,
            indptr=indptr_of(np.array([len(pairs) for pairs in found], dtype=np.int64)),
            item=np.array([item for pairs in found for item, _ in pairs], dtype=np.int32),
            score=np.array([score for pairs in found for _, score in pairs], dtype=np.float32),
            notes={**self.notes, "requests_seen": len(requests)},
        )


A = Fixed({0: [(5, 4.0), (1, 2.0), (7, -1.0)], 1: [(2, 0.0)]}, {"items_learnt": 3})
B = Fixed({0: [(1, 30.0), (9, 10.0)]})


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    return drawn([[(0, 0)], [(0, 0)], [(0, 0)]], 10, times=False)


def test_reciprocal_ranks_add_up(world: Interactions, asking: Callable, shown: Callable) -> None:
    fitted = Union({"a": A, "b": B}, smoothing=1.0, weights={"b": 0.5}).fit(world)
    lists = fitted.retrieve(world, asking(None, None, None), 5)
    # a: 5 at rank 1, 1 at 2, 7 at 3. b: 1 at 1, 9 at 2. So 1: 1/3 + 0.5/2, 5: 1/2, 7: 1/4, 9: 0.5/3.
    assert shown(lists) == [[1, 5, 7, 9], [2], []]
    assert lists.score.tolist() == pytest.approx([7 / 12, 1 / 2, 1 / 4, 1 / 6, 1 / 2])


def test_each_sources_score_and_rank_go_along(world: Interactions, asking: Callable) -> None:
    lists = Union({"a": A, "b": B}).fit(world).retrieve(world, asking(None, None, None), 5)
    by_item = {item: row for row, item in enumerate(lists.item.tolist())}
    nan = np.nan
    for item, expected in {1: (2, 2, 30, 1), 5: (4, 1, nan, nan), 9: (nan, nan, 10, 2), 2: (0, 1, nan, nan)}.items():
        row = [lists.columns[name][by_item[item]] for name in ("a_score", "a_rank", "b_score", "b_rank")]
        assert row == pytest.approx(expected, nan_ok=True)


def test_scores_count_as_shares_of_the_largest(world: Interactions, asking: Callable, shown: Callable) -> None:
    lists = Union({"a": A, "b": B}, method="score").fit(world).retrieve(world, asking(None, None, None), 3)
    # a: 5 1, 1 1/2, 7 -1/4. b: 1 1, 9 1/3. A list of zeros stays at 0.
    assert shown(lists) == [[1, 5, 9], [2], []]
    assert lists.score.tolist() == pytest.approx([1.5, 1, 1 / 3, 0])


def test_ties_go_by_item(world: Interactions, asking: Callable, shown: Callable) -> None:
    lists = (
        Union({"a": Fixed({0: [(8, 1.0)]}), "b": Fixed({0: [(3, 9.0)]})}).fit(world).retrieve(world, asking(None), 1)
    )
    assert shown(lists) == [[3]]


def test_blocks_change_nothing_and_counts_of_requests_add_up(
    world: Interactions, asking: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = Union({"a": A, "b": B}).fit(world)
    whole = fitted.retrieve(world, asking(None, None, None), 3)
    monkeypatch.setattr(union, "BLOCK", 1)
    parts = fitted.retrieve(world, asking(None, None, None), 3)
    assert parts.item.tolist() == whole.item.tolist()
    assert parts.indptr.tolist() == whole.indptr.tolist()
    assert parts.notes == whole.notes == {"a_items_learnt": 3, "a_requests_seen": 3, "b_requests_seen": 3}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"sources": {}}, "retriever.sources is empty"),
        ({"sources": {"a": A}, "method": "mean"}, "retriever.method=mean"),
        ({"sources": {"a": A}, "weights": {"b": 1.0}}, "which is not a source"),
        ({"sources": {"a": A}, "smoothing": -1.0}, "retriever.smoothing=-1.0"),
    ],
)
def test_bad_settings_are_refused(settings: dict, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Union(**settings)
