"""Sample ratios and sample sizes, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recx.evaluation.ab.design import detectable, sample_ratio, users_needed
from recx.evaluation.ab.ratios import Ratio

Z = 1.959963984540054 + 0.8416212335729143
"""The quantiles of the normal distribution at 0.975 and 0.8."""
PAIR = (Ratio(0.5, 0.25, 1000, 0.0), Ratio(0.6, 0.25, 1000, 0.0))
"""Standard deviations of 0.5 between users."""


def test_users_needed_are_those_of_the_usual_formula():
    # As NormalIndPower of statsmodels: (z + z)² / d² (1 + 1 / ratio) with d = 0.1 / 0.5, which is 392.44 and 294.33.
    assert users_needed(PAIR, 0.1, (0.5, 0.5), 0.8) == (393, 393)
    assert users_needed(PAIR, 0.1, (1 / 3, 2 / 3), 0.8) == (math.ceil(Z**2 / 0.04 * 1.5), math.ceil(Z**2 / 0.04 * 3))
    assert math.ceil(Z**2 / 0.04 * 1.5) == 295


def test_a_test_of_that_size_detects_that_effect():
    size = 393
    pair = tuple(Ratio(one.value, one.variance, size, 0.0) for one in PAIR)
    assert detectable(pair, 0.8) == pytest.approx(0.1, rel=1e-3)
    assert detectable(PAIR, 0.8) == pytest.approx(Z * math.sqrt(2 * 0.25 / 1000))


def test_half_the_effect_needs_four_times_the_users_and_more_power_more():
    users = users_needed(PAIR, 0.01, (0.5, 0.5), 0.8)[0]
    assert users_needed(PAIR, 0.005, (0.5, 0.5), 0.8)[0] == pytest.approx(4 * users, rel=1e-4)
    assert users_needed(PAIR, 0.01, (0.5, 0.5), 0.9)[0] == pytest.approx(
        users * (1.959964 + 1.281552) ** 2 / Z**2, rel=1e-4
    )


def test_simulated_tests_of_that_size_find_the_effect_as_often():
    rng, users = np.random.default_rng(0), 393
    control, treatment = (rng.normal(mean, 0.5, (2000, users)) for mean in (0.5, 0.6))
    error = np.sqrt((control.var(axis=1, ddof=1) + treatment.var(axis=1, ddof=1)) / users)
    found = np.abs(treatment.mean(axis=1) - control.mean(axis=1)) / error > 1.96
    assert found.mean() == pytest.approx(0.8, abs=0.03)  # 3 standard errors


def test_no_number_of_users_shows_no_effect():
    assert users_needed(PAIR, 0.0, (0.5, 0.5), 0.8) == (math.inf, math.inf)
    assert all(map(math.isnan, users_needed(PAIR, math.nan, (0.5, 0.5), 0.8)))


def test_of_users_who_are_all_alike_nothing_is_said():
    alike = (Ratio(1.0, 0.0, 100, 0.0), Ratio(1.0, 0.0, 100, 0.0))
    assert math.isnan(detectable(alike, 0.8))
    for effect in (0.0, 0.1):
        assert all(map(math.isnan, users_needed(alike, effect, (0.5, 0.5), 0.8)))


@pytest.mark.parametrize(
    ("users", "shares", "chi_square", "p"),
    [
        ((520, 480), (0.5, 0.5), 1.6, 0.205903),  # 2 · 20² / 500
        ((900, 100), (0.9, 0.1), 0.0, 1.0),
        ((880, 120), (0.9, 0.1), 400 / 900 + 400 / 100, 0.035015),
        ((5210, 4790), (0.5, 0.5), 17.64, 2.67e-5),
    ],
)
def test_the_sample_ratio_by_hand(users, shares, chi_square, p):
    found = sample_ratio(users, shares)
    assert found.chi_square == pytest.approx(chi_square)
    assert found.p == pytest.approx(p, rel=5e-3)
    assert found.mismatch == (p < 0.001)
