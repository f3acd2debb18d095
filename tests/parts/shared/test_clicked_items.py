"""The matrix that factor models learn from, and the lists made of their vectors."""

from __future__ import annotations

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Entities, Interactions, Requests
from recx.parts.shared.clicked_items import ClickedItems


def clicks(*lists: list[tuple[int, float]], n_items: int = 6) -> Interactions:
    events = [event for one in lists for event in one]
    item = np.array([number for number, _ in events], dtype=np.int32)
    weight = np.array([value for _, value in events], dtype=np.float32)
    indptr = indptr_of(np.array([len(one) for one in lists]))
    return Interactions(indptr, item, None, weight, Entities(np.arange(len(lists))), Entities(np.arange(n_items)))


def test_events_of_a_pair_count_once_or_their_weights() -> None:
    history = clicks([(4, 2.0), (1, 1.0), (4, 0.5)], [], [(2, 3.0)])
    clicked = ClickedItems.of(history)
    assert clicked.items.tolist() == [1, 2, 4]
    assert len(clicked) == 3
    everyone = np.arange(3, dtype=np.int32)
    matrix = clicked.matrix(history, everyone, "weight")
    assert matrix.toarray().tolist() == [[1, 0, 2.5], [0, 0, 0], [0, 3, 0]]
    assert matrix.has_sorted_indices
    assert clicked.matrix(history, everyone[::2], "one").toarray().tolist() == [[1, 0, 1], [0, 1, 0]]


def test_items_that_were_not_clicked_before_the_fit_are_left_out() -> None:
    clicked = ClickedItems.of(clicks([(1, 1.0)], [(3, 1.0)]))
    later = clicks([(0, 1.0), (1, 1.0)], [(5, 1.0)])
    assert clicked.matrix(later, np.arange(2, dtype=np.int32), "one").toarray().tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize("items", [[1, 1], [2, 1], [-1, 2], [1, 6], [0.5, 1.5]])
def test_a_file_with_other_numbers_is_refused(items: list[float]) -> None:
    with pytest.raises(ValueError, match="numbers of items"):
        ClickedItems(np.array(items), 6).check_read()


def test_the_numbers_of_a_fit_are_not_refused() -> None:
    ClickedItems.of(clicks([(0, 1.0)], [(5, 1.0)])).check_read()
    ClickedItems.of(clicks([])).check_read()


def test_another_set_of_items_is_refused() -> None:
    clicked = ClickedItems.of(clicks([(0, 1.0)]))
    clicked.check_same(clicks([(1, 1.0)]), "bpr")
    with pytest.raises(InputError, match="retriever=bpr was fitted on 6 items, and this history has 7"):
        clicked.check_same(clicks([(0, 1.0)], n_items=7), "bpr")


def test_similar_items_have_the_largest_cosine() -> None:
    clicked = ClickedItems.of(clicks([(0, 1.0), (2, 1.0), (3, 1.0), (5, 1.0)]))
    vectors = np.array([[1, 0], [3, 4], [0, 2], [-1, 0]], dtype=np.float32)
    found = clicked.similar(vectors, 2, 2)  # cosines with items 0, 3 and 5: 3/5, 4/5, -3/5
    assert found.item.tolist() == [3, 0]
    assert found.score.tolist() == pytest.approx([0.8, 0.6])
    assert clicked.similar(vectors, 1, 2).item.tolist() == []


def test_lists_have_the_largest_products_and_users_without_vectors_none() -> None:
    history = clicks([(0, 1.0), (2, 1.0), (3, 1.0)], [(5, 1.0)], [])
    clicked = ClickedItems.of(history)
    items = np.array([[1, 0], [0, 1], [1, 1], [2, -1]], dtype=np.float32)
    users = np.array([[1, 2], [3, 1], [9, 9]], dtype=np.float32)
    asking = Requests(np.arange(3, dtype=np.int32), None)
    known = np.array([True, True, False])
    found = clicked.lists(users, known, items, history, asking, 3, "keep")
    assert found.lengths.tolist() == [3, 3, 0]
    assert found.item.tolist() == [3, 2, 0, 5, 3, 0]  # products 1, 2, 3, 0 and 3, 1, 4, 5
    dropped = clicked.lists(users, known, items, history, asking, 3, "drop")
    assert dropped.lengths.tolist() == [1, 3, 0]
    assert dropped.item.tolist() == [5, 3, 0, 2]


def test_lists_and_their_scores_depend_neither_on_the_pieces_nor_on_the_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    n_users, n_items, k = 90, 40, 7
    history = clicks(*([(int(item), 1.0)] for item in rng.permutation(n_users) % n_items), n_items=n_items)
    clicked = ClickedItems.of(history)
    users, items = (rng.integers(-4, 5, (n, 3)).astype(np.float32) for n in (n_users, n_items))
    known = rng.random(n_users) < 0.8
    asking = Requests(np.arange(n_users, dtype=np.int32), None)
    table = users @ items.T
    table[np.arange(n_users), history.item] = -np.inf
    expected = np.argsort(-table, axis=1, kind="stable")[known, :k]
    for rows, threads in ((n_users, 1), (8, 1), (8, 3), (1, 2)):
        monkeypatch.setattr("recx.parts.shared.clicked_items.CELLS", rows * n_items)
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        found = clicked.lists(users, known, items, history, asking, k, "drop")
        assert found.user.tolist() == list(range(n_users))
        assert found.lengths.tolist() == (k * known).tolist()
        assert np.array_equal(found.item.reshape(-1, k), expected)
        assert np.array_equal(found.score.reshape(-1, k), np.take_along_axis(table[known], expected, axis=1))
