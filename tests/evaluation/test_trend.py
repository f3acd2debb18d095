"""Trends over windows."""

from __future__ import annotations

import pytest

from recx.evaluation.trend import trend

NAN = float("nan")


def test_the_slope_is_the_median_of_those_of_all_pairs() -> None:
    found = trend([0.1, 0.2, 0.3, 0.4, 9.0])
    assert found is not None
    assert found.slope == pytest.approx(0.1)  # six of the ten pairs
    assert found.p == pytest.approx(2 / 120)  # one of the 5! orders rises throughout, one falls


def test_windows_without_a_value_keep_their_places() -> None:
    found = trend([4.0, NAN, 2.0, 1.0, 0.0])
    assert found is not None
    assert (found.slope, found.windows) == (-1.0, 4)


def test_few_windows_have_no_trend_and_equal_ones_none() -> None:
    assert trend([1.0, 2.0, 3.0, NAN]) is None
    found = trend([0.5] * 6)
    assert found is not None
    assert (found.slope, found.p) == (0.0, 1.0)
