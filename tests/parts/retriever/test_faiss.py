from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Floats, Interactions, Requests
from recx.parts.retriever.faiss import Faiss
from recx.parts.shared.top_k import Eligibility
from recx.parts.shared.vectors import unit


def big_world(drawn: Callable[..., Interactions], n_items: int = 300) -> Interactions:
    """40 users with ten clicks each on items with random embeddings, of which every fifth item lacks one."""
    rng = np.random.default_rng(0)
    embedding = rng.normal(size=(n_items, 8)).astype(np.float32)
    embedding[::5] = np.nan
    events = [[(int(item), 1) for item in rng.integers(0, n_items, 10)] for _ in range(40)]
    return drawn(events, n_items, times=False, embedding=embedding)


def everyone(world: Interactions) -> Requests:
    return Requests(np.arange(world.n_users, dtype=np.int32))


def exact(world: Interactions, vector: Floats, last: int, recency: float) -> Floats:
    """The cosine of every user and item, user by user; -inf for what may not be shown."""
    score = np.full((world.n_users, world.n_items), -np.inf)
    for user in range(world.n_users):
        clicked = world.item[world.indptr[user] : world.indptr[user + 1]][::-1][:last]
        mean = sum(recency**place * vector[item].astype(np.float64) for place, item in enumerate(clicked))
        score[user] = vector @ (mean / np.linalg.norm(mean))
    score[:, np.abs(vector).sum(axis=1) == 0] = -np.inf
    score[Eligibility(world, "drop").hidden(everyone(world))] = -np.inf
    return score


@pytest.mark.parametrize("k", [5, 290])
def test_a_flat_index_gives_the_exact_cosines(drawn: Callable[..., Interactions], k: int) -> None:
    world = big_world(drawn)
    fitted = Faiss(last=4, recency=0.6, factors=8).fit(world)
    lists = fitted.retrieve(world, everyone(world), k)
    score = exact(world, fitted.vectors.vector, 4, 0.6)
    assert lists.lengths.tolist() == np.minimum(k, (score > -np.inf).sum(axis=1)).tolist()
    assert score[lists.list_of_row, lists.item] == pytest.approx(lists.score, abs=1e-5)
    best = -np.sort(-score, axis=1)
    assert best[lists.list_of_row, lists.rank - 1] == pytest.approx(lists.score, abs=1e-5)


@pytest.mark.parametrize("index", ["HNSW16", "IVF4,Flat"])
def test_an_approximate_index_finds_nearly_all(drawn: Callable[..., Interactions], index: str) -> None:
    world = big_world(drawn)
    exact_lists = Faiss(factors=8).fit(world).retrieve(world, everyone(world), 10)
    lists = Faiss(index=index, factors=8).fit(world).retrieve(world, everyone(world), 10)
    found = np.isin(
        exact_lists.list_of_row * world.n_items + exact_lists.item, lists.list_of_row * world.n_items + lists.item
    )
    assert found.mean() > 0.95
    assert (lists.lengths == 10).all()


def test_equal_items_go_by_number(drawn: Callable[..., Interactions], shown: Callable) -> None:
    embedding = np.array([[0, 1]] + [[1, 0]] * 8, dtype=np.float32)
    world = drawn([[(5, 0)], [(8, 0)]], 9, times=False, embedding=embedding)
    assert shown(Faiss().fit(world).retrieve(world, everyone(world), 4)) == [[1, 2, 3, 4], [1, 2, 3, 4]]


def test_a_user_without_a_vector_gets_an_empty_list_and_is_counted(
    drawn: Callable[..., Interactions], shown: Callable
) -> None:
    embedding = np.array([[1, 0], [0, 1], [np.nan, np.nan]], dtype=np.float32)
    # User 0 clicked an item without a vector; user 1 has seen all that has one; user 2 has no event.
    world = drawn([[(2, 0)], [(0, 0), (1, 0)], [], [(0, 0)]], 3, times=False, embedding=embedding)
    lists = Faiss(factors=2).fit(world).retrieve(world, everyone(world), 2)
    assert shown(lists) == [[], [], [], [1]]
    assert lists.notes["requests_without_vector"] == 2
    assert lists.notes["items_without_vector"] == 1
    assert lists.notes["items_with_learnt_vector"] == 0


def test_blocks_change_nothing(drawn: Callable[..., Interactions], monkeypatch: pytest.MonkeyPatch) -> None:
    world = big_world(drawn)
    fitted = Faiss(factors=8).fit(world)
    whole = fitted.retrieve(world, everyone(world), 10)
    monkeypatch.setattr("recx.parts.shared.nearest.CELLS", 3 * world.n_items)
    parts = fitted.retrieve(world, everyone(world), 10)
    assert parts.indptr.tolist() == whole.indptr.tolist()
    assert parts.score == pytest.approx(whole.score, abs=1e-5)


def test_vectors_have_length_one(drawn: Callable[..., Interactions]) -> None:
    vector = Faiss(factors=8).fit(big_world(drawn)).vectors.vector
    assert vector == pytest.approx(unit(vector), abs=1e-6)


@pytest.mark.parametrize("index", ["Flatt", "IVF400,Flat"])
def test_an_index_that_does_not_work_is_named(drawn: Callable[..., Interactions], index: str) -> None:
    with pytest.raises(InputError, match=f"retriever.index='{index}' does not work on"):
        Faiss(index=index, factors=8).fit(big_world(drawn))


@pytest.mark.parametrize("key", ["nprobe", "ef_search", "ef_construction", "fetch", "last", "factors", "distance"])
def test_bad_settings_are_refused(key: str) -> None:
    with pytest.raises(InputError, match=f"retriever.{key}=0"):
        Faiss(**{key: 0})
