"""The index of stability: values worked by hand, and how often chance exceeds what is called noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.evaluation.drift import Bins, Drift, drift, of_counts


def test_the_index_is_that_of_the_formula() -> None:
    """Half of the reference in each bin; then 75 and 25 of 100, each bin with half a row more."""
    found = of_counts(Bins(np.array([0.5]), np.array([50, 50]), 100), np.array([75, 25]), 100)
    p = np.array([75.5, 25.5]) / 101
    assert found.psi == pytest.approx(0.268677, abs=1e-5)
    assert found.psi == pytest.approx(((p - 0.5) * np.log(p / 0.5)).sum())
    assert found.noise == pytest.approx(2 / 100 * 3.841459)  # chi2 with 1 degree of freedom


def test_the_bins_are_the_tenths_of_the_reference() -> None:
    bins = Bins.of(np.arange(1000.0))
    assert bins.counts.tolist() == [100] * 10
    assert drift(bins, np.arange(1000.0)).psi == 0
    tied = Bins.of(np.repeat([0.0, 1.0, 3.0], [700, 200, 100]))
    assert tied.counts.tolist() == [700, 200, 100]


def test_of_equal_values_whatever_is_smaller_or_larger_has_moved() -> None:
    bins = Bins.of(np.full(50, 2.0))
    assert bins.counts.tolist() == [0, 50, 0]
    assert drift(bins, np.full(50, 2.0)).size() == "none"
    assert {drift(bins, np.full(50, other)).size() for other in (1.0, 3.0)} == {"large"}


def test_chance_exceeds_the_noise_in_about_one_case_in_twenty() -> None:
    rng = np.random.default_rng(0)
    above = [
        found.psi > found.noise
        for found in (drift(Bins.of(rng.normal(size=400)), rng.normal(size=300)) for _ in range(400))
    ]
    assert 0.02 < np.mean(above) < 0.09


@pytest.mark.parametrize(
    ("psi", "noise", "size"),
    [
        (0.05, 0.01, "none"),
        (0.1, 0.01, "moderate"),
        (0.25, 0.01, "moderate"),
        (0.26, 0.01, "large"),
        (0.26, 0.3, "none"),
        (float("nan"), 0.1, "unknown"),
    ],
)
def test_what_is_called_large(psi: float, noise: float, size: str) -> None:
    assert Drift(psi, noise, 10).size() == size


def test_nothing_is_known_without_rows() -> None:
    assert drift(Bins.of(np.zeros(0)), np.ones(3)).size() == "unknown"
    assert drift(Bins.of(np.ones(3)), np.zeros(0)).size() == "unknown"


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=60), st.lists(st.floats(-9, 9), min_size=1, max_size=60))
def test_the_index_is_never_negative_and_no_value_is_lost(reference: list[float], others: list[float]) -> None:
    bins = Bins.of(np.array(reference))
    assert bins.counts.sum() == len(reference)
    assert drift(bins, np.array(others)).psi >= 0
    assert drift(bins, np.array(reference)).psi == 0
