from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import RecxError
from recx.core.stored_lists import StoredLists, concat
from recx.core.types import RankedLists

LENGTHS = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), min_size=1, max_size=4)


def lists_of(lengths: list[list[int]]) -> list[RankedLists]:
    """Return a block of lists for each list of lengths, with numbers that differ everywhere."""
    made, user, row = [], 0, 0
    for of_block in lengths:
        n = sum(of_block)
        rows = np.arange(row, row + n)
        made.append(
            RankedLists(
                np.arange(user, user + len(of_block), dtype=np.int32),
                np.concatenate([[0], np.cumsum(of_block)]),
                rows.astype(np.int32),
                -rows.astype(np.float32),
                {"rank": rows.astype(np.float32) / 2},
                {"requests_without": 2, "items_without": 3, "ranker_values_cut": 1},
            )
        )
        user, row = user + len(of_block), row + n
    return made


@given(lengths=LENGTHS)
def test_the_lists_are_those_of_all_blocks(lengths: list[list[int]]) -> None:
    blocks, stored = lists_of(lengths), StoredLists()
    for block in blocks:
        stored.add(block)
    made, whole = stored.lists(), concat(blocks)
    for name in ("user", "indptr", "item", "score"):
        np.testing.assert_array_equal(getattr(made, name), getattr(whole, name))
        assert getattr(made, name).dtype == getattr(whole, name).dtype
    np.testing.assert_array_equal(made.columns["rank"], whole.columns["rank"])
    assert dict(made.notes) == dict(whole.notes)
    assert made.notes == {"requests_without": 2 * len(blocks), "items_without": 3, "ranker_values_cut": len(blocks)}
    for a in range(made.n_lists):
        np.testing.assert_array_equal(made[a : a + 2].item, whole[a : a + 2].item)
    np.testing.assert_array_equal(made.top(2).score, whole.top(2).score)
    np.testing.assert_array_equal(made.reorder(-made.score).item, whole.reorder(-whole.score).item)


def test_a_block_with_other_columns_than_the_first_is_an_error_in_one_sentence() -> None:
    first, second = lists_of([[2], [3]])
    more = {**second.columns, "noise": second.score}
    for columns, names in (({}, "none"), ({"noise": second.score}, "noise"), (more, "rank, noise")):
        stored = StoredLists()
        stored.add(first)
        with pytest.raises(RecxError, match=f"for some requests: rank; and for others: {names}:"):
            stored.add(replace(second, columns=columns))


@given(lengths=LENGTHS, at=st.integers(0, 4))
def test_a_block_without_rows_decides_neither_types_nor_columns(lengths: list[list[int]], at: int) -> None:
    blocks = lists_of([[1], *lengths])
    empty = RankedLists(np.array([99]), np.array([0, 0]), np.zeros(0), np.zeros(0))  # float64, without columns
    stored = StoredLists()
    for block in [*blocks[:at], empty, *blocks[at:]]:
        stored.add(block)
    made, whole = stored.lists(), concat(blocks)
    assert (made.item.dtype, made.score.dtype) == (np.int32, np.float32)
    np.testing.assert_array_equal(made.item, whole.item)
    np.testing.assert_array_equal(made.columns["rank"], whole.columns["rank"])


def test_a_note_that_differs_between_blocks_and_is_no_count_of_requests_is_an_error() -> None:
    first, second = lists_of([[2], [3]])
    stored = StoredLists()
    stored.add(replace(first, notes={"users_without_click": 2}))
    with pytest.raises(RecxError, match="'users_without_click' of lists is 2 for some requests and 3 for others"):
        stored.add(replace(second, notes={"users_without_click": 3}))
