"""Variance inflation factors and groups, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from recx.parts.shared.collinearity import Collinearity

# Four orthogonal columns with mean 0 and deviation 1.
A, B, C, D = np.array(
    [
        [1, 1, 1, 1, -1, -1, -1, -1],
        [1, 1, -1, -1, 1, 1, -1, -1],
        [1, -1, 1, -1, 1, -1, 1, -1],
        [1, -1, -1, 1, -1, 1, 1, -1],
    ],
    dtype=np.float64,
)


def of(*columns: np.ndarray) -> Collinearity:
    return Collinearity.of(np.stack(columns, axis=1))


@pytest.mark.parametrize(("r", "groups"), [(0.6, ()), (-0.6, ()), (0.96, ((0, 1),)), (-0.96, ((0, 1),))])
def test_two_features_with_correlation_r_have_the_factor_of_the_formula(r: float, groups: tuple) -> None:
    found = of(A, r * A + np.sqrt(1 - r * r) * B, C)
    assert found.inflation == pytest.approx([1 / (1 - r * r), 1 / (1 - r * r), 1])
    assert found.correlation[0, 1] == pytest.approx(r)
    assert found.groups == groups  # 1 / (1 - 0.96²) = 12.8


def test_a_dependence_of_three_features_is_found_though_no_pair_is_close() -> None:
    total = (A + B + 0.2 * C) / np.sqrt(2.04)  # correlations 0.70 with A and with B
    found = of(D, A, B, total)
    # Known A and B leave 0.04 of the sum's 2.04; a known sum and B leave A + 0.2 C, so 0.04 / 1.04 of A.
    assert found.inflation == pytest.approx([1, 1 + 1 / 0.04, 1 + 1 / 0.04, 2.04 / 0.04])
    assert found.groups == ((1, 2, 3),)


def test_separate_dependences_are_separate_groups() -> None:
    near = np.sqrt(1 - 0.98**2)
    assert of(A, B, 0.98 * A + near * C, 0.98 * B + near * D).groups == ((0, 2), (1, 3))


def test_a_constant_feature_has_no_factor_and_a_repeated_one_the_largest() -> None:
    found = of(A, np.zeros(8), A, B)
    assert np.isnan(found.inflation[1])
    assert found.inflation[[0, 2]] == pytest.approx([0.5e9 + 0.25, 0.5e9 + 0.25])
    assert found.inflation[3] == pytest.approx(1)
    assert found.groups == ((0, 2),)


def test_the_scale_of_the_rows_does_not_matter_and_weights_that_cancel_contribute_little_together() -> None:
    found = of(3 * A, 3 * (0.96 * A + 0.28 * B))
    assert found.inflation == pytest.approx([1 / (1 - 0.96**2)] * 2)
    # (1 - 0.96)² + 0.28² = 0.08
    assert found.deviation(np.array([1.0, -1.0]), (0, 1)) == pytest.approx(np.sqrt(0.08))
    assert found.deviation(np.array([1.0, 1.0]), (0, 1)) == pytest.approx(np.sqrt(1.96**2 + 0.28**2))
