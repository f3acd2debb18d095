from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from recx.core.ann_recall import ann_recalls
from recx.core.contracts import check_lists
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.protocols import Seen
from recx.core.ragged import indptr_of
from recx.core.stored_lists import concat
from recx.core.types import Array, Floats, Interactions, RankedLists, Requests
from recx.parts.shared.nearest import Search, has_vector, neighbours
from recx.parts.shared.top_k import Eligibility
from recx.parts.shared.vectors import unit


def vectors(n: int = 60) -> Floats:
    """Vectors of length 1 in which half of the numbers are 0; every tenth vector is 0."""
    rng = np.random.default_rng(2)
    drawn = rng.normal(size=(n, 12)).astype(np.float32) * (rng.random((n, 12)) < 0.5)
    drawn[::10] = 0
    return unit(drawn)


def history_of(n_users: int, seen: Array) -> Interactions:
    """Return a history in which only user 0 has events."""
    indptr = np.full(n_users + 1, len(seen), dtype=np.int64)
    indptr[0] = 0
    weight = np.ones(len(seen), dtype=np.float32)
    users, items = Entities(np.arange(n_users)), Entities(np.arange(60))
    return Interactions(indptr, seen.astype(np.int32), None, weight, users, items)


def nearest(stored: object, query: object, k: int, seen: Array, index: str = "Flat") -> RankedLists:
    n = query.shape[0]  # type: ignore[attr-defined]
    requests = Requests(np.arange(n, dtype=np.int32))
    return neighbours(stored, Search(index, nprobe=2)).lists(query, history_of(n, seen), requests, k, "drop")


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("k", [1, 7, 60])
def test_every_item_is_compared(kind: type, k: int) -> None:
    stored, seen = vectors(), np.array([3, 4])
    query = stored[[1, 2, 10, 15]]
    lists = nearest(kind(stored), kind(query), k, seen)
    cosine = query @ stored.T
    cosine[0, seen] = -np.inf
    cosine[:, ::10] = -np.inf
    for line, expected in enumerate(cosine):
        shown = np.argsort(-expected, kind="stable")[: min(k, (expected > -np.inf).sum())] if line != 2 else []
        rows = slice(lists.indptr[line], lists.indptr[line + 1])
        assert sorted(expected[lists.item[rows]].tolist(), reverse=True) == pytest.approx(expected[shown], abs=1e-6)
        assert lists.score[rows] == pytest.approx(expected[lists.item[rows]], abs=1e-6)


@pytest.mark.parametrize("index", ["HNSW16", "IVF2,Flat"])
def test_an_index_that_visits_everything_finds_the_same(index: str) -> None:
    stored, seen = vectors(), np.arange(1, 40)
    query = stored[[1, 2, 10, 15]]
    exact = nearest(stored, query, 15, seen)
    found = nearest(stored, query, 15, seen, index)
    assert found.indptr.tolist() == exact.indptr.tolist()
    assert found.score == pytest.approx(exact.score, abs=1e-6)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Floats, Interactions, Requests]:
    """Return item vectors (some equal, some 0), and users who have seen some items or all, at some time."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_users, n_items = draw(st.integers(1, 8)), draw(st.integers(16, 80))
    stored = unit(np.repeat(rng.normal(size=(n_items // 2 + 1, 6)), 2, axis=0)[:n_items].astype(np.float32))
    stored[rng.random(n_items) < 0.1] = 0
    share = draw(st.sampled_from([0.05, 0.5, 0.95]))
    seen = [np.flatnonzero(rng.random(n_items) < share) for _ in range(n_users)]
    indptr = indptr_of(np.array([len(items) for items in seen]))
    item = np.concatenate(seen).astype(np.int32)
    time = np.sort(rng.integers(0, 50, len(item)))
    weight = np.ones(len(item), dtype=np.float32)
    table = {"created_at": rng.integers(0, 100, n_items)}
    history = Interactions(
        indptr, item, time, weight, Entities(np.arange(n_users)), Entities(np.arange(n_items), table)
    )
    return stored, history, Requests(np.arange(n_users, dtype=np.int32), rng.integers(0, 120, n_users))


@settings(max_examples=settings.default.max_examples // 2)
@given(
    worlds(),
    st.integers(1, 20),
    st.sampled_from(["HNSW4", "IVF4,Flat", "IVF4,PQ2x4"]),
    st.sampled_from(["drop", "keep"]),
)
def test_no_list_is_short_because_of_the_index(
    world: tuple[Floats, Interactions, Requests], k: int, index: str, seen: Seen
) -> None:
    stored, history, requests = world
    assume((np.abs(stored).sum(axis=1) > 0).sum() >= 16)
    query = stored[np.argmax(np.abs(stored).sum(axis=1) > 0)] + np.zeros((len(requests), 1), dtype=np.float32)
    exact = neighbours(stored, Search()).lists(query, history, requests, k, seen)
    found = neighbours(stored, Search(index, nprobe=1, ef_search=1)).lists(query, history, requests, k, seen)
    check_lists(found, requests, history.n_items, index)
    assert found.lengths.tolist() == exact.lengths.tolist()
    assert found.score == pytest.approx(np.einsum("nd,nd->n", query[found.list_of_row], stored[found.item]), abs=1e-6)
    assert not Eligibility(history, seen).hidden(requests)[found.list_of_row, found.item].any()
    assert (found.score <= exact.score + 1e-6).all()


def test_requests_that_the_index_leaves_short_are_counted() -> None:
    """Of 2 × 5 proposals, then 8 × 5, none may be shown to user 0, who has seen the 45 nearest items."""
    stored = vectors()
    query = stored[[1, 1, 10]]
    seen = np.argsort(-(query[0] @ stored.T))[:45]
    lists = nearest(stored, query, 5, seen, "HNSW16")
    assert lists.lengths.tolist() == [5, 5, 0]
    assert lists.notes["requests_searched_exactly"] == 1
    assert lists.notes["requests_without_vector"] == 1


def test_the_recall_of_a_sample_is_counted() -> None:
    """One cell of an IVF index: what it finds of the exact lists, request by request."""
    stored = unit(np.random.default_rng(5).normal(size=(60, 12)).astype(np.float32))
    query, none = unit(stored + np.roll(stored, 1, axis=0)), np.zeros(0)
    exact, found = nearest(stored, query, 10, none), nearest(stored, query, 10, none, "IVF6,Flat")
    both = np.intersect1d(exact.list_of_row * 60 + exact.item, found.list_of_row * 60 + found.item)
    assert 0.3 < len(both) / 600 < 0.95
    assert ann_recalls(found.notes) == {"ann_recall": len(both) / 600}
    assert found.notes["requests_in_ann_recall"] == 60
    assert ann_recalls(exact.notes) == {}


@pytest.mark.parametrize("sample", [0, 7, 60])
def test_the_sample_does_not_depend_on_the_blocks_of_requests(sample: int) -> None:
    stored, history = vectors(), history_of(60, np.arange(5))
    near = neighbours(stored, Search("IVF6,Flat", nprobe=1, recall_sample=sample))
    whole = near.lists(stored, history, everyone := Requests(np.arange(60, dtype=np.int32)), 10, "drop")
    rows = [slice(0, 1), slice(1, 17), slice(17, 17), slice(17, 60)]
    parts = concat(near.lists(stored[some], history, everyone[some], 10, "drop") for some in rows)
    assert parts.notes == whole.notes
    assert whole.notes["requests_in_ann_recall"] == sample


def test_items_that_are_equally_near_are_found_alike() -> None:
    """All items are equal, so that whatever the index finds is as near as what is nearest."""
    stored = np.tile(np.float32([1, 0, 0]), (60, 1))
    found = nearest(stored, stored[:4], 5, np.zeros(0), "HNSW4")
    assert ann_recalls(found.notes) == {"ann_recall": 1.0}


@pytest.mark.parametrize("index", ["Flat", "HNSW16"])
def test_without_vectors_nothing_is_found(index: str) -> None:
    nothing = np.zeros((60, 4), dtype=np.float32)
    assert len(nearest(nothing, np.eye(4, dtype=np.float32), 5, np.zeros(0), index)) == 0


def test_an_index_rejects_sparse_vectors() -> None:
    with pytest.raises(InputError, match="needs short, dense vectors"):
        neighbours(sparse.csr_array(vectors()), Search("HNSW16"))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_zero_vectors_are_recognised(kind: type) -> None:
    assert has_vector(kind(np.array([[0.0, -1.0], [0.0, 0.0], [1.0, -1.0]]))).tolist() == [True, False, True]
