"""Times as they are typed: dates, or numbers in the unit of the data; what could mean another time is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.jobs.predict.moment import moment
from recx.testing.tiny_dataset import START, tiny_world

LATER = START + 86_400_000  # 2020-09-14T12:26:40Z


@pytest.fixture
def history() -> Interactions:
    return tiny_world()


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        (str(LATER), "ms", LATER),
        (str(LATER // 1000), "s", LATER),
        (f"{LATER // 1000}.25", "s", LATER + 250),
        (f"{LATER}000", "us", LATER),
        ("2020-09-14T12:26:40", "s", LATER),
        (" 2020-09-14T12:26:40Z ", "iso", LATER),
        ("2020-09-14T21:26:40+09:00", "ms", LATER),
        ("2020-09-14", "dmy", LATER - (12 * 3600 + 26 * 60 + 40) * 1000),
    ],
)
def test_dates_and_numbers_in_the_unit_of_the_data(text: str, unit: str, expected: int, history: Interactions) -> None:
    assert moment(text, {"time_unit": unit}, history) == expected


def test_the_unit_is_ms_where_the_dataset_has_none(history: Interactions) -> None:
    assert moment(str(LATER), {}, history) == LATER


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        (str(LATER), "s", r"count ms, not s \(2020-09-14T12:26:40, not .*\): write the date"),
        (str(LATER // 1000), "ms", r"count s, not ms \(2020-09-14T12:26:40, not 1970-01-19"),
        ("20200914", "s", "are dates written as numbers, or count s and mean 1970-08-22"),
        ("2020", "ms", "are dates written as numbers"),
        (str(LATER), "iso", "the run's data has dates, not numbers"),
        ("9" * 25, "ms", "too large for a time"),
        ("9" * 18, "d", "count ns, not d"),
        ("nan", "ms", "is no time"),
        ("", "ms", "is no time"),
        ("1e12", "ms", "is no time"),
        ("-5", "ms", "--at -5"),
        ("14/09/2020", "ms", "is no time"),
        ("2020-13-01", "ms", "is no time"),
        ("1969-01-01", "ms", "lies before 1970"),
        ("2001-09-09", "ms", r"no event lies before it \(2001-09-09T00:00:00.000\), since the first is of 2020-09"),
        ("\x1b[2J", "ms", "is no time"),
    ],
)
def test_any_other_is_one_sentence(text: str, unit: str, said: str, history: Interactions) -> None:
    with pytest.raises(InputError, match=said) as error:
        moment(text, {"time_unit": unit}, history)
    assert str(error.value).startswith("--at ")


def test_times_from_a_start_of_their_own_are_numbers(history: Interactions) -> None:
    assert history.time is not None
    counted = replace(history, time=(history.time - START) // 60_000 * 1000)  # one second for each minute
    relative = {"time_unit": "s", "relative_times": True}
    assert moment("90.5", relative, counted) == 90_500
    with pytest.raises(InputError, match="--at 2020-09-14: the model's times are no dates"):
        moment("2020-09-14", relative, counted)


def test_data_without_times_has_no_moments() -> None:
    with pytest.raises(InputError, match="--at 5: the run's data has no times: leave it out"):
        moment("5", {}, tiny_world(times=False))
