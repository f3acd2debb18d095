from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Array, Floats, Interactions, RankedLists, Requests
from recx.parts.shared.nearest import has_vector, neighbours
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
    return neighbours(stored, index, nprobe=2).lists(query, history_of(n, seen), requests, k, "drop")


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


@pytest.mark.parametrize("index", ["Flat", "HNSW16"])
def test_without_vectors_nothing_is_found(index: str) -> None:
    nothing = np.zeros((60, 4), dtype=np.float32)
    assert len(nearest(nothing, np.eye(4, dtype=np.float32), 5, np.zeros(0), index)) == 0


def test_an_index_rejects_sparse_vectors() -> None:
    with pytest.raises(InputError, match="needs short, dense vectors"):
        neighbours(sparse.csr_array(vectors()), "HNSW16")


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_zero_vectors_are_recognised(kind: type) -> None:
    assert has_vector(kind(np.array([[0.0, -1.0], [0.0, 0.0], [1.0, -1.0]]))).tolist() == [True, False, True]
