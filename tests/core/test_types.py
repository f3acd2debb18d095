"""What passes between the parts: the invariants, by hand and against loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.contracts import check_lists, check_made
from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.errors import InputError, RecxError
from recx.core.evaluation import Evaluation
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import indptr_of
from recx.core.stored_lists import concat
from recx.core.types import Interactions, RankedLists, Requests

FRAME = pd.DataFrame(
    {
        "user": ["b", "a", "b", "b", "a"],
        "item": [30, 10, 20, 30, 20],
        "time": [5, 9, 5, 1, 9],
        "weight": [1, 2, 3, 4, 5.0],
    }
)


def lists_of(*lists: list[tuple[int, float]]) -> RankedLists:
    """One list a user 0, 1, ... of (item, score); a column repeats the item's number."""
    pairs = [pair for one in lists for pair in one]
    item = np.array([item for item, _ in pairs], dtype=np.int32)
    return RankedLists(
        user=np.arange(len(lists), dtype=np.int32),
        indptr=indptr_of(np.array([len(one) for one in lists], dtype=np.int64)),
        item=item,
        score=np.array([score for _, score in pairs], dtype=np.float32),
        columns={"number": item.astype(np.float32)},
    )


def plain(lists: RankedLists) -> list[tuple[int, list[int]]]:
    assert lists.columns["number"].tolist() == lists.item.tolist()  # the columns come along
    rows = zip(lists.user.tolist(), lists.indptr[:-1], lists.indptr[1:], strict=True)
    return [(user, lists.item[start:stop].tolist()) for user, start, stop in rows]


THREE = lists_of([(4, 3.0), (2, 2.0), (9, 1.0)], [], [(7, 0.5), (1, 0.5)])


def test_a_frame_becomes_events_grouped_by_user_oldest_first_and_equal_times_in_the_files_order() -> None:
    data = Interactions.from_frame(FRAME)
    assert data.users.ids.tolist() == ["b", "a"]  # by first appearance
    assert data.items.ids.tolist() == [10, 20, 30]  # sorted
    assert data.indptr.tolist() == [0, 3, 5]
    assert data.items.ids[data.item].tolist() == [30, 30, 20, 10, 20]
    assert data.time is not None
    assert data.time.tolist() == [1, 5, 5, 9, 9]
    assert data.weight.tolist() == [4, 1, 3, 2, 5]
    assert (data.indptr.dtype, data.item.dtype, data.time.dtype, data.weight.dtype) == ("i8", "i4", "i8", "f4")


def test_times_are_never_cast_to_float() -> None:
    time = [2**62 + 1, 2**62]
    data = Interactions.from_frame(pd.DataFrame({"user": [1, 1], "item": [5, 6], "time": time}))
    assert data.time is not None
    assert data.time.tolist() == time[::-1]
    assert data.item.tolist() == [1, 0]


def test_without_times_the_files_order_stays_and_a_weight_is_one() -> None:
    data = Interactions.from_frame(FRAME[["user", "item"]])
    assert data.time is None
    assert data.items.ids[data.item].tolist() == [30, 20, 30, 10, 20]
    assert data.weight.tolist() == [1] * 5


def test_entities_given_beforehand_keep_their_numbers() -> None:
    users, items = Entities(np.array(["a", "c", "b"])), Entities(np.array([30, 5, 20, 10]))
    data = Interactions.from_frame(FRAME, users=users, items=items)
    assert data.lengths.tolist() == [2, 0, 3]
    assert data.clicks.tolist() == [2, 0, 2, 1]
    assert data.user.tolist() == [0, 0, 2, 2, 2]
    assert data.first_seen.tolist() == [1, UNKNOWN_TIME, 5, 9]


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("user", ["b", None, "b", "b", "a"], "column 'user', row 2: the id .* is missing or unknown"),
        ("item", [30, 10, 20, 30, 99], "column 'item', row 5: the id 99 is missing or unknown"),
        ("time", [5.5, 9.0, 5.0, 1.0, 9.0], "column 'time', row 1: 5.5 is not a whole number of milliseconds"),
        ("time", [b"5"] * 5, "column 'time' must hold whole milliseconds"),
        ("tme", [5, 9, 5, 1, 9], r"^the events have a column 'tme': leave it out, .*; did you mean 'time'\?$"),
    ],
)
def test_what_cannot_be_used_is_an_error(column: str, values: list, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Interactions.from_frame(FRAME.assign(**{column: values}), items=Entities(np.array([10, 20, 30])))


def test_events_without_an_item_are_an_error() -> None:
    with pytest.raises(InputError, match=r"^the events have no column 'item': rename theirs, user, sku$"):
        Interactions.from_frame(pd.DataFrame({"user": [1], "sku": [2]}))


def test_clicks_that_are_kept_share_their_weights() -> None:
    data = Interactions.from_frame(FRAME[["user", "item"]])
    kept = data.keep(np.array([False, True, False, False, True]))
    assert kept.weight.tolist() == [1, 1]
    assert np.shares_memory(kept.weight, data.weight)


def test_keeping_events_keeps_the_numbers_of_users_and_items() -> None:
    data = Interactions.from_frame(FRAME)
    kept = data.keep(np.array([False, True, False, False, True]))
    assert (kept.n_users, kept.n_items) == (2, 3)
    assert kept.user.tolist() == [0, 1]
    assert kept.clicks.tolist() == [0, 1, 1]
    assert kept.weight.tolist() == [1, 5]
    assert data.keep(np.zeros(5, dtype=bool)).lengths.tolist() == [0, 0]


def test_an_entity_has_an_embedding_unless_its_row_is_nan() -> None:
    embedding = np.array([[1, 2], [np.nan, np.nan], [0, 0]], dtype=np.float32)
    assert Entities(np.arange(3), embedding=embedding).has_embedding.tolist() == [True, False, True]
    assert Entities(np.arange(2)).has_embedding.tolist() == [False, False]


def test_requests_are_cut_with_their_times() -> None:
    requests = Requests(np.array([1, 4, 6], dtype=np.int32), np.array([10, 20, 30]))
    some = requests[1:]
    assert some.time is not None
    assert (len(some), some.user.tolist(), some.time.tolist()) == (2, [4, 6], [20, 30])
    assert Requests(requests.user)[np.array([2, 0])].time is None


def test_lists_know_their_lengths_and_ranks() -> None:
    assert THREE.lengths.tolist() == [3, 0, 2]
    assert THREE.list_of_row.tolist() == [0, 0, 0, 2, 2]
    assert THREE.rank.tolist() == [1, 2, 3, 1, 2]
    assert (len(THREE), THREE.n_lists) == (5, 3)


def test_lists_are_cut_and_taken_with_their_columns() -> None:
    assert plain(THREE[1:]) == [(1, []), (2, [7, 1])]
    assert plain(THREE[2:1]) == []
    assert plain(THREE.take(np.array([2, 0, 2]))) == [(2, [7, 1]), (0, [4, 2, 9]), (2, [7, 1])]
    assert plain(THREE.take(np.array([False, True, True]))) == [(1, []), (2, [7, 1])]
    assert plain(THREE.top(1)) == [(0, [4]), (1, []), (2, [7])]
    assert plain(THREE.top(9)) == plain(THREE)


def test_lists_are_joined_with_their_columns_and_counts_of_requests_add_up() -> None:
    whole = replace(THREE, columns={"x": np.arange(len(THREE), dtype=np.float32)}, notes={"requests_odd": 1, "size": 5})
    again = concat([whole[:1], whole[1:1], whole[1:]])
    for name in ("user", "indptr", "item", "score"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name), strict=True)
    assert again.columns["x"].tolist() == whole.columns["x"].tolist()
    assert again.notes == {"requests_odd": 3, "size": 5}
    nothing = concat([])
    assert (nothing.n_lists, len(nothing), nothing.indptr.tolist()) == (0, 0, [0])


def test_reordering_sorts_by_the_new_score_and_ties_stay() -> None:
    again = THREE.reorder(np.array([1, 2, 2, 0, 0]))
    assert plain(again) == [(0, [2, 9, 4]), (1, []), (2, [7, 1])]
    assert again.score.tolist() == [2, 2, 1, 0, 0]


@given(st.lists(st.lists(st.sampled_from([-1.0, 0.0, 2.0, 5.0]), max_size=5), max_size=5))
def test_reordering_never_loses_a_pair(scores: list[list[float]]) -> None:
    lists = lists_of(*[[(item, 0.0) for item in range(len(one))] for one in scores])
    again = lists.reorder(np.array([score for one in scores for score in one]))
    expected = [sorted(range(len(one)), key=lambda item, one=one: -one[item]) for one in scores]
    assert [items for _, items in plain(again)] == expected
    check_lists(again, Requests(lists.user), 5, "reorder")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_reordering_by_what_is_not_finite_names_the_user_and_the_item(value: float) -> None:
    with pytest.raises(RecxError, match="the score of item 1 for user 2 is"):
        THREE.reorder(np.array([1, 2, 3, 4, value]))
    with pytest.raises(RecxError, match="one score for each of the 5 rows"):
        THREE.reorder(np.zeros(4))


def test_valid_lists_pass_and_come_back() -> None:
    assert check_lists(THREE, Requests(THREE.user), 10, "mine") is THREE
    nothing = lists_of()
    assert check_lists(nothing, Requests(nothing.user), 0, "mine") is nothing


@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        (replace(THREE, user=np.array([0, 2, 1], dtype=np.int32)), "one list for each request"),
        (THREE[:2], "one list for each request"),
        (replace(THREE, indptr=np.array([0, 3, 3, 4])), "indptr does not fit"),
        (replace(THREE, indptr=np.array([0, 3, 2, 5])), "indptr does not fit"),
        (replace(THREE, columns={"number": np.zeros(4, dtype=np.float32)}), "scores or columns that do not fit"),
        (lists_of([(10, 1.0)], [], []), "an item outside the catalogue for user 0"),
        (lists_of([], [(-1, 1.0)], []), "an item outside the catalogue for user 1"),
        (lists_of([], [], [(1, np.nan)]), "a score that is not finite for user 2"),
        (lists_of([(3, 1.0)], [(3, 2.0), (4, 1.0), (3, 0.0)], []), "an item twice for user 1"),
        (lists_of([(3, 1.0)], [(3, 2.0), (4, 2.5)], []), "scores that rise along the list for user 1"),
    ],
)
def test_a_violated_invariant_names_the_maker(lists: RankedLists, reason: str) -> None:
    with pytest.raises(RecxError, match=f"^mine .*{reason}"):
        check_lists(lists, Requests(THREE.user), 10, "mine")


def test_what_metrics_start_from() -> None:
    data = Interactions.from_frame(FRAME)
    judged = JudgedLists(
        lists=THREE,
        hit_row=np.array([1, 2, 4]),
        hit_gain=np.array([2, 0.5, 1], dtype=np.float32),
        ideal_indptr=np.array([0, 2, 3, 5]),
        ideal=np.array([2, 0.5, 1, 1, 1], dtype=np.float32),
        ideal_item=np.array([5, 3, 7, 7, 1], dtype=np.int32),
        history=data,
        items=data.items,
    )
    assert judged.n_targets.tolist() == [1, 1, 2]
    assert judged.gain.tolist() == [0, 2, 0.5, 0, 1]
    assert judged.hit_user.tolist() == [0, 0, 2]
    assert judged.hit_rank.tolist() == [2, 3, 2]
    assert judged.ideal_rank.tolist() == [1, 2, 1, 1, 2]
    assert judged.relevant_hits(None).tolist() == [0, 2]
    assert judged.relevant_hits(1).tolist() == []
    assert [judged.shown(k).tolist() for k in (1, 2, None)] == [[0, 0, 0], [1, 0, 1], [1, 0, 1]]
    lower = judged.at(0.5)
    assert lower.n_targets.tolist() == [2, 1, 2]
    assert lower.shown(None).tolist() == [2, 0, 1]
    assert judged.at(1.0) is judged


def test_means_exclude_users_that_a_stage_excludes() -> None:
    values = {"ranking/hit_at_5": np.array([1, np.nan, 0, 0]), "ranking/none": np.full(4, np.nan)}
    means = Evaluation(np.arange(4), values, {"funnel/users": 4}).means
    assert means["ranking/hit_at_5"] == pytest.approx(1 / 3)
    assert np.isnan(means["ranking/none"])
    assert means["funnel/users"] == 4.0


def test_another_threshold_excludes_users_without_a_relevant_target() -> None:
    """User 0 has targets of grade 2 and 0.5, user 1 one of 1, user 2 two of 1; the second list is empty."""
    data = Interactions.from_frame(FRAME)
    judged = JudgedLists(
        lists=THREE,
        hit_row=np.array([1, 2, 4]),
        hit_gain=np.array([2, 0.5, 1], dtype=np.float32),
        ideal_indptr=np.array([0, 2, 3, 5]),
        ideal=np.array([2, 0.5, 1, 1, 1], dtype=np.float32),
        ideal_item=np.array([5, 3, 7, 7, 1], dtype=np.int32),
        history=data,
        items=data.items,
    )
    high = judged.at(2)
    assert (high.lists.user.tolist(), high.n_targets.tolist(), high.gain.tolist()) == ([0], [1], [0, 2, 0.5])
    assert high.ideal.tolist() == [2, 0.5]
    assert judged.at(2.0) is high
    assert judged.spread(np.array([7.0]), high) == pytest.approx([7, np.nan, np.nan], nan_ok=True)
    last = judged.of_users(np.array([False, True, True]))
    assert (last.lists.item.tolist(), last.lists.indptr.tolist()) == ([7, 1], [0, 0, 2])
    assert (last.hit_row.tolist(), last.hit_user.tolist(), last.hit_rank.tolist()) == ([1], [1], [2])
    assert (last.ideal.tolist(), last.ideal_indptr.tolist()) == ([1, 1, 1], [0, 1, 3])
    assert last.ideal_item.tolist() == [7, 7, 1]
    assert plain(last.lists) == [(1, []), (2, [7, 1])]
    assert judged.of_users(np.ones(3, dtype=bool)) is judged
    assert judged.of_users(np.zeros(3, dtype=bool)).n_users == 0


@pytest.mark.parametrize("name", ["user", "rank", "item", "score", "retriever_rank", "retriever_score"])
def test_no_column_is_called_like_one_of_the_table_of_lists(name: str) -> None:
    lists, requests = replace(THREE, columns={name: THREE.score}), Requests(THREE.user)
    assert check_lists(lists, requests, 10, "mine") is lists  # lists of an earlier recx may have it
    with pytest.raises(InputError, match=f"^mine returned a column '{name}', and .* one of its own: give it another"):
        check_made(lists, requests, 10, "mine")
    assert check_made(THREE, requests, 10, "mine") is THREE
