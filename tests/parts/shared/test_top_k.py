"""Who may be shown what, and the best k of it, held against ``sorted``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.errors import RecxError
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, Requests
from recx.parts.shared import top_k as module
from recx.parts.shared.top_k import Eligibility, top_k, top_of_table

TABLES = st.integers(1, 9).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 2.0]), min_size=width, max_size=width), max_size=5
    ).map(lambda lines: np.array(lines, dtype=np.float32).reshape(-1, width))
)


def by_sorting(line: Any, k: int) -> list[int]:
    shown = [column for column in range(len(line)) if line[column] > -np.inf]
    return sorted(shown, key=lambda column: (-line[column], column))[:k]


def history_of(*, created: list[int] | None = None, times: bool = True) -> Interactions:
    """User 0 clicked item 2 at 10 and item 0 at 20; user 1 clicked item 1 at 20; nobody clicked items 3 and 4."""
    table = {} if created is None else {"created_at": np.array(created, dtype=np.int64)}
    return Interactions(
        indptr=np.array([0, 2, 3]),
        item=np.array([2, 0, 1], dtype=np.int32),
        time=np.array([10, 20, 20]) if times else None,
        weight=np.ones(3, dtype=np.float32),
        users=Entities(np.arange(2)),
        items=Entities(np.arange(5), table),
    )


@given(TABLES, st.integers(1, 12))
def test_the_best_of_a_table_are_those_of_sorting(table: Any, k: int) -> None:
    lengths, columns, scores = top_of_table(table.copy(), k)
    expected = [by_sorting(line, k) for line in table]
    assert lengths.tolist() == [len(line) for line in expected]
    assert columns.tolist() == [column for line in expected for column in line]
    assert scores.tolist() == [table[n, column] for n, line in enumerate(expected) for column in line]


@pytest.mark.parametrize("lines", [1, 40])
def test_many_equal_scores_go_by_column(lines: int) -> None:
    table = np.ones((lines, 3000), dtype=np.float32)
    table[:, 2990] = 2
    _, columns, _ = top_of_table(table, 4)
    assert columns.reshape(lines, 4).tolist() == [[2990, 0, 1, 2]] * lines


def test_scores_in_float64_serve_as_well() -> None:
    assert top_of_table(np.array([[0.1, 0.3, 0.2]]), 2)[1].tolist() == [1, 2]


def test_a_score_that_is_not_a_number_is_an_error_and_no_empty_list() -> None:
    with pytest.raises(RecxError, match="NaN"):
        top_of_table(np.array([[1.0, np.nan, 2.0]], dtype=np.float32), 1)


@given(st.data(), TABLES.filter(len), st.integers(1, 12))
def test_a_sparse_table_gives_what_a_dense_one_gives(data: st.DataObject, table: Any, k: int) -> None:
    n, width = table.shape
    line, column = np.nonzero(table > -np.inf)
    stored = sparse.csr_array(
        (table[line, column], column, indptr_of(np.bincount(line, minlength=n))), shape=(n, width)
    )
    seen = data.draw(st.lists(st.integers(0, width - 1), min_size=1, max_size=3))
    history = Interactions(
        indptr=indptr_of(np.array([len(seen)] + [0] * (n - 1))),
        item=np.array(seen, dtype=np.int32),
        time=None,
        weight=np.ones(len(seen), dtype=np.float32),
        users=Entities(np.arange(n)),
        items=Entities(np.arange(width)),
    )
    requests = Requests(np.arange(n, dtype=np.int32))
    dense = top_k(lambda block: table.copy(), history, requests, k, "drop")
    lists = top_k(lambda block: stored.copy(), history, requests, k, "drop")
    assert dense.item.tolist() == lists.item.tolist()
    assert dense.score.tolist() == lists.score.tolist()
    assert dense.indptr.tolist() == lists.indptr.tolist()
    assert not set(seen) & set(dense.item[: dense.indptr[1]].tolist())


def test_an_item_is_there_once_it_was_created_or_clicked_before_the_request() -> None:
    history = history_of(created=[UNKNOWN_TIME, 5, 15, 19, UNKNOWN_TIME])
    hidden = Eligibility(history, "keep").hidden(Requests(np.array([0, 1], dtype=np.int32), np.array([20, 21])))
    # At 20: item 0 is clicked at 20, not before; 1 was created at 5, 2 clicked at 10, 3 created at 19.
    assert hidden.tolist() == [[True, False, False, False, True], [False, False, False, False, True]]


def test_without_creation_times_the_first_click_counts_and_without_times_everything_is_there() -> None:
    requests = Requests(np.array([1], dtype=np.int32), np.array([20]))
    assert Eligibility(history_of(), "keep").hidden(requests).tolist() == [[True, True, False, True, True]]
    assert not Eligibility(history_of(times=False), "keep").hidden(Requests(requests.user)).any()


def test_what_the_user_has_seen_is_dropped_or_kept() -> None:
    requests = Requests(np.array([0, 1], dtype=np.int32))
    history = history_of(times=False)
    assert np.argwhere(Eligibility(history, "drop").hidden(requests)).tolist() == [[0, 0], [0, 2], [1, 1]]
    assert not Eligibility(history, "keep").hidden(requests).any()


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    history = history_of(times=False)
    requests = Requests(np.array([0, 1], dtype=np.int32))
    scores = np.arange(10, dtype=np.float32).reshape(2, 5)
    whole = top_k(lambda block: scores[block.user], history, requests, 2, "drop")
    monkeypatch.setattr(module, "CELLS", 5)
    assert top_k(lambda block: scores[block.user], history, requests, 2, "drop").item.tolist() == whole.item.tolist()
    assert whole.item.tolist() == [4, 3, 4, 3]
