"""From frames to arrays: ids of every kind, grouping, order, and what is refused in one sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.evaluation.frames import ids_of, lists_of, truth_of
from recx.evaluation.grouped import Grouped, number, numbered


def frame(**columns):
    return pd.DataFrame(columns)


def as_dict(grouped: Grouped):
    """User -> [(item, value), ...] in the order kept."""
    rows = list(zip(grouped.items[grouped.item].tolist(), grouped.value.tolist(), strict=True))
    starts = grouped.indptr.tolist()
    return {user: rows[a:b] for user, a, b in zip(grouped.users.tolist(), starts[:-1], starts[1:], strict=True)}


def test_lists_are_grouped_and_sorted_stably():
    rows = frame(user=[2, 1, 2, 1, 2], item=[20, 10, 21, 11, 22], score=[0.5, 0.1, 0.9, 0.1, 0.5])
    assert as_dict(lists_of(rows)) == {2: [(21, 0.9), (20, 0.5), (22, 0.5)], 1: [(10, 0.1), (11, 0.1)]}


def test_rank_orders_where_there_is_no_score_and_one_is_chosen_where_they_contradict_each_other():
    assert as_dict(lists_of(frame(user=[1, 1, 1], item=[5, 6, 7], rank=[3, 1, 2]))) == {1: [(6, -1), (7, -2), (5, -3)]}
    both = frame(user=[1, 1], item=[5, 6], rank=[1, 2], score=[0.1, 0.9])
    with pytest.raises(InputError, match="the columns rank and score contradict each other"):
        lists_of(both)
    assert as_dict(lists_of(both, "score")) == {1: [(6, 0.9), (5, 0.1)]}
    assert as_dict(lists_of(both, "rank")) == {1: [(5, -1), (6, -2)]}


@pytest.mark.parametrize("first", [2**53, 2**62, -(2**53) - 1])
def test_whole_scores_and_ranks_that_decimal_numbers_would_merge_stay_apart(first):
    numbers = [first, first + 1]
    assert as_dict(lists_of(frame(user=[1, 1], item=[5, 6], score=numbers))) == {1: [(6, first + 1), (5, first)]}
    backwards = frame(user=[1, 1], item=[5, 6], rank=numbers[::-1])
    assert as_dict(lists_of(backwards)) == {1: [(6, -first), (5, -first - 1)]}
    with pytest.raises(InputError, match="contradict each other"):
        lists_of(frame(user=[1, 1], item=[5, 6], rank=numbers, score=numbers))
    both = frame(user=[1, 1], item=[5, 6], rank=[2, 1], score=numbers)
    assert [item for item, _ in as_dict(lists_of(both))[1]] == [6, 5]


def test_scores_that_no_int64_holds_are_refused():
    with pytest.raises(InputError, match="column 'score' holds numbers from 2\\^63 on, which would merge"):
        lists_of(frame(user=[1, 1], item=[5, 6], score=[2**63, 2**63 + 1]))


def test_the_order_given_is_kept_and_needs_no_score():
    rows = frame(user=["b", "a", "b"], item=["x", "y", "z"])
    assert as_dict(lists_of(rows, "given")) == {"b": [("x", 0), ("z", -1)], "a": [("y", 0)]}
    with pytest.raises(InputError, match=r'no column score or rank .* order="given"'):
        lists_of(rows)


def test_truth_has_grade_1_where_it_has_none():
    assert as_dict(truth_of(frame(user=[1, 1], item=[5, 6]))) == {1: [(5, 1), (6, 1)]}
    assert as_dict(truth_of(frame(user=[1, 1], item=[5, 6], grade=[0.5, -2]))) == {1: [(5, 0.5), (6, -2)]}


ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 9), st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=40)


@given(rows=ROWS.filter(len), text=st.booleans())
def test_lists_equal_a_stable_sort_of_each_users_rows(rows, text):
    table = pd.DataFrame(rows, columns=["user", "item", "score"])
    if text:
        table = table.astype({"user": str, "item": str})
    kept = table.copy()
    expected = {}
    for user, item, score in table.itertuples(index=False):
        expected.setdefault(user, []).append((item, score))
    expected = {user: sorted(shown, key=lambda row: -row[1]) for user, shown in expected.items()}
    found = as_dict(lists_of(table))
    assert found == expected
    assert list(found) == list(expected)  # by first appearance
    pd.testing.assert_frame_equal(table, kept)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.array([1, 2, 3], dtype="Int64"), np.int64),
        (pd.array([1, 2, 3], dtype="UInt8"), np.int64),
        (np.array([1, 2, 3], dtype=np.uint64), np.int64),
        (np.array([1, 2, 2**64 - 1], dtype=np.uint64), np.uint64),
        (pd.Categorical([7, 8, 9]), np.int64),
        (pd.Categorical(["a", "b", "c"]), object),
        (pd.array(["a", "b", "c"], dtype="string"), object),
        (np.array(["a", "b", "c"], dtype=object), object),
        (np.array([1, 2, 3], dtype=object), np.int64),
    ],
)
def test_ids_of_every_kind_become_whole_numbers_or_text(column, kind):
    ids = ids_of(pd.DataFrame({"item": column}), "item", "lists")
    assert ids.dtype == kind
    assert ids.tolist() == list(column)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, 2.0], "holds floating values.*read them again as whole numbers or text"),
        ([True, False], "holds boolean values"),
        ([1, None], "row 2: the id is missing: fill it in or drop the row"),
        (["a", None], "row 2: the id is missing"),
        ([1, "a"], "holds mixed-integer values"),
        ([b"a", b"b"], "holds bytes values"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "holds datetime64 values"),
        ([2**70, 1], "do not fit into 64 bits: convert them to text"),
    ],
)
def test_ids_that_are_neither_are_refused(column, message):
    with pytest.raises(InputError, match=f"^lists: column 'item'.*{message}"):
        ids_of(pd.DataFrame({"item": column}), "item", "lists")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_names_the_user(bad):
    rows = frame(user=["u1", "u2", "u2"], item=[1, 2, 3], score=[0.5, 0.1, bad])
    with pytest.raises(InputError, match=f"the score of user 'u2' in row 3 is {bad}: every score must be a finite"):
        lists_of(rows)
    with pytest.raises(InputError, match="the grade of user 'u2' in row 3"):
        truth_of(rows.rename(columns={"score": "grade"}))


def test_a_missing_column_suggests_the_near_match():
    with pytest.raises(InputError, match="relevance: column 'user' is missing; did you mean 'user_id'"):
        truth_of(frame(user_id=[1], item=[2]))
    with pytest.raises(InputError, match=r"column 'score' holds .* values, not numbers: convert it"):
        lists_of(frame(user=[1], item=[2], score=["high"]))


@given(
    columns=st.lists(
        st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 50), max_size=12), min_size=1, max_size=3
    )
)
def test_ids_are_numbered_alike_in_all_columns(columns):
    arrays = {f"c{place}": np.array(column, dtype=np.int64) for place, column in enumerate(columns)}
    codes, ids = number({name: numbered(column) for name, column in arrays.items()}, "item")
    assert len(set(ids.tolist())) == len(ids)
    assert set(ids.tolist()) == {value for column in columns for value in column}
    for column, code in zip(columns, codes, strict=True):
        assert code.dtype == np.int32
        assert ids[code].tolist() == column


@pytest.mark.parametrize("apart", [1, 10**9])
def test_ids_rise_if_they_are_close_together_and_come_as_they_appear_otherwise(apart):
    columns = {"a": np.array([7, 3, 7]) * apart, "b": np.array([5, 3]) * apart}
    codes, ids = number({name: numbered(column) for name, column in columns.items()}, "item")
    assert (ids // apart).tolist() == ([3, 5, 7] if apart == 1 else [7, 3, 5])
    assert [ids[code].tolist() for code in codes] == [column.tolist() for column in columns.values()]


def test_whole_numbers_against_text_are_refused():
    message = r"the item ids differ in type \(int in lists, str in truth\).*astype\(str\)"
    with pytest.raises(InputError, match=message):
        number({"lists": numbered(np.array([1])), "truth": numbered(np.array(["1"], dtype=object))}, "item")


def test_large_ids_of_both_signs_are_distinguished():
    columns = {"a": np.array([2**64 - 1], dtype=np.uint64), "b": np.array([-1], dtype=np.int64)}
    codes, ids = number({name: numbered(column) for name, column in columns.items()}, "item")
    assert codes[0][0] != codes[1][0]
    assert len(ids) == 2


@pytest.mark.parametrize("column", ["weight", "rating", "score", "value"])
def test_a_grade_by_another_name_is_not_ignored(column):
    with pytest.raises(
        InputError, match=f"relevance: there is no column grade but a column {column}: rename it to grade"
    ):
        truth_of(frame(user=[1], item=[2], **{column: [3]}))
    assert truth_of(frame(user=[1], item=[2], grade=[3], **{column: [5]})).value.tolist() == [3]
    assert truth_of(frame(user=[1], item=[2], time=[5])).value.tolist() == [1]
