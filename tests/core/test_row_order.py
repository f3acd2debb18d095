from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core import row_order
from recx.core.ragged import indptr_of
from recx.core.row_order import borders_and_rows, count_in_groups, picked, sort_by_time
from recx.core.system import threads
from recx.core.types import Array, Bools, Longs

EVENTS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 6)), max_size=60)


def in_order(events: list[tuple[int, int, int]]) -> tuple[Longs, Array, Bools]:
    user, item, time = np.array(events, dtype=np.int64).reshape(-1, 3).T
    item = item.astype(np.int32)
    indptr, rows = borders_and_rows(user.astype(np.int32), 5)
    return indptr, rows, sort_by_time(indptr, rows, time, item, 4)


@given(EVENTS)
def test_rows_are_sorted_by_user_and_time_as_a_stable_sort_does(events: list[tuple[int, int, int]]) -> None:
    indptr, rows, twin = in_order(events)
    expected = sorted(range(len(events)), key=lambda row: (events[row][0], events[row][2]))
    assert rows.tolist() == expected
    assert indptr.tolist() == [sum(user < border for user, *_ in events) for border in range(6)]
    assert twin.tolist() == [events[row] in [events[other] for other in expected[:at]] for at, row in enumerate(rows)]


@pytest.mark.parametrize("n", [15, 16, 17, 33, 500, 4_097])
def test_long_histories_are_sorted_too(n: int) -> None:
    time = np.random.default_rng(n).integers(0, n // 3, n)
    rows = np.arange(n, dtype=np.int32)
    sort_by_time(np.array([0, n]), rows, time, np.zeros(n, dtype=np.int32), 1)
    assert rows.tolist() == np.argsort(time, kind="stable").tolist()


def test_threads_and_pieces_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    events = [tuple(row) for row in random.integers(0, 4, (5_000, 3)).tolist()]
    expected = in_order(events)
    values = random.random(5_000)
    alone = picked(values, expected[1])
    assert np.array_equal(alone, values[expected[1]])
    monkeypatch.setattr(row_order, "PIECE", 7)
    monkeypatch.setattr(row_order, "ROWS", 11)
    for number in (1, 3):
        monkeypatch.setattr(threads, "available", lambda number=number: number)
        assert all(map(np.array_equal, in_order(events), expected))
        assert np.array_equal(picked(values, expected[1]), alone)


def test_no_events_have_no_order() -> None:
    indptr, rows, twin = in_order([])
    assert (indptr.tolist(), len(rows), len(twin)) == ([0] * 6, 0, 0)


@given(st.lists(st.lists(st.booleans(), max_size=6), max_size=8))
def test_chosen_rows_are_counted_in_their_groups(groups: list[list[bool]]) -> None:
    chosen = np.array([row for group in groups for row in group], dtype=bool)
    indptr = indptr_of(np.array([len(group) for group in groups], dtype=np.int64))
    assert count_in_groups(chosen, indptr).tolist() == [sum(group) for group in groups]
