"""The matrix that implicit learns from, and fingerprints of its rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recx_implicit.clicks import Columns, fingerprints
from scipy import sparse

from recx.plugin import Entities, Interactions, indptr_of


def clicks(*lists: list[tuple[int, float]], n_items: int = 6) -> Interactions:
    events = [event for one in lists for event in one]
    item = np.array([number for number, _ in events], dtype=np.int32)
    weight = np.array([value for _, value in events], dtype=np.float32)
    indptr = indptr_of(np.array([len(one) for one in lists]))
    return Interactions(indptr, item, None, weight, Entities(np.arange(len(lists))), Entities(np.arange(n_items)))


def test_events_of_a_pair_count_once_or_their_weights() -> None:
    history = clicks([(4, 2.0), (1, 1.0), (4, 0.5)], [], [(2, 3.0)])
    columns = Columns.of(history)
    assert columns.items.tolist() == [1, 2, 4]
    everyone = np.arange(3, dtype=np.int32)
    assert columns.matrix(history, everyone, "weight").toarray().tolist() == [[1, 0, 2.5], [0, 0, 0], [0, 3, 0]]
    assert columns.matrix(history, everyone[::2], "one").toarray().tolist() == [[1, 0, 1], [0, 1, 0]]


def test_items_that_were_not_clicked_before_the_fit_are_left_out() -> None:
    columns = Columns.of(clicks([(1, 1.0)], [(3, 1.0)]))
    later = clicks([(0, 1.0), (1, 1.0)], [(5, 1.0)])
    assert columns.matrix(later, np.arange(2, dtype=np.int32), "one").toarray().tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize("items", [[1, 1], [2, 1], [-1, 2], [1, 6]])
def test_a_file_with_other_numbers_is_refused(items: list[int]) -> None:
    with pytest.raises(ValueError, match="numbers of items"):
        Columns(np.array(items, dtype=np.int32), 6).check_read()


def test_the_numbers_of_a_fit_are_not_refused() -> None:
    Columns.of(clicks([(0, 1.0)], [(5, 1.0)])).check_read()


tables = st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=8)


@given(tables)
def test_fingerprints_are_equal_for_equal_rows_alone(table: list[list[int]]) -> None:
    found = fingerprints(sparse.csr_matrix(np.array(table, dtype=np.float32))).tolist()
    for row, one in zip(table, found, strict=True):
        assert [other == one for other in found] == [other == row for other in table]
