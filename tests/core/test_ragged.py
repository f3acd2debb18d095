"""The grouped arrays, held against plain loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core import ragged
from recx.core.ragged import Array
from recx.core.system.threads import limited_to

LENGTHS = st.lists(st.integers(0, 6), max_size=8)
NUMBERS = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])


def values_for(data: st.DataObject, lengths: list[int], dtype: str = "float32") -> tuple[Array, list[list[float]]]:
    groups = [data.draw(st.lists(NUMBERS, min_size=n, max_size=n)) for n in lengths]
    return np.array([value for group in groups for value in group], dtype=dtype), groups


@given(LENGTHS)
def test_groups_and_positions_are_those_of_a_loop(lengths: list[int]) -> None:
    indptr = ragged.indptr_of(np.array(lengths, dtype=np.int64))
    assert indptr.tolist() == [sum(lengths[:group]) for group in range(len(lengths) + 1)]
    assert ragged.group_of_rows(indptr).tolist() == [group for group, n in enumerate(lengths) for _ in range(n)]
    assert ragged.position_of_rows(indptr).tolist() == [place for n in lengths for place in range(n)]


@given(st.data(), LENGTHS.filter(bool))
def test_rows_of_groups_come_in_the_order_asked_for(data: st.DataObject, lengths: list[int]) -> None:
    indptr = ragged.indptr_of(np.array(lengths))
    groups = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=6))
    expected = [row for group in groups for row in range(indptr[group], indptr[group + 1])]
    assert ragged.rows_of_groups(indptr, np.array(groups, dtype=np.int64)).tolist() == expected


@given(LENGTHS, st.integers(0, 7))
def test_the_first_of_each_group(lengths: list[int], k: int) -> None:
    indptr = ragged.indptr_of(np.array(lengths, dtype=np.int64))
    rows, kept = ragged.first_rows(indptr, k)
    expected = [start + place for start, n in zip(indptr.tolist(), lengths, strict=False) for place in range(min(n, k))]
    assert np.arange(sum(lengths))[rows].tolist() == expected
    assert np.diff(kept).tolist() == [min(n, k) for n in lengths]


@given(st.data(), LENGTHS)
def test_sums_and_largest_values_are_those_of_a_loop(data: st.DataObject, lengths: list[int]) -> None:
    values, groups = values_for(data, lengths)
    indptr = ragged.indptr_of(np.array(lengths, dtype=np.int64))
    assert ragged.sum_of_groups(values, indptr).tolist() == [sum(group) for group in groups]
    assert ragged.max_of_groups(values, indptr).tolist() == [max(group, default=-np.inf) for group in groups]


def test_whole_numbers_and_masks_are_summed_too() -> None:
    indptr = np.array([0, 2, 2, 3])
    assert ragged.sum_of_groups(np.array([2**31, 1, 5]), indptr).tolist() == [2**31 + 1, 0, 5]
    assert ragged.sum_of_groups(np.array([True, True, False]), indptr).tolist() == [2, 0, 0]


@given(st.data(), LENGTHS, st.sampled_from(["float32", "float64", "int32"]), st.sampled_from([1, 5, 4_000_000]))
def test_order_in_groups_is_a_stable_sort_of_each(
    data: st.DataObject, lengths: list[int], dtype: str, cells: int
) -> None:
    values, groups = values_for(data, lengths, dtype)
    indptr = ragged.indptr_of(np.array(lengths, dtype=np.int64))
    expected = [
        start + place
        for start, stop in pairwise(indptr.tolist())
        for place in sorted(range(stop - start), key=lambda place, start=start: -values[start + place])
    ]
    assert len(groups) == len(lengths)
    assert ragged.order_in_groups(values, indptr, cells).tolist() == expected


@given(st.data(), LENGTHS, st.integers(1, 9))
def test_arrays_sorted_along_are_those_of_the_order(data: st.DataObject, lengths: list[int], rows: int) -> None:
    score, _ = values_for(data, lengths)
    indptr = ragged.indptr_of(np.array(lengths, dtype=np.int64))
    order = ragged.order_in_groups(score, indptr)
    with pytest.MonkeyPatch.context() as patch, limited_to(3):
        patch.setattr(ragged, "ROWS_AT_ONCE", rows)
        ordered, places = ragged.sorted_in_groups(score, indptr, np.arange(len(score)))
    assert places.tolist() == order.tolist()
    assert ordered.tolist() == score[order].tolist()


def test_a_score_of_minus_infinity_is_last_and_never_taken_for_padding() -> None:
    score = np.array([-np.inf, 1, 2, -np.inf, 0, 5], dtype=np.float32)
    assert ragged.order_in_groups(score, np.array([0, 2, 6])).tolist() == [1, 0, 5, 2, 4, 3]


@pytest.mark.parametrize("least", [2**53, -(2**63), 2**63 - 4])
def test_whole_numbers_are_not_sorted_as_decimal_ones(least: int) -> None:
    score = np.array([least, least + 1, least, least + 3, least + 2], dtype=np.int64)
    assert ragged.order_in_groups(score, np.array([0, 2, 5])).tolist() == [1, 0, 3, 4, 2]


@given(st.lists(st.integers(-3, 3)))
def test_distinct_keys_are_sorted(keys: list[int]) -> None:
    assert ragged.distinct(np.array(keys, dtype=np.int64)).tolist() == sorted(set(keys))


@pytest.mark.parametrize(
    ("n", "size", "expected"), [(0, 3, []), (3, 3, [(0, 3)]), (7, 3, [(0, 3), (3, 6), (6, 7)]), (2, 5, [(0, 2)])]
)
def test_blocks_cover_the_range(n: int, size: int, expected: list[tuple[int, int]]) -> None:
    assert list(ragged.blocks(n, size)) == expected


@given(st.lists(st.integers(0, 5) | st.sampled_from([2**16 - 1, 2**16, 3 * 2**16 + 4]), max_size=20))
def test_rows_by_group_are_a_stable_sort(groups: list[int]) -> None:
    expected = sorted(range(len(groups)), key=lambda row: groups[row])
    assert ragged.rows_by_group(np.array(groups, dtype=np.int32)).tolist() == expected


@given(st.data(), LENGTHS)
def test_the_first_rows_of_each_group(data: st.DataObject, lengths: list[int]) -> None:
    firsts = [data.draw(st.integers(0, length)) for length in lengths]
    indptr = ragged.indptr_of(np.array(lengths, dtype=np.int64))
    found = ragged.prefixes(np.array(firsts, dtype=np.int64), indptr).tolist()
    assert found == [at < first for first, length in zip(firsts, lengths, strict=True) for at in range(length)]


@given(st.data(), LENGTHS)
def test_scores_that_rise_within_a_group_are_found(data: st.DataObject, lengths: list[int]) -> None:
    values, groups = values_for(data, lengths)
    indptr = ragged.indptr_of(np.array(lengths, dtype=np.int64))
    expected = [place > 0 and group[place] > group[place - 1] for group in groups for place in range(len(group))]
    assert ragged.rises(values, indptr)[:-1].tolist() == expected
    assert ragged.in_order(values, indptr) == (not any(expected))


# Groups of one length and uneven ones are dealt with each in its own way.
ITEMS = st.lists(st.integers(0, 400), max_size=25, unique=True)
SHAPES = st.one_of(
    st.lists(st.lists(st.integers(0, 20), max_size=16), max_size=6),
    st.lists(ITEMS, max_size=6),
    st.integers(17, 25).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 400), min_size=n, max_size=n, unique=True), max_size=4)
    ),
)


@given(st.data(), SHAPES, st.booleans(), st.sampled_from([1, 30, 100_000]))
def test_an_item_twice_in_a_group_is_found(
    data: st.DataObject, groups: list[list[int]], twice: bool, rows: int
) -> None:
    if twice and groups:
        group = data.draw(st.sampled_from([group for group in groups if len(group) > 1] or [[0, 0]]))
        group[-1] = group[data.draw(st.integers(0, len(group) - 2))]
    item = np.array([item for group in groups for item in group], dtype=np.int32)
    indptr = ragged.indptr_of(np.array([len(group) for group in groups], dtype=np.int64))
    assert ragged.has_twice(item, indptr, rows) == any(len(set(group)) < len(group) for group in groups)
    again = [item in group[:place] for group in groups for place, item in enumerate(group)]
    assert ragged.repeats(item, indptr, rows).tolist() == again


@given(st.data(), SHAPES, st.booleans(), st.sampled_from([1, 30, 100_000]))
def test_the_same_items_in_another_order_are_the_same_and_nothing_else_is(
    data: st.DataObject, groups: list[list[int]], changed: bool, rows: int
) -> None:
    others = [data.draw(st.permutations(group)) for group in groups]
    if changed and any(groups):
        group = data.draw(st.sampled_from([group for group in others if group]))
        group[data.draw(st.integers(0, len(group) - 1))] = data.draw(st.integers(0, 500))
    item, other = (np.array([item for group in some for item in group], dtype=np.int32) for some in (groups, others))
    indptr = ragged.indptr_of(np.array([len(group) for group in groups], dtype=np.int64))
    same = [sorted(group) for group in groups] == [sorted(group) for group in others]
    assert ragged.same_items(item, other, indptr, rows) == same


def test_rows_that_repeat_an_earlier_item_of_their_group() -> None:
    item, indptr = np.array([3, 1, 3, 3, 2, 2, 2, 2]), ragged.indptr_of(np.array([3, 2, 0, 3]))
    expected = [False, False, True, False, False, False, True, True]
    assert ragged.repeats(item, indptr).tolist() == expected
    assert not ragged.repeats(item[:2], np.array([0, 2])).any()
