from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.errors import InputError, RecxError
from recx.core.ragged import indptr_of
from recx.core.system.threads import limited_to
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


def test_a_source_that_breaks_the_rules_of_lists_is_named(world: Interactions, asking: Callable) -> None:
    fitted = Union({"a": A, "b": Fixed({0: [(10, 1.0)]})}).fit(world)
    with pytest.raises(RecxError, match="the source b returned an item outside the catalogue for user 0"):
        fitted.retrieve(world, asking(None), 3)


N_ITEMS, N_USERS = 12, 4
EMPTY = Interactions(
    indptr=np.zeros(N_USERS + 1, dtype=np.int64),
    item=np.zeros(0, dtype=np.int32),
    time=None,
    weight=np.zeros(0, dtype=np.float32),
    users=Entities(np.arange(N_USERS)),
    items=Entities(np.arange(N_ITEMS)),
)
SCORED = st.lists(
    st.tuples(st.integers(0, N_ITEMS - 1), st.sampled_from([-2.0, -0.1, 0.0, 0.3, 1.0, 7.0])),
    max_size=8,
    unique_by=lambda pair: pair[0],
).map(lambda pairs: sorted(pairs, key=lambda pair: -pair[1]))
SOURCES = st.lists(st.dictionaries(st.integers(0, N_USERS - 1), SCORED).map(Fixed), min_size=1, max_size=3)


def stored(score: float) -> float:
    return float(np.float32(score))


def all_of(lists: RankedLists) -> list[bytes]:
    arrays = [lists.user, lists.indptr, lists.item, lists.score, *lists.columns.values()]
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


@given(SOURCES, st.sampled_from(["reciprocal_rank", "score"]), st.integers(1, 10), st.integers(1, 3))
def test_lists_are_those_of_a_loop_whatever_the_pieces_and_threads(
    sources: list[Fixed], method: str, k: int, piece: int
) -> None:
    weights = {str(n): 0.5**n for n in range(len(sources))}
    named = {str(n): source for n, source in enumerate(sources)}
    fitted = Union(named, method=method, smoothing=1.0, weights=weights).fit(EMPTY)  # type: ignore[arg-type]
    requests = Requests(np.arange(N_USERS, dtype=np.int32))
    lists = fitted.retrieve(EMPTY, requests, k)
    for user in range(N_USERS):
        sums: dict[int, float] = {}
        at: dict[tuple[int, str], tuple[float, int]] = {}
        for name, source in named.items():
            pairs = source.lists.get(user, [])[:k]
            largest = max([1e-12, *(stored(abs(score)) for _, score in pairs)])
            for rank, (item, score) in enumerate(pairs, 1):
                by_rank = round(2**48 * weights[name] / (1 + rank)) / 2**48
                share = by_rank if method == "reciprocal_rank" else weights[name] * (stored(score) / largest)
                sums[item] = sums.get(item, 0.0) + share
                at[item, name] = (np.float32(score), rank)
        best = sorted(sums, key=lambda item: (-sums[item], item))[:k]
        rows = slice(lists.indptr[user], lists.indptr[user + 1])
        assert lists.item[rows].tolist() == best
        assert lists.score[rows].tolist() == pytest.approx([sums[item] for item in best], rel=1e-6)
        for name in named:
            for kind, which in (("score", 0), ("rank", 1)):
                expected = [at.get((item, name), (np.nan, np.nan))[which] for item in best]
                np.testing.assert_array_equal(lists.columns[f"{name}_{kind}"][rows], expected)
    with pytest.MonkeyPatch.context() as patch, limited_to(3):
        patch.setattr(union, "PIECE", piece)
        assert all_of(fitted.retrieve(EMPTY, requests, k)) == all_of(lists)


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
