"""The graph of users and items, and the negatives that are drawn from it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recx_graph.graph import Graph, Pairs, edges_of
from scipy import sparse

from recx.plugin import ClickedItems, Entities, InputError, Interactions, Ints, indptr_of


def clicks(*lists: list[tuple[int, float]], n_items: int = 6) -> Interactions:
    events = [event for one in lists for event in one]
    item = np.array([number for number, _ in events], dtype=np.int32)
    weight = np.array([value for _, value in events], dtype=np.float32)
    indptr = indptr_of(np.array([len(one) for one in lists]))
    return Interactions(indptr, item, None, weight, Entities(np.arange(len(lists))), Entities(np.arange(n_items)))


def everyone(n: int) -> Ints:
    return np.arange(n, dtype=np.int32)


def test_a_weight_that_is_not_above_zero_is_refused() -> None:
    history = clicks([(1, 1.0), (1, -1.0)], [(3, 1.0)])
    clicked = ClickedItems.of(history)
    with pytest.raises(InputError, match="the weights of 1 pairs of a user and an item add up to 0 or less"):
        edges_of(clicked, history, everyone(2), "weight")
    assert edges_of(clicked, history, everyone(2), "one").nnz == 2


def test_the_adjacency_by_hand() -> None:
    graph = Graph(sparse.csr_matrix(np.array([[1, 1, 0], [0, 1, 0], [0, 1, 4]], dtype=np.float32)))
    found = graph.adjacency.toarray()
    half = np.array(
        [
            [1 / np.sqrt(2 * 1), 1 / np.sqrt(2 * 3), 0],
            [0, 1 / np.sqrt(1 * 3), 0],
            [0, 1 / np.sqrt(5 * 3), 4 / np.sqrt(20)],
        ]
    )
    zero = np.zeros((3, 3))
    assert np.allclose(found, np.block([[zero, half], [half.T, zero]]), atol=1e-6)
    assert graph.adjacency.has_sorted_indices


tables = st.integers(2, 6).flatmap(
    lambda n_items: st.lists(
        st.lists(st.integers(0, 1), min_size=n_items, max_size=n_items).filter(any), min_size=1, max_size=6
    )
)


@given(tables)
def test_a_negative_is_one_of_the_items_that_the_user_has_not_clicked(table: list[list[int]]) -> None:
    dense = np.array(table)
    pairs = Pairs.of(sparse.csr_matrix(dense.astype(np.float32)))
    able = dense.sum(axis=1) < dense.shape[1]
    rows, columns = np.nonzero(dense * able[:, None])
    assert pairs.user.tolist() == rows.tolist()
    assert pairs.item.tolist() == columns.tolist()
    assert pairs.without_negative == dense[~able].sum()
    assert (np.diff(pairs.rank) >= 0).all()
    assert not dense[pairs.user, pairs.negatives(np.random.default_rng(0))].any()


def test_every_other_item_is_drawn_equally_often() -> None:
    dense = np.array([[1, 0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0, 0]], dtype=np.float32)
    pairs, rng = Pairs.of(sparse.csr_matrix(dense)), np.random.default_rng(0)
    drawn = np.stack([pairs.negatives(rng) for _ in range(4000)])
    for user in (0, 1):
        share = np.bincount(drawn[:, pairs.user == user].ravel(), minlength=7) / drawn[:, pairs.user == user].size
        expected = (1 - dense[user]) / (1 - dense[user]).sum()
        assert np.abs(share - expected).max() < 0.02
