from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from recx.parts.ranker.probability import SURE, Platt, cross_fitted, softmax


def log_loss(p: np.ndarray, relevant: np.ndarray) -> float:
    return float(-np.log(np.where(relevant, p, 1 - p)).mean())


def drawn(slope: float, intercept: float, n: int = 20_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities, and outcomes that come true as often as these numbers make of them."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.01, 0.99, n)
    return p, rng.random(n) < expit(slope * logit(p) + intercept)


def test_softmax_by_hand() -> None:
    # Scores 1, 0 and, in a list of its own, 7: e / (e + 1) = 0.731059.
    assert softmax(np.array([1.0, 0.0, 7.0]), np.array([0, 2, 2, 3])) == pytest.approx(
        [0.731059, 0.268941, 1], abs=1e-6
    )


def test_softmax_of_large_scores_does_not_overflow() -> None:
    assert softmax(np.array([5e4, 0.0], dtype=np.float32), np.array([0, 2])).tolist() == [1, 0]


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.5, -1.0), (2.0, 0.7)])
def test_platt_finds_what_drew_the_outcomes(slope: float, intercept: float) -> None:
    fitted = Platt.fit(*drawn(slope, intercept))
    assert fitted.slope == pytest.approx(slope, abs=0.06)
    assert fitted.intercept == pytest.approx(intercept, abs=0.06)


def test_platt_lowers_the_loss_of_probabilities_too_sure_and_leaves_right_ones_alone() -> None:
    p, relevant = drawn(0.4, -0.5)
    assert log_loss(Platt.fit(p, relevant)(p), relevant) < log_loss(p, relevant) - 0.05
    right, came = drawn(1.0, 0.0)
    assert log_loss(cross_fitted(right, came, np.arange(len(right)) % 2 == 0), came) == pytest.approx(
        log_loss(right, came), abs=1e-3
    )


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30, unique=True), st.integers(0, 1000))
def test_the_order_stays_and_probabilities_are_strictly_inside(values: list[float], seed: int) -> None:
    p = np.sort(np.array(values))
    calibrated = Platt.fit(p, np.random.default_rng(seed).random(len(p)) < 0.3)(p)
    assert (np.diff(calibrated) >= 0).all()
    assert np.isfinite(calibrated).all()
    assert calibrated.min() >= 0
    assert calibrated.max() <= 1


def test_an_order_worse_than_chance_is_not_turned_round() -> None:
    p, relevant = drawn(-1.0, 0.0)
    fitted = Platt.fit(p, relevant)
    assert fitted.slope == 0
    assert fitted(p) == pytest.approx(np.full(len(p), relevant.mean()), abs=1e-3)


@pytest.mark.parametrize("hit", [True, False])
def test_one_class_stays_off_0_and_1(hit: bool) -> None:
    # Platt's targets: (3 + 1) / (3 + 2) for three hits, 1 / (3 + 2) for none.
    p = np.array([0.5, 0.5, 0.5])
    assert Platt.fit(p, np.full(3, hit))(p) == pytest.approx(np.full(3, 0.8 if hit else 0.2), abs=1e-4)


def test_certainties_and_no_rows_are_taken() -> None:
    assert Platt()(np.array([0.0, 1.0])) == pytest.approx([expit(-SURE), expit(SURE)])
    assert Platt.fit(np.zeros(0), np.zeros(0, dtype=bool)) == Platt()


@pytest.mark.parametrize("n", [30, 3000])
def test_platt_is_the_logistic_regression_on_log_odds_with_his_targets(n: int) -> None:
    p, relevant = drawn(0.7, -0.5, n)
    hits = relevant.sum()
    target = np.where(relevant, (hits + 1) / (hits + 2), 1 / (n - hits + 2))
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    peer.fit(np.tile(logit(p), 2)[:, None], np.repeat([1, 0], n), sample_weight=np.concatenate([target, 1 - target]))
    fitted = Platt.fit(p, relevant)
    assert (fitted.slope, fitted.intercept) == pytest.approx((peer.coef_.item(), peer.intercept_.item()), abs=1e-5)
