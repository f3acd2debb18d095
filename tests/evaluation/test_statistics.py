"""Tests in closed form: against scipy, values worked by hand, and laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recx.core.types import Doubles
from recx.evaluation.statistics import cohens_dz, equivalence, holm, paired_t, users_to_tell_apart

NAN = np.nan


def column(*values: float) -> Doubles:
    return np.array(values, dtype=np.float64)[:, None]


def test_the_t_test_is_that_of_scipy() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.random((2, 50, 3))
    assert paired_t(b - a) == pytest.approx(stats.ttest_rel(b, a).pvalue)


def test_the_t_test_by_hand() -> None:
    """1, 2, 3: mean 2, standard error 1/sqrt(3), t = 3.4641 with 2 degrees: p = 0.0742; d_z = 2."""
    assert paired_t(column(1, 2, 3))[0] == pytest.approx(0.07418, abs=1e-5)
    assert cohens_dz(column(1, 2, 3))[0] == 2.0


@pytest.mark.parametrize(
    ("differences", "t", "d_z"),
    [
        ([0, 0, 0], 1.0, 0.0),
        ([0.1, 0.1, 0.1], NAN, np.inf),
        ([-0.1, -0.1, -0.1], NAN, -np.inf),
        ([0.5], NAN, NAN),
        ([NAN, NAN], NAN, NAN),
        ([], NAN, NAN),
    ],
)
def test_corner_cases_cause_no_warning(differences: list[float], t: float, d_z: float) -> None:
    np.testing.assert_array_equal(paired_t(column(*differences)), [t])
    np.testing.assert_array_equal(cohens_dz(column(*differences)), [d_z])


def test_pairs_that_do_not_exist_change_nothing() -> None:
    known = [0.3, -0.1, 0.2, 0.4]
    assert paired_t(column(NAN, *known))[0] == paired_t(column(*known))[0]
    assert cohens_dz(column(NAN, *known))[0] == cohens_dz(column(*known))[0]


def test_differences_that_only_rounding_tells_apart_are_equal() -> None:
    """0.3 - 0.1 is 0.19999999999999998: the t-test would call its p about 1e-32."""
    assert np.isnan(paired_t(column(0.3 - 0.1, 0.5 - 0.3, 0.2))).all()
    assert 0 < paired_t(column(0.2, 0.2, 0.2 + 1e-9))[0] < 1e-10


def test_holm_by_hand() -> None:
    """Smallest first: 0.01 x 4, 0.02 x 3, 0.03 x 2 (not below the one before), 0.2."""
    np.testing.assert_allclose(holm(np.array([0.03, 0.01, NAN, 0.2, 0.02])), [0.06, 0.04, NAN, 0.2, 0.06])
    np.testing.assert_allclose(holm(np.array([0.9, 0.8])), [1.0, 1.0])
    assert np.isnan(holm(np.array([NAN]))).all()


some_differences = st.lists(st.integers(-8, 8), min_size=2, max_size=12).map(lambda ints: np.array(ints)[:, None] / 8)


@given(some_differences)
def test_the_other_way_round_is_the_same_test(differences: Doubles) -> None:
    np.testing.assert_array_equal(paired_t(-differences), paired_t(differences))
    np.testing.assert_array_equal(cohens_dz(-differences), -cohens_dz(differences))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array))
@settings(max_examples=settings.default.max_examples // 4)
def test_holm_never_lowers_and_keeps_the_order(p: Doubles) -> None:
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()


def test_equivalence_is_the_worse_of_two_one_sided_tests() -> None:
    known = np.array([0.3, -0.1, 0.2, 0.4])
    one = stats.ttest_1samp(known, -0.5, alternative="greater").pvalue
    other = stats.ttest_1samp(known, 0.5, alternative="less").pvalue
    assert equivalence(column(NAN, *known), 0.5)[0] == max(one, other)
    assert equivalence(column(0, 0, 0), 0.1)[0] == 0.0
    assert np.isnan(equivalence(np.column_stack([[0.1, 0.1], [NAN, 0.1]]), 0.5)).all()


def test_equivalence_by_hand() -> None:
    """1, 2, 3 within 4: mean 2, standard error 1/sqrt(3), t = (2 - 4) sqrt(3) = -3.4641 with 2 degrees: p = 0.0371."""
    assert equivalence(column(1, 2, 3), 4)[0] == pytest.approx(0.03709, abs=1e-5)


@pytest.mark.parametrize(
    ("d_z", "tests", "users"),
    [
        (0.5, 1, 32),  # (1.95996 + 0.84162)² / 0.25 = 31.4
        (-0.5, 1, 32),
        (0.2, 1, 197),  # 196.2
        (0.2, 10, 333),  # (2.80703 + 0.84162)² / 0.04 = 332.8
        (0.0, 1, math.inf),
    ],
)
def test_users_to_tell_a_difference_from_none(d_z: float, tests: int, users: float) -> None:
    assert users_to_tell_apart(d_z, tests) == users


def test_without_a_variance_no_number_of_users_is_known() -> None:
    assert math.isnan(users_to_tell_apart(math.nan, 1))


def test_so_many_users_find_the_difference_as_often_as_the_power_says() -> None:
    rng = np.random.default_rng(0)
    n = int(users_to_tell_apart(0.3, 1))
    found = paired_t(rng.normal(0.3, 1, (n, 2000))) < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)
