"""Figures of predicted clicks: equal to scikit-learn, their contributions the slopes of its weighted figures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from recx.core.types import Bools, Doubles
from recx.evaluation.ctr import figures
from recx.evaluation.ctr.figures import Figure
from recx.evaluation.ctr.rows import Rows


def world(seed: int, n_users: int = 30, ties: int | None = None) -> Rows:
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), rng.integers(0, 8, n_users))
    p = rng.uniform(0.02, 0.9, len(user))
    if ties is not None:
        p = np.round(p * ties) / ties * 0.9 + 0.05
    clicked = rng.random(len(user)) < p
    clicked[:2] = [True, False]
    return Rows(p, clicked, user, n_users)


def entropy(clicked: Bools, weight: Doubles) -> float:
    rate = np.average(clicked, weights=weight)
    return float(-rate * np.log(rate) - (1 - rate) * np.log(1 - rate))


THEIRS: dict[str, Callable[[Bools, Doubles, Doubles], float]] = {
    "auc_pooled": lambda y, p, w: metrics.roc_auc_score(y, p, sample_weight=w),
    "average_precision": lambda y, p, w: metrics.average_precision_score(y, p, sample_weight=w),
    "logloss": lambda y, p, w: metrics.log_loss(y, p, sample_weight=w),
    "normalised_entropy": lambda y, p, w: metrics.log_loss(y, p, sample_weight=w) / entropy(y, w),
    "calibration_ratio": lambda y, p, w: float((w @ p) / (w @ y)),
}


def test_every_figure_is_compared() -> None:
    assert [figure.__name__ for figure in figures.FIGURES] == list(THEIRS)


@pytest.mark.parametrize("figure", figures.FIGURES, ids=lambda figure: figure.__name__)
@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), ties=st.sampled_from([None, 3, 10]))
def test_a_figure_and_its_slopes_are_those_of_scikit_learn(
    figure: Callable[[Rows], Figure], seed: int, ties: int | None
) -> None:
    rows = world(seed, n_users=6, ties=ties)
    theirs, step = THEIRS[figure.__name__], 1e-5
    found = figure(rows)
    assert found.value == pytest.approx(theirs(rows.clicked, rows.p, np.ones(len(rows))))
    slopes = []
    for user in range(rows.n_users):
        ends = [theirs(rows.clicked, rows.p, 1 + sign * step * (rows.user == user)) for sign in (1, -1)]
        slopes.append((ends[0] - ends[1]) / (2 * step))
    assert found.of_user == pytest.approx(np.array(slopes), abs=1e-6)
    assert found.of_user.sum() == pytest.approx(0, abs=1e-9)


def test_figures_by_hand() -> None:
    # Clicks at 0.8 and 0.3; others at 0.4 and 0.2: three of four pairs in order, precision 1 and 2/3.
    rows = Rows(np.array([0.8, 0.4, 0.3, 0.2]), np.array([True, False, True, False]), np.array([0, 0, 1, 1]), 2)
    assert figures.auc_pooled(rows).value == 0.75
    assert figures.average_precision(rows).value == pytest.approx((1 + 2 / 3) / 2)
    loss = -np.log([0.8, 0.6, 0.3, 0.8]).mean()
    assert figures.logloss(rows).value == pytest.approx(loss)
    assert figures.normalised_entropy(rows).value == pytest.approx(loss / np.log(2))
    assert figures.calibration_ratio(rows).value == pytest.approx(1.7 / 2)


def test_a_constant_at_the_click_rate_is_worth_nothing() -> None:
    clicked = np.arange(10) < 3
    rows = Rows(np.full(10, 0.3), clicked, np.arange(10), 10)
    found = figures.figures(rows, 0.95, 200, 0)
    assert found["auc_pooled"] == 0.5
    assert found["average_precision"] == pytest.approx(0.3)
    assert found["normalised_entropy"] == pytest.approx(1)
    assert found["information_gain"] == pytest.approx(0)
    assert found["calibration_ratio"] == pytest.approx(1)


def test_intervals_are_those_of_resampled_users() -> None:
    rows = world(0, n_users=200)
    found = figures.figures(rows, 0.95, 2_000, 0)
    rng = np.random.default_rng(1)
    drawn: dict[str, list[float]] = {name: [] for name in THEIRS}
    for _ in range(120):
        weight = np.bincount(rng.integers(rows.n_users, size=rows.n_users), minlength=rows.n_users)[rows.user]
        for name, theirs in THEIRS.items():
            drawn[name].append(theirs(rows.clicked, rows.p, weight.astype(float)))
    for name, values in drawn.items():
        low, high = np.quantile(values, [0.025, 0.975])
        ends = found[f"{name}_low"], found[f"{name}_high"]
        assert ends == pytest.approx((low, high), abs=0.25 * (high - low)), name
        assert ends[0] < found[name] < ends[1]


def test_rows_of_one_user_count_as_one_draw() -> None:
    """Each user twice over is no more data: the interval stays; as other users, it would be narrower."""
    rows = world(3, n_users=100)
    twice = [np.tile(of, 2) for of in (rows.p, rows.clicked, rows.user)]
    same = figures.figures(Rows(*twice, rows.n_users), 0.95, 2_000, 0)
    others = Rows(twice[0], twice[1], np.concatenate([rows.user, rows.user + rows.n_users]), 2 * rows.n_users)
    narrower, plain = figures.figures(others, 0.95, 2_000, 0), figures.figures(rows, 0.95, 2_000, 0)
    width = {
        name: one["auc_pooled_high"] - one["auc_pooled_low"]
        for name, one in {"same": same, "others": narrower, "plain": plain}.items()
    }
    assert width["same"] == pytest.approx(width["plain"])
    assert width["others"] == pytest.approx(width["plain"] / np.sqrt(2), rel=0.1)
