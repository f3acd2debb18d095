"""Calibration of categories: divergences by hand, laws, and blocks of users."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.evaluation.metrics import beyond_accuracy
from recx.evaluation.metrics.miscalibration import without_history
from recx.evaluation.metrics.registry import parse

CATEGORY = [0, 0, 1, 1, 2, -1, -1, 0]


@pytest.fixture(scope="session")
def world(judge):
    def judged(shown, events, category=CATEGORY, n_users=10):
        table = {} if category is None else {"category": np.array(category, dtype=np.int32)}
        items = Entities(np.arange(8), table)
        frame = pd.DataFrame(list(events), columns=["user", "item"]).astype(int)
        history = Interactions.from_frame(frame, users=Entities(np.arange(n_users)), items=items)
        return replace(judge(shown, {user: {49: 1.0} for user in shown}), history=history, items=items)

    return judged


EVENTS = [(0, 0), (0, 1), (0, 2), (0, 5), (1, 4), (2, 6), (3, 0), (3, 2)]


def test_by_hand(world):
    """User 0: history 2/3, 1/3; list 1/2 of each. User 1 sees none of its category, user 2 has none, user 3 no list."""
    judged = world({0: [0, 2, 6], 1: [0, 1], 2: [0], 3: []}, EVENTS)
    q = [0.99 * 1 / 2 + 0.01 * p for p in (2 / 3, 1 / 3)]
    first = 2 / 3 * log(2 / 3 / q[0]) + 1 / 3 * log(1 / 3 / q[1])
    expected = [first, log(100), np.nan, log(100)]
    assert parse("miscalibration")(judged) == pytest.approx(expected, nan_ok=True)
    cut = [2 / 3 * log(2 / 3 / (0.99 + 0.01 * 2 / 3)) + 1 / 3 * log(100), log(100), np.nan, log(100)]
    assert parse("miscalibration_at_1")(judged) == pytest.approx(cut, nan_ok=True)
    assert without_history(judged, None) == {"miscalibration_without_history": 1}


def test_a_list_with_the_proportions_of_the_history_is_calibrated(world):
    judged = world({0: [7, 0, 3], 1: [4]}, EVENTS)
    assert parse("miscalibration")(judged) == pytest.approx([0, 0], abs=1e-12)


def test_users_that_the_history_does_not_know_are_left_out(world):
    judged = world({0: [0], 8: [1]}, EVENTS[:4], n_users=4)
    assert np.isnan(parse("miscalibration")(judged)).tolist() == [False, True]
    assert without_history(judged, 1) == {"miscalibration_without_history": 1}


def test_what_is_missing_is_said(world):
    for category in (None, [-1] * 8):
        with pytest.raises(InputError, match="miscalibration needs categories"):
            parse("miscalibration")(world({0: [0]}, EVENTS, category))
    with pytest.raises(InputError, match="miscalibration compares the items shown with the history"):
        parse("miscalibration")(world({0: [0]}, []))


@given(
    shown=st.dictionaries(
        st.integers(0, 5), st.lists(st.integers(0, 7), unique=True, max_size=6), min_size=1, max_size=5
    ),
    events=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), min_size=1, max_size=25),
    k=st.none() | st.integers(1, 7),
)
def test_it_equals_a_slow_loop_in_blocks_of_any_size(world, shown, events, k):
    judged = world(shown, events)
    name = "miscalibration" if k is None else f"miscalibration_at_{k}"
    expected = []
    for user in sorted(shown):
        mine = [CATEGORY[item] for one, item in events if one == user and CATEGORY[item] >= 0]
        listed = [CATEGORY[item] for item in shown[user][:k] if CATEGORY[item] >= 0]
        total = 0.0 if mine else np.nan
        for one in set(mine):
            p = mine.count(one) / len(mine)
            q = 0.99 * listed.count(one) / max(len(listed), 1) + 0.01 * p
            total += p * log(p / q)
        expected.append(total)
    assert parse(name)(judged) == pytest.approx(expected, nan_ok=True, abs=1e-12)
    assert np.nan_to_num(parse(name)(judged)).max() <= log(100) + 1e-12
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beyond_accuracy, "ROWS_AT_ONCE", 2)
        assert parse(name)(judged) == pytest.approx(expected, nan_ok=True, abs=1e-12)
