"""Calibration by groups: by hand, and right probabilities are within their intervals as often as these say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation.ctr import calibration
from recx.evaluation.ctr.rows import Rows


def right(seed: int, n_users: int = 200, shown: int = 8) -> Rows:
    """Rows whose clicks are drawn from the predicted probabilities."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), shown)
    p = expit(rng.normal(-2, 1, len(user)))
    return Rows(p, rng.random(len(user)) < p, user, n_users)


def wilson(clicks: float, n: int) -> tuple[float, float]:
    found = binomtest(int(clicks), n).proportion_ci(method="wilson")
    return found.low, found.high


def test_a_table_by_hand() -> None:
    rows = Rows(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, True, False, True]), np.array([0, 1, 2, 3]), n_users=4)
    table = calibration.table(rows, calibration.deciles(rows.p, 2, "predicted"), 0.95)
    assert table["predicted_low"].tolist() == [0.1, 0.3]
    assert table["predicted_high"].tolist() == [0.2, 0.4]
    assert table["rows"].tolist() == [2, 2]
    assert table["clicks"].tolist() == [1, 1]
    assert table["mean_predicted"] == pytest.approx([0.15, 0.35])
    assert table["observed"].tolist() == [0.5, 0.5]
    assert table["calibrated"].tolist() == [1, 1]


def test_groups_are_those_of_scikit_learn() -> None:
    rows = right(0)
    table = calibration.table(rows, calibration.deciles(rows.p, 10, "predicted"), 0.95)
    observed, predicted = calibration_curve(rows.clicked, rows.p, n_bins=10, strategy="quantile")
    assert table["observed"] == pytest.approx(observed, abs=0.01)  # a border falls on one side or the other
    assert table["mean_predicted"] == pytest.approx(predicted, abs=0.01)
    assert table["rows"].sum() == len(rows)


def test_equal_predictions_stay_together() -> None:
    p = np.repeat([0.1, 0.2, 0.5], [80, 10, 10])
    groups = calibration.deciles(p, 10, "predicted")
    assert np.bincount(groups.place).tolist() == [80, 10, 10]
    assert groups.labels["predicted_low"].tolist() == [0.1, 0.2, 0.5]


def test_the_interval_of_independent_rows_is_that_of_wilson() -> None:
    rng = np.random.default_rng(0)
    clicked = rng.random(500) < 0.1
    clicked[:100] = False
    rows = Rows(np.full(500, 0.1), clicked, np.arange(500), 500)
    place = np.arange(500) // 100
    n, clicks = np.bincount(place).astype(float), np.bincount(place, weights=clicked)
    low, high = calibration.intervals(rows, place, n, clicks, 0.95)
    for group in range(5):
        assert (low[group], high[group]) == pytest.approx(wilson(clicks[group], 100), abs=1e-9)
    assert high[0] > 0.03  # no click in 100 rows is no certainty


def test_the_interval_is_wider_where_the_rows_of_a_user_are_alike() -> None:
    rng = np.random.default_rng(0)
    alike = np.repeat(rng.random(100) < 0.3, 10)
    user, place = np.repeat(np.arange(100), 10), np.zeros(1000, dtype=np.int64)
    rows = Rows(np.full(1000, 0.3), alike, user, 100)
    n, clicks = np.array([1000.0]), np.array([float(alike.sum())])
    low, high = calibration.intervals(rows, place, n, clicks, 0.95)
    assert (low[0], high[0]) == pytest.approx(wilson(clicks[0] / 10, 100), abs=1e-9)
    one_by_one = calibration.intervals(replace(rows, user=np.arange(1000), n_users=1000), place, n, clicks, 0.95)
    assert high[0] - low[0] > 3 * (one_by_one[1][0] - one_by_one[0][0])


def test_the_calibration_error_by_hand() -> None:
    rows = Rows(np.array([0.2, 0.2, 0.6, 0.6]), np.array([True, False, True, True]), np.array([0, 0, 1, 1]), 2)
    found = calibration.errors(rows, np.array([0, 0, 1, 1]), 0.95, 100, 0)
    assert found["calibration_error"] == pytest.approx((2 * abs(0.2 - 0.5) + 2 * abs(0.6 - 1)) / 4)


def test_right_probabilities_have_an_error_by_chance_and_wrong_ones_more() -> None:
    """Of 200 worlds of right probabilities about 190 are within the bound, and of wrong ones none."""
    within = wrong = 0
    for seed in range(200):
        rows = right(seed)
        place = calibration.deciles(rows.p, 10, "p").place
        found = calibration.errors(rows, place, 0.95, 300, seed)
        within += found["calibration_error"] <= found["calibration_error_by_chance"]
        if seed < 20:
            off = replace(rows, p=expit(np.log(rows.p / (1 - rows.p)) + 1))
            found = calibration.errors(off, place, 0.95, 300, seed)
            wrong += found["calibration_error"] <= found["calibration_error_by_chance"]
            assert found["calibration_error_low"] < found["calibration_error"] < found["calibration_error_high"]
    assert 180 <= within <= 199
    assert wrong == 0


def test_deciles_of_right_probabilities_are_within_their_intervals_as_often_as_these_say() -> None:
    tables = [
        calibration.table(rows, calibration.deciles(rows.p, 10, "p"), 0.95)
        for rows in (right(seed) for seed in range(60))
    ]
    assert 0.92 < np.mean([table["calibrated"] for table in tables]) < 0.99


@pytest.fixture
def lists() -> tuple[RankedLists, Fold]:
    users = Entities(np.arange(2), {"age": np.array([0.5, np.nan])})
    items = Entities(np.arange(3), {"kind": np.array(["a", "b", "a"], dtype=object), "rank": np.arange(3)})
    events = Interactions(np.array([0, 1, 1]), np.array([0], np.int32), None, np.ones(1, np.float32), users, items)
    shown = RankedLists(
        np.array([0, 1], np.int32),
        np.array([0, 2, 3]),
        np.array([0, 1, 2], np.int32),
        np.array([0.5, 0.4, 0.3], np.float32),
        {"position": np.array([2.0, 1.0, 1.0], np.float32)},
    )
    return shown, Fold(events, events, Requests(shown.user))


@pytest.mark.parametrize(
    ("name", "place", "labels"),
    [
        ("position", [1, 0, 0], [1.0, 2.0]),
        ("kind", [0, 1, 0], ["a", "b"]),
        ("age", [1, 1, 0], [-np.inf, 0.5]),
    ],
)
def test_slices(lists: tuple[RankedLists, Fold], name: str, place: list[int], labels: list[object]) -> None:
    groups = calibration.slices(name, *lists, 10)
    assert groups.place.tolist() == place
    assert groups.labels[name].tolist() == labels


def test_many_numbers_are_divided(lists: tuple[RankedLists, Fold]) -> None:
    _, fold = lists
    long = RankedLists(np.array([0], np.int32), np.array([0, 100]), np.zeros(100, np.int32), np.zeros(100, np.float32))
    fold = replace(fold, history=replace(fold.history, items=Entities(np.arange(3))))
    groups = calibration.slices("rank", long, fold, 10)
    assert groups.labels["rank_low"].tolist() == list(range(1, 100, 10))
    assert groups.labels["rank_high"].tolist() == list(range(10, 101, 10))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("positon", "there is no column 'positon': did you mean 'position'"),
        ("rank", "'rank' is the rank and a column of the items' table: rename one"),
    ],
)
def test_a_slice_that_is_not_one_column_is_an_error(lists: tuple[RankedLists, Fold], name: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        calibration.slices(name, *lists, 10)
