"""Times of requests in all the ways in which they are given."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.experiment.model.moments import milliseconds_of, times_of

NOON = 1_717_156_800_000  # 31 May 2024, 12:00 UTC
EARLY = Interactions.from_frame(pd.DataFrame({"user": [0, 1], "item": [0, 1], "time": [NOON - 5, NOON - 9]}))


@pytest.mark.parametrize(
    "at",
    [
        NOON,
        np.int64(NOON),
        str(NOON),
        "2024-05-31T12:00",
        "2024-05-31 14:00:00+02:00",
        datetime(2024, 5, 31, 12),
        datetime(2024, 5, 31, 14, tzinfo=timezone(timedelta(hours=2))),
        pd.Timestamp("2024-05-31 12:00"),
        np.datetime64("2024-05-31T12:00"),
    ],
)
def test_a_time_is_the_same_in_every_form(at: Any) -> None:
    assert milliseconds_of(at, EARLY) == NOON


def test_a_day_begins_at_midnight() -> None:
    assert milliseconds_of(date(2024, 5, 31), EARLY) == milliseconds_of("2024-05-31", EARLY) == NOON - 12 * 3_600_000


@pytest.mark.parametrize("at", ["now", "tomorrow", 1.5, True, None, pd.NaT, np.datetime64("NaT"), [NOON]])
def test_what_is_no_time_is_refused(at: Any) -> None:
    with pytest.raises(InputError, match="is no time"):
        milliseconds_of(at, EARLY)


@pytest.mark.parametrize("at", [NOON // 1000, 20240531, "20240531", 0])
def test_a_number_in_another_unit_is_refused_with_its_reading(at: Any) -> None:
    with pytest.raises(InputError, match="would be 1970-"):
        milliseconds_of(at, EARLY)


def test_times_that_are_no_dates_are_numbers() -> None:
    counted = Interactions.from_frame(
        pd.DataFrame({"user": [0, 0], "item": [0, 1], "time": [5, 9]}), relative_times=True
    )
    assert milliseconds_of(7, counted) == 7
    with pytest.raises(InputError, match="are no dates"):
        milliseconds_of("2024-05-31", counted)
    with pytest.raises(InputError, match="out of range"):
        milliseconds_of(-1, counted)


def test_without_times_there_is_none() -> None:
    plain = Interactions.from_frame(pd.DataFrame({"user": [0], "item": [0]}))
    with pytest.raises(InputError, match="have no times"):
        milliseconds_of(5, plain)


def test_the_default_is_just_after_the_last_event_of_the_user_or_of_all() -> None:
    nobody = Interactions(
        np.array([0, 0, 1]), EARLY.item[:1], np.array([NOON - 7]), EARLY.weight[:1], EARLY.users, EARLY.items
    )
    assert times_of(nobody, np.array([0, 1], dtype=np.int32), EARLY).tolist() == [NOON - 4, NOON - 6]
