from __future__ import annotations

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Floats, Interactions
from recx.parts.shared.vectors import item_vectors, unit, unit_embedding


def history_of(lists: list[list[int]], n_items: int, embedding: Floats | None = None) -> Interactions:
    return Interactions(
        indptr=indptr_of(np.array([len(items) for items in lists])),
        item=np.array([item for items in lists for item in items], dtype=np.int32),
        time=None,
        weight=np.ones(sum(map(len, lists)), dtype=np.float32),
        users=Entities(np.arange(len(lists))),
        items=Entities(np.arange(n_items), embedding=embedding),
    )


TWO_CIRCLES = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [3, 4, 5], [4, 5, 3], [5, 3, 4]]


def test_vectors_at_length_one_and_zero_stays_zero() -> None:
    assert unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 0]]
    nan = np.array([[0, 2], [np.nan, np.nan]], dtype=np.float32)
    assert unit_embedding(Entities(np.arange(2), embedding=nan)).tolist() == [[0, 1], [0, 0]]


def test_lengths_beyond_float32_are_no_trouble() -> None:
    assert unit(np.array([[3e38, 0, 3e38]], np.float32)).tolist() == [
        [pytest.approx(0.5**0.5), 0, pytest.approx(0.5**0.5)]
    ]


def test_the_datas_own_embeddings_are_used_as_they_are() -> None:
    embedding = np.array([[3, 4], [0, 2]], dtype=np.float32)
    vectors = item_vectors(history_of([[0, 1]], 2, embedding), 2, 1, 0)
    assert vectors.vector == pytest.approx(np.array([[0.6, 0.8], [0, 1]]))
    assert not vectors.learned.any()


def test_items_that_are_clicked_together_come_to_lie_together() -> None:
    vectors = item_vectors(history_of(TWO_CIRCLES, 7), 2, 3, 0)
    cosine = vectors.vector @ vectors.vector.T
    assert cosine[:3, :3].min() > 0.9
    assert cosine[3:6, 3:6].min() > 0.9
    assert np.abs(cosine[:3, 3:6]).max() < 0.1
    assert vectors.learned.tolist() == [True] * 6 + [False]
    assert not vectors.vector[6].any()  # never clicked


def test_a_bridge_carries_the_learned_vectors_into_the_embeddings_space() -> None:
    nan = [np.nan] * 3
    embedding = np.array([[1, 0, 0], nan, [1, 0, 0], nan, [0, 0, 1], [0, 0, 1], nan, [0, 1, 0]], dtype=np.float32)
    vectors = item_vectors(history_of(TWO_CIRCLES, 8, embedding), 2, 3, 0)
    assert vectors.learned.tolist() == [False, True, False, True, False, False, False, False]
    assert vectors.vector[[0, 7]].tolist() == [[1, 0, 0], [0, 1, 0]]
    # Item 1 is clicked with 0 and 2, item 3 with 4 and 5.
    assert vectors.vector[1] == pytest.approx([1, 0, 0], abs=0.15)
    assert vectors.vector[3] == pytest.approx([0, 0, 1], abs=0.15)


def test_without_a_clicked_item_that_has_an_embedding_there_is_no_bridge() -> None:
    embedding = np.full((7, 2), np.nan, dtype=np.float32)
    embedding[6] = [0, 1]
    vectors = item_vectors(history_of(TWO_CIRCLES, 7, embedding), 2, 3, 0)
    assert not vectors.learned.any()
    assert not vectors.vector[:6].any()


@pytest.mark.parametrize("lists", [[], [[0], [1]], [[0, 0]], [[0, 1]]])
def test_too_little_to_learn_from_leaves_vectors_at_zero_or_length_one(lists: list[list[int]]) -> None:
    vector = item_vectors(history_of(lists, 3), 4, 2, 0).vector
    assert vector.shape == (3, 4)
    assert set(np.round(np.linalg.norm(vector, axis=1), 5)) <= {0.0, 1.0}


def test_the_same_twice() -> None:
    one, other = (item_vectors(history_of(TWO_CIRCLES, 7), 3, 2, 5).vector for _ in range(2))
    assert one.tolist() == other.tolist()
