"""What is read from which log, and each fault or second reading with its column, row and setting."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recx
from recx.core.errors import InputError

QUICK = {"resamples": 20, "draws": 19}


@pytest.fixture
def nested(logs):
    return logs["list"]()


@pytest.fixture
def rows(logs):
    return logs["item"]()


def values(found):
    return found.table[["metric", "control", "treatment"]].set_index("metric").to_dict()


def test_positions_may_count_from_0_if_that_is_said(rows):
    from_0 = rows.assign(position=rows["position"] - 1)
    message = "column 'position', row 1: the position is 0: positions could count from 0, .* set --first-position 0"
    with pytest.raises(InputError, match=message):
        recx.ab(from_0, **QUICK)
    assert values(recx.ab(from_0, first_position=0, **QUICK)) == values(recx.ab(rows, **QUICK))
    with pytest.raises(InputError, match="has the position 1, not 0"):
        recx.ab(rows, first_position=0, **QUICK)
    with pytest.raises(InputError, match="the position is -1: correct it or remove the row"):
        recx.ab(rows.assign(position=rows["position"] - 2), first_position=0, **QUICK)


def test_positions_that_leave_one_out_are_taken_as_they_are_if_that_is_said(rows):
    without = rows.drop(index=7)  # the third of u2's four items
    message = "row 8: the list 2 of user 'u2' has the position 4, not 3: a row could be missing .*--gaps keep"
    with pytest.raises(InputError, match=message):
        recx.ab(without, **QUICK)
    found = recx.ab(without, gaps="keep", **QUICK)
    assert values(found)["control"] == pytest.approx({"hit_rate": 2 / 3, "ctr": 2 / 8, "mrr": 1.5 / 3})
    later = rows.assign(position=rows["position"] + 1)
    assert values(recx.ab(later, gaps="keep", **QUICK))["control"]["mrr"] == pytest.approx((1 / 3 + 1 / 2) / 3)


def test_lists_without_names_are_one_for_each_user_and_that_is_said(rows):
    first = rows[rows["list"].isin([0, 2, 3, 4])].drop(columns="list")
    found = recx.ab(first, **QUICK)
    assert found.notes == {"lists_without_name": 4}
    assert "the log does not name its lists, so all rows of a user count as one list (lists: 4)" in found.warnings
    with pytest.raises(
        InputError, match=r"the list of user 'u1' has the position 1 twice: .* or the user got two lists"
    ):
        recx.ab(rows.drop(columns="list"), **QUICK)


def test_a_name_of_a_list_may_come_back_with_another_user(rows):
    reused = rows.assign(list=rows["list"].map({0: 0, 1: 1, 2: 0, 3: 0, 4: 0, 5: 1}))
    assert values(recx.ab(reused, **QUICK)) == values(recx.ab(rows, **QUICK))


def test_lists_may_have_names_in_a_row_each(nested):
    called = nested.assign(session=[1, 2, 1, 1, 1, 2])
    for columns in ({}, {"list": "session"}):
        assert values(recx.ab(called, columns=columns, **QUICK)) == values(recx.ab(nested, **QUICK))


def test_what_needs_no_positions_does_without(rows):
    bare = rows.drop(columns=["position", "item"])
    with pytest.raises(InputError, match="column 'position' is missing, and the order of the rows could be"):
        recx.ab(bare, **QUICK)
    found = recx.ab(bare, metrics=["hit_rate", "ctr"], **QUICK)
    assert values(found)["treatment"] == pytest.approx({"hit_rate": 2 / 3, "ctr": 2 / 5})
    nothing = bare.drop(columns="list")
    with pytest.raises(InputError, match=r"the rows of a user could be one list or several: .*--metrics ctr"):
        recx.ab(nothing, metrics=["hit_rate"], **QUICK)
    assert values(recx.ab(nothing, metrics=["ctr"], **QUICK))["control"] == pytest.approx({"ctr": 1 / 3})


def test_clicks_that_were_not_shown(nested):
    strange = nested.assign(clicked=[["b", "q"], [], ["c", "a", "c"], ["y"], ["x"], []])
    message = (
        r"'clicked', row 1: the item 'q' was clicked and not shown \(such clicks: 1\): .* another list, or .* was cut"
    )
    with pytest.raises(InputError, match=message):
        recx.ab(strange, **QUICK)
    found = recx.ab(strange, clicks_not_shown="drop", **QUICK)
    assert values(found) == values(recx.ab(nested, **QUICK))
    assert found.notes == {"clicks_not_shown": 1, "repeated_clicks": 1}


def test_flags_that_could_be_items(nested):
    items = nested.assign(shown=[[1, 0], [1, 0], [0, 1], [1, 0], [0, 1], [1, 0]], clicked=[[0, 1]] * 6)
    with pytest.raises(
        InputError, match=r"its numbers 0 and 1 could say .* set --clicked-as flags or --clicked-as items"
    ):
        recx.ab(items, **QUICK)
    as_items = values(recx.ab(items, clicked_as="items", **QUICK))
    as_flags = values(recx.ab(items, clicked_as="flags", **QUICK))
    assert as_items["control"] == {"hit_rate": 1.0, "ctr": 1.0, "mrr": 1.0}
    assert as_flags["control"] == {"hit_rate": 1.0, "ctr": 0.5, "mrr": 0.5}
    once = items.assign(clicked=[[0, 0]] * 5 + [[1, 0]])  # an item that is clicked twice is a flag
    assert values(recx.ab(once, **QUICK))["treatment"]["ctr"] == pytest.approx(1 / 6)
    with pytest.raises(InputError, match=r"'clicked', row 1: its list is not as long as that of the items \(3\)"):
        recx.ab(nested, clicked_as="flags", **QUICK)


def test_a_list_that_shows_nothing_counts_and_is_counted(nested):
    empty = pd.concat([nested, pd.DataFrame({"user": ["u3"], "arm": ["B"], "shown": [[]], "clicked": [[]]})])
    found = recx.ab(empty, **QUICK)
    assert values(found)["treatment"] == pytest.approx({"hit_rate": 2 / 4, "ctr": 2 / 5, "mrr": 1.5 / 4})
    assert found.notes == {"empty_lists": 1}
    assert "lists that show no item, and count 0 in hit_rate and mrr: 1" in found.warnings


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"clicked": [0] * 14}, "column 'clicked' has no click in either arm"),
        ({"clicked": [2] + [0] * 13}, "column 'clicked', row 1: 2 is neither 0 nor 1"),
        ({"position": [1, 2, 2, *range(1, 12)]}, "row 3: the list 0 of user 'u1' has the position 2 twice: one impr"),
        (
            {"item": ["a", "a", *"cdefghijklmn"]},
            "column 'item', row 2: the list 0 of user 'u1' shows the item 'a' twice",
        ),
        ({"user": [None] + ["u1"] * 13}, "column 'user', row 1"),
        ({"shown": 1}, "the column 'shown' could hold the items of a list, a row a list, or say whether the item of a"),
    ],
)
def test_a_fault_in_a_row_of_an_item(rows, changed, message):
    with pytest.raises(InputError, match=message) as caught:
        recx.ab(rows.assign(**changed), **QUICK)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"clicked": [[]] * 6}, "column 'clicked' has no click in either arm"),
        ({"shown": [["a", "a"]] * 6}, "column 'shown', row 1: the list shows the item 'a' twice: keep one"),
        ({"shown": [["a", None]] * 6}, "column 'shown', row 1: an item is missing in the list"),
        (
            {"shown": ["a|b c"] * 6},
            r"row 1: the items of 'a\|b c' could be separated by \| or by blanks: write lists as",
        ),
        ({"shown": ["['a']"] * 6}, r"""row 1: "\['a'\]" is no list in JSON, as in other rows: write \["a", "b"\]"""),
        ({"shown": ['["a"]', "a b"] * 3}, "row 2: 'a b' is no list in JSON"),
        ({"clicked": [[1]] * 6}, "the item ids differ in type"),
        (
            {"list": [1, 2, 3, 1, 2, 2]},
            "column 'list', row 6: a user has two rows of the list 2: it could have been logg",
        ),
        ({"clicked": [1, 0] * 3}, "column 'clicked' holds values of type int64, not lists of items: write a list for"),
        ({"shown": [1, 0] * 3}, "column 'shown' holds values of type int64, not lists of items"),
        ({"shown": ["1", "0"] * 3}, "column 'shown' holds 0 and 1, as if they said whether an item was shown, not li"),
    ],
)
def test_a_fault_in_a_row_of_a_list(nested, changed, message):
    with pytest.raises(InputError, match=message) as caught:
        recx.ab(nested.assign(**changed), **QUICK)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("form", "columns", "message"),
    [
        ("item", {"arms": "arm"}, "there is no such role: did you mean 'arm'"),
        ("item", {"arm": "variant"}, "column 'variant' is missing"),
        ("item", {"item": "position"}, None),
        ("item", {"item": "user", "list": "user"}, "'user' is given two roles"),
        ("list", {"position": "rank"}, "a log with a row a list has no such column"),
        ("item", {"shown": "showed"}, "column 'showed' is missing"),
    ],
)
def test_wrong_names_of_columns(logs, form, columns, message):
    if message is None:  # a list shows no position twice either
        assert len(recx.ab(logs[form](), columns=columns, **QUICK).table) == 3
        return
    with pytest.raises(InputError, match=message):
        recx.ab(logs[form](), columns=columns, **QUICK)


def test_the_row_named_is_that_of_the_file_though_others_are_left_out(nested, tmp_path):
    log = pd.concat([nested.assign(arm="C", user="c"), nested], ignore_index=True)
    log.at[8, "clicked"] = ["q"]
    log.to_parquet(tmp_path / "log.parquet")
    with pytest.raises(InputError, match="column 'clicked', row 9: the item 'q' was clicked and not shown"):
        recx.ab(tmp_path / "log.parquet", control="A", treatment="B", **QUICK)


def test_a_long_log_is_sorted_once(rows):
    """Rows in any order are grouped: by user and list, then by position."""
    for seed in range(3):
        shuffled = rows.iloc[np.random.default_rng(seed).permutation(len(rows))]
        assert values(recx.ab(shuffled, **QUICK)) == values(recx.ab(rows, **QUICK))


LISTS = st.lists(
    st.tuples(st.integers(0, 7), st.permutations(range(10, 15)), st.integers(0, 5), st.sets(st.integers(10, 14))),
    min_size=1,
)
"""User, items, how many of them are shown, and items that are clicked if they are shown."""


@given(lists=LISTS)
def test_both_forms_are_read_as_plain_loops_read_them(lists):
    lists = [*((user, (10,), 1, {10}) for user in range(4)), *lists]  # two users an arm at least, and a click
    shown = [
        (user, list(items[:n]), [item for item in items[:n] if item in clicked]) for user, items, n, clicked in lists
    ]
    sums = {arm: dict.fromkeys(("lists", "hits", "shown", "clicks", "reciprocal"), Fraction(0)) for arm in "AB"}
    for user, items, clicked in shown:
        of = sums["AB"[user % 2]]
        ranks = [rank for rank, item in enumerate(items, start=1) if item in clicked]
        of["lists"] += 1
        of["hits"] += bool(ranks)
        of["shown"] += len(items)
        of["clicks"] += len(ranks)
        of["reciprocal"] += Fraction(1, ranks[0]) if ranks else 0
    rows = [(f"u{user}", "AB"[user % 2], items, clicked) for user, items, clicked in shown]
    by_list = recx.ab(pd.DataFrame(rows, columns=["user", "arm", "shown", "clicked"]), **QUICK)
    by_item = [
        (user, arm, of, item, rank, item in clicked)
        for of, (user, arm, items, clicked) in enumerate(rows)
        for rank, item in enumerate(items, start=1)
    ]
    names = ["user", "arm", "list", "item", "position", "clicked"]
    ratios = (("hit_rate", "hits", "lists"), ("ctr", "clicks", "shown"), ("mrr", "reciprocal", "lists"))
    found = [by_list]
    if all(items for _, items, _ in shown):  # a list without items has no row
        found.append(recx.ab(pd.DataFrame(by_item, columns=names), **QUICK))
    for outcome in found:
        for metric, above, below in ratios:
            for side, arm in (("control", "A"), ("treatment", "B")):
                value = outcome.table.set_index("metric").loc[metric, side]
                assert value == pytest.approx(float(sums[arm][above] / sums[arm][below]))
