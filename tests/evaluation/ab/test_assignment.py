"""Who is in which arm: what is recognised, what is refused, and what is left out and counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.errors import InputError

QUICK = {"resamples": 20, "draws": 19}


def log_of(*arms, more=()):
    """Return a log of two users with a list of one item each in every arm, and further rows (user, arm)."""
    pairs = [(f"{arm}{n}", arm) for arm in arms for n in range(2)] + list(more)
    clicked = [["a"] if at % 2 else [] for at in range(len(pairs))]
    users, names = zip(*pairs, strict=True)
    return pd.DataFrame({"user": users, "arm": names, "shown": [["a"]] * len(pairs), "clicked": clicked})


@pytest.mark.parametrize(
    ("arms", "control"),
    [
        ("AB", "A"),
        ("ba", "a"),
        (("treatment", "Control"), "Control"),
        (("t", "c"), "c"),
        ("10", "0"),
        (("new", "baseline"), "baseline"),
    ],
)
def test_the_control_is_known_by_its_name(arms, control):
    found = recx.ab(log_of(*arms), **QUICK)
    assert found.control == control
    assert found.treatment == next(arm for arm in arms if arm != control)


def test_arms_of_numbers_and_of_truth_values():
    log = log_of("x", "y")
    for values in ([0, 0, 1, 1], [False, False, True, True]):
        found = recx.ab(log.assign(arm=values), **QUICK)
        assert (found.control, found.treatment) == (str(values[0]).lower(), str(values[2]).lower())
    beside = log_of("x", "y", more=[("z", "y")]).assign(arm=[0.0, 0.0, 1.0, 1.0, np.nan])  # as pandas has them then
    found = recx.ab(beside, missing_arm="drop", **QUICK)
    assert (found.control, found.treatment, found.notes) == ("0", "1", {"rows_without_arm": 1})


def test_a_control_that_no_name_shows_is_asked_for():
    log = log_of("red", "blue")
    message = "the control could be 'blue' or 'red', which decides the sign .* set --control blue or --control red"
    with pytest.raises(InputError, match=message):
        recx.ab(log, **QUICK)
    assert recx.ab(log, control="red", **QUICK).treatment == "blue"
    assert recx.ab(log, treatment="red", **QUICK).control == "blue"
    with pytest.raises(InputError, match="the control could be 'a' or 'control'"):
        recx.ab(log_of("a", "control"), **QUICK)


def test_two_of_more_arms_are_chosen_and_the_others_counted():
    log = log_of("A", "B", "C")
    with pytest.raises(InputError, match="there are 3 arms, 'A', 'B', 'C': choose two by --control and --treatment"):
        recx.ab(log, control="A", **QUICK)
    found = recx.ab(log, control="A", treatment="C", **QUICK)
    assert found.arms["users"].tolist() == [2, 2]
    assert found.notes == {"rows_of_other_arms": 2}
    assert found.warnings[0].startswith("rows of other arms, which are left out: 2; if several treatments are tested")


@pytest.mark.parametrize("other", ["B", "C"])
def test_users_in_several_arms_are_refused_or_left_out_and_counted(other):
    log = log_of("A", "B", more=[("A0", other), ("x", "C"), ("y", "C")])
    chosen = {"control": "A", "treatment": "B", **QUICK}
    with pytest.raises(
        InputError, match=f"column 'user', row 1: the user 'A0' is in the arms 'A', '{other}' .such users: 1.: they may"
    ):
        recx.ab(log, **chosen)
    more = pd.concat([log, log_of("A")])
    found = recx.ab(pd.concat([more, log_of("A").assign(user=["z", "w"])]), both_arms="drop", **chosen)
    assert found.notes["users_in_both_arms"] == 1
    assert found.arms["users"].tolist() == [3, 2]
    assert any("users in more than one arm, who are left out: 1" in sentence for sentence in found.warnings)


def test_how_many_users_are_in_several_arms_is_said():
    log = log_of("A", "B", more=[("A0", "B"), ("A1", "B"), ("B1", "A")])
    with pytest.raises(InputError, match=r"the user 'A0' is in the arms 'A', 'B' .such users: 3.: they may"):
        recx.ab(log, **QUICK)


@pytest.mark.parametrize("missing", [None, "", " "])
def test_rows_without_an_arm_are_refused_or_left_out_and_counted(missing, tmp_path):
    log = log_of("A", "B", more=[("x", missing)])
    message = "column 'arm', row 5: the user 'x' has no arm .such rows: 1.: .* may not be in the test, or the arm was"
    with pytest.raises(InputError, match=message):
        recx.ab(log, **QUICK)
    found = recx.ab(log, missing_arm="drop", **QUICK)
    assert found.notes == {"rows_without_arm": 1}
    assert found.arms["users"].sum() == 4
    log.assign(shown="a", clicked=["", "a", "", "a", ""]).to_csv(tmp_path / "log.csv", index=False)
    assert recx.ab(tmp_path / "log.csv", missing_arm="drop", **QUICK).notes == found.notes


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (log_of("A"), "there is one arm, 'A': give the log of both arms"),
        (log_of("a", "A "), "the arms 'a' and 'A ' could be one arm or two"),
        (log_of("A", more=[("x", "B")]), "the arm 'B' has fewer than two users"),
        (
            log_of("A", "B").rename(columns={"arm": "variant"}),
            "if 'variant' says in which arm a user is, name it by --",
        ),
        (log_of("A", "B").drop(columns="arm"), "column 'arm' is missing"),
        (log_of("A", "B").drop(columns="user"), "column 'user' is missing"),
    ],
    ids=["one arm", "alike", "one user", "other name", "no arm", "no user"],
)
def test_what_cannot_be_two_arms_is_refused(log, message):
    with pytest.raises(InputError, match=message):
        recx.ab(log, **QUICK)
