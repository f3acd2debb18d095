"""What is known of users who get other events: the context of their first event, only while that is the first one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recx.core.entities import Entities
from recx.core.types import Interactions
from recx.experiment.model.population import extended, of_users

MINUTE = 60_000


@pytest.fixture(params=[True, False], ids=["times", "no times"])
def known(request: Any) -> Interactions:
    """Users 10, 11 and 12 with two events each, whose first one had the devices 1, 2 and 3."""
    frame = pd.DataFrame(
        {"user": np.repeat([10, 11, 12], 2), "item": [5, 6, 6, 7, 7, 5], "time": MINUTE * np.arange(6)}
    )
    events = Interactions.from_frame(frame if request.param else frame.drop(columns="time"), relative_times=True)
    table = {name: np.array([1, 2, 3], np.int32) for name in ("device", "own")}
    return replace(events, users=Entities(events.users.ids, table, context=("device",)))


def given(known: Interactions, *rows: tuple[int, int, int]) -> Interactions:
    frame = pd.DataFrame(rows, columns=["user", "item", "time"])
    frame["time"] *= MINUTE
    return Interactions.from_frame(
        frame if known.time is not None else frame.drop(columns="time"), order="given", relative_times=True
    )


def test_the_context_of_a_first_event_that_is_no_longer_the_first_is_unknown(known: Interactions) -> None:
    longer = [(12, 7, 4), (12, 5, 5), (12, 6, 9)]
    found = extended(known, given(known, (10, 6, 1), (13, 5, 3), *longer)).history
    assert found.users.ids.tolist() == [10, 11, 12, 13]
    assert found.users.table["device"].tolist() == [-1, 2, 3, -1]
    assert found.users.table["own"].tolist() == [1, 2, 3, -1]
    assert known.users.table["device"].tolist() == [1, 2, 3]


def test_the_same_where_users_have_other_numbers_or_lose_all_events(known: Interactions) -> None:
    some = of_users(known, np.array([2, -1, 0]), np.array([12, 99, 10]))
    found = extended(some, given(known, (10, 5, 0), (12, 8, 4))).history  # nobody knows item 8
    assert found.users.table["device"].tolist() == [-1, -1, 1]
    assert found.lengths.tolist() == [0, 0, 1]


def test_a_first_event_at_another_time_is_another_one(known: Interactions) -> None:
    found = extended(known, given(known, (10, 5, 1))).history
    assert found.users.table["device"].tolist() == [1 if known.time is None else -1, 2, 3]
