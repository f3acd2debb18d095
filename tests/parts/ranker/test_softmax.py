from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from recx.core.ragged import indptr_of
from recx.core.types import Doubles
from recx.parts.ranker import optimizers, softmax
from recx.parts.ranker.optimizers import by_gradient_descent, by_lbfgs, by_sgd
from recx.parts.ranker.softmax import Objective


def problem(seed: int, users: int = 60, features: int = 3, l2: float = 0.01, graded: bool = False) -> Objective:
    """A random problem in float64; every user has at least one gain."""
    rng = np.random.default_rng(seed)
    indptr = indptr_of(rng.integers(1, 9, users))
    gain = np.zeros(indptr[-1])
    gain[indptr[:-1]] = 1
    if graded:
        gain += rng.integers(0, 3, len(gain)) * 0.5
    return Objective(rng.normal(size=(len(gain), features)), gain, indptr, l2)


def slow_value(objective: Objective, weights: Doubles) -> float:
    """The formula of the objective, user by user."""
    total = 0.0
    for start, stop in zip(objective.indptr[:-1], objective.indptr[1:], strict=True):
        score = [float(row @ weights) for row in objective.table[start:stop]]
        largest = max(score)
        log_sum = largest + np.log(sum(np.exp(s - largest) for s in score))
        total += sum(-y * (s - log_sum) for y, s in zip(objective.gain[start:stop], score, strict=True))
    return total / objective.n_users + objective.l2 * float(weights @ weights)


def finite_differences(objective: Objective, weights: Doubles) -> Doubles:
    steps = 1e-6 * np.eye(len(weights))
    return np.array([(slow_value(objective, weights + h) - slow_value(objective, weights - h)) / 2e-6 for h in steps])


def test_two_candidates_by_hand() -> None:
    # Scores 2 and 0, the first is the target: p = e^2 / (e^2 + 1) = 0.880797, loss -log p = 0.126928.
    objective = Objective(np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), np.array([0, 2]), l2=0.1)
    value, gradient = objective.value_and_gradient(np.array([2.0]))
    assert value == pytest.approx(0.126928 + 0.1 * 4, abs=1e-6)
    assert gradient == pytest.approx([0.880797 - 1 + 2 * 0.1 * 2], abs=1e-6)


def test_two_targets_by_hand() -> None:
    # Three candidates with scores 0: p = 1/3 each. Gains 2, 1, 0: loss 3 log 3, gradient X'(3 p - y) = x_1 (1 - 2).
    objective = Objective(np.array([[1.0], [0.0], [0.0]]), np.array([2.0, 1.0, 0.0]), np.array([0, 3]), l2=0.0)
    value, gradient = objective.value_and_gradient(np.zeros(1))
    assert value == pytest.approx(3 * np.log(3))
    assert gradient == pytest.approx([-1.0])
    # The widespread X'(p - y) would say 1/3 - 2.
    assert finite_differences(objective, np.zeros(1)) == pytest.approx([-1.0], abs=1e-6)
    assert abs(gradient[0] - (1 / 3 - 2)) > 0.5


@given(seed=st.integers(0, 10_000), graded=st.booleans(), l2=st.sampled_from([0.0, 0.01, 3.0]))
@settings(max_examples=settings.default.max_examples // 2)
def test_value_and_gradient_are_those_of_the_formula(seed: int, graded: bool, l2: float) -> None:
    objective = problem(seed, users=7, l2=l2, graded=graded)
    weights = np.random.default_rng(seed + 1).normal(size=3) * 2
    value, gradient = objective.value_and_gradient(weights)
    assert value == pytest.approx(slow_value(objective, weights), rel=1e-9, abs=1e-9)
    assert gradient == pytest.approx(finite_differences(objective, weights), abs=1e-5)


def test_large_scores_neither_overflow_nor_lose_the_gradient() -> None:
    objective = Objective(np.array([[0.0], [1.0]]), np.array([1.0, 0.0]), np.array([0, 2]), l2=0.0)
    value, gradient = objective.value_and_gradient(np.array([5000.0]))
    assert value == pytest.approx(5000.0)  # not the 23.03 of log(p + 1e-10)
    assert gradient == pytest.approx([1.0])


def test_the_penalty_counts_once_however_many_the_users() -> None:
    one = problem(3, users=1)
    many = Objective(np.tile(one.table, (50, 1)), np.tile(one.gain, 50), indptr_of(np.full(50, one.indptr[1])), one.l2)
    weights = np.array([1.0, -2.0, 0.5])
    assert many.value_and_gradient(weights)[0] == pytest.approx(one.value_and_gradient(weights)[0])
    assert many.value_and_gradient(weights)[1] == pytest.approx(one.value_and_gradient(weights)[1])


@pytest.mark.parametrize("graded", [False, True])
def test_curvature_is_the_hessian_at_zero(graded: bool) -> None:
    objective = problem(5, graded=graded)
    steps = 1e-5 * np.eye(3)
    slope = [(objective.value_and_gradient(step)[1] - objective.value_and_gradient(-step)[1]) / 2e-5 for step in steps]
    assert objective.curvature(np.zeros(3)) == pytest.approx(np.array(slope), abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("l2", [1e-4, 0.1])
def test_lbfgs_finds_what_a_plain_fit_finds(seed: int, l2: float) -> None:
    objective = problem(seed, l2=l2, graded=seed % 2 == 1)
    weights = by_lbfgs(objective).weights
    options = {"gtol": 1e-9, "ftol": 1e-15, "maxiter": 5000}
    plain = minimize(objective.value_and_gradient, np.zeros(3), jac=True, method="L-BFGS-B", options=options)
    assert np.linalg.norm(objective.value_and_gradient(weights)[1]) <= 1e-5
    assert weights == pytest.approx(plain.x, abs=1e-3)


def test_lbfgs_reaches_the_optimum_in_float32_with_correlated_features() -> None:
    rng = np.random.default_rng(0)
    indptr = indptr_of(np.full(2000, 30))
    base = rng.normal(size=(60_000, 1))
    table = base + np.array([1, 0.1, 0.01]) * rng.normal(size=(60_000, 3))
    table = ((table - table.mean(axis=0)) / table.std(axis=0)).astype(np.float32)
    gain = np.zeros(60_000)
    score = table @ [1.0, -2.0, 2.0] + rng.gumbel(size=60_000)
    gain[np.arange(2000) * 30 + score.reshape(2000, 30).argmax(axis=1)] = 1
    weights = by_lbfgs(Objective(table, gain, indptr, 1e-4)).weights
    exact = Objective(table.astype(np.float64), gain, indptr, 1e-4)
    assert np.linalg.norm(exact.value_and_gradient(weights)[1]) <= 1e-5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lbfgs_takes_features_that_say_the_same(dtype: type) -> None:
    plain = problem(1, users=3000, features=2, l2=0.0)
    twice = np.concatenate([plain.table, plain.table, plain.table @ np.array([[0.5], [0.5]])], axis=1).astype(dtype)
    objective = Objective(twice, plain.gain, plain.indptr, 0.0)
    weights = by_lbfgs(objective).weights
    assert np.linalg.norm(objective.value_and_gradient(weights)[1]) <= 1e-5
    combined = weights[:2] + weights[2:4] + 0.5 * weights[4]
    assert combined == pytest.approx(by_lbfgs(plain).weights, abs=1e-3)


def test_collinear_features_whose_rounded_curvature_may_not_be_positive() -> None:
    rng = np.random.default_rng(3)
    plain = rng.normal(size=(150_000, 6)).astype(np.float32)
    table = np.concatenate([plain, plain, plain[:, :3] + plain[:, 3:]], axis=1)
    table = ((table - table.mean(axis=0)) / table.std(axis=0)).astype(np.float32)
    gain = np.zeros(len(table))
    gain[::50] = 8
    objective = Objective(table, gain, indptr_of(np.full(3000, 50)), 0.0)
    assert np.linalg.norm(objective.value_and_gradient(by_lbfgs(objective).weights)[1]) <= 1e-5


def test_separable_lists_without_a_penalty_end_at_finite_weights() -> None:
    objective = Objective(np.array([[1.0], [0.0], [3.0], [1.0]]), np.array([1.0, 0, 1, 0]), np.array([0, 2, 4]), 0.0)
    weights = by_lbfgs(objective).weights
    assert np.isfinite(weights).all()
    assert weights[0] > 5
    assert objective.value_and_gradient(weights)[0] < 0.01


def test_one_candidate_a_list_leaves_nothing_to_learn() -> None:
    objective = Objective(np.ones((5, 2)), np.ones(5), np.arange(6), 1e-4)
    assert by_lbfgs(objective).weights == pytest.approx([0, 0])
    assert by_gradient_descent(objective, 0.1, 10).weights == pytest.approx([0, 0])
    assert by_sgd(objective, 0.1, 10, 0).weights == pytest.approx([0, 0])


def test_gradient_descent_only_goes_down() -> None:
    objective = problem(2)
    values = [
        objective.value_and_gradient(by_gradient_descent(objective, 0.05, epochs).weights)[0]
        for epochs in range(0, 200, 10)
    ]
    assert (np.diff(values) < 0).all()


def test_gradient_descent_and_sgd_come_near_the_optimum() -> None:
    objective = problem(4, users=100)
    best = objective.value_and_gradient(by_lbfgs(objective).weights)[0]
    start = objective.value_and_gradient(np.zeros(3))[0]
    full = objective.value_and_gradient(by_gradient_descent(objective, 0.5, 500).weights)[0]
    steps = objective.value_and_gradient(by_sgd(objective, 0.01, 60, 0).weights)[0]
    assert full == pytest.approx(best, abs=1e-6)
    assert best - 1e-9 <= steps <= best + 0.02 * (start - best)


def test_sgd_follows_its_seed() -> None:
    objective = problem(4, users=10)
    assert np.array_equal(by_sgd(objective, 0.1, 3, 7).weights, by_sgd(objective, 0.1, 3, 7).weights)
    assert not np.array_equal(by_sgd(objective, 0.1, 3, 7).weights, by_sgd(objective, 0.1, 3, 8).weights)


def test_the_users_gradients_have_the_gradient_as_their_mean() -> None:
    objective = problem(6, graded=True)
    weights = np.array([0.5, -1.0, 2.0])
    assert objective.gradient_of_users(weights).mean(axis=0) == pytest.approx(objective.value_and_gradient(weights)[1])


def test_curvature_is_the_hessian_anywhere() -> None:
    objective, at = problem(7, graded=True), np.array([0.5, -1.0, 2.0])
    steps = 1e-5 * np.eye(3)
    slope = [(objective.value_and_gradient(at + h)[1] - objective.value_and_gradient(at - h)[1]) / 2e-5 for h in steps]
    assert objective.curvature(at) == pytest.approx(np.array(slope), abs=1e-5)


@given(seed=st.integers(0, 10_000), cells=st.integers(1, 400))
@settings(max_examples=settings.default.max_examples // 2)
def test_blocks_change_nothing(seed: int, cells: int) -> None:
    objective, weights = problem(seed, users=20, graded=True), np.array([1.0, -1.0, 0.5])
    whole = objective.value_and_gradient(weights)
    with mock.patch.object(softmax, "CELLS", cells):
        value, gradient = objective.value_and_gradient(weights)
        users = objective.gradient_of_users(weights)
    assert value == pytest.approx(whole[0])
    assert gradient == pytest.approx(whole[1])
    assert users.shape == (20, 3)


@pytest.mark.parametrize("seed", range(3))
def test_non_negative_lbfgs_stops_where_nothing_allowed_goes_down(seed: int) -> None:
    objective = problem(seed, features=6, graded=True)
    weights = by_lbfgs(objective, non_negative=True).weights
    slope = objective.value_and_gradient(weights)[1]
    assert (weights >= 0).all()
    assert (weights == 0).any()
    assert slope[weights > 0] == pytest.approx(0, abs=1e-5)
    assert (slope[weights == 0] >= -1e-5).all()


def test_losses_fall_to_the_minimum() -> None:
    objective = problem(2)
    found = by_lbfgs(objective)
    assert (np.diff(found.losses) <= 0).all()
    assert found.losses[-1] == pytest.approx(objective.value_and_gradient(found.weights)[0])
    steps = by_gradient_descent(objective, 0.05, 30)
    assert len(steps.losses) == 30
    assert steps.losses[-1] == pytest.approx(objective.value_and_gradient(steps.weights)[0])


def slow_steps(objective: Objective, groups: list[list[int]], learning_rate: float, least: float) -> Doubles:
    """One step down the mean loss of each group of users in turn, from 0, by the formula X'(sum(y) p - y)."""
    weights = np.zeros(objective.table.shape[1])
    for users in groups:
        gradient = np.zeros(len(weights))
        for user in users:
            rows = slice(objective.indptr[user], objective.indptr[user + 1])
            odds = np.exp(objective.table[rows] @ weights)
            pull = objective.gain[rows].sum() * odds / odds.sum() - objective.gain[rows]
            gradient += objective.table[rows].T @ pull / len(users)
        weights = np.maximum(weights - learning_rate * (gradient + 2 * objective.l2 * weights), least)
    return weights


@pytest.mark.parametrize("non_negative", [False, True])
def test_sgd_and_gradient_descent_do_what_the_loop_does(non_negative: bool) -> None:
    objective, least = problem(8, graded=True, l2=0.1), 0.0 if non_negative else -np.inf
    order = np.random.default_rng(5)
    one_by_one = [[user] for _ in range(6) for user in order.permutation(objective.n_users)]
    steps = by_sgd(objective, 0.01, 6, 5, non_negative).weights
    assert steps == pytest.approx(slow_steps(objective, one_by_one, 0.01, least), abs=1e-12)
    full = by_gradient_descent(objective, 0.1, 6, non_negative).weights
    together = [list(range(objective.n_users))] * 6
    assert full == pytest.approx(slow_steps(objective, together, 0.1, least), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_non_negative_lbfgs_finds_what_projected_steps_find(seed: int, l2: float) -> None:
    objective, plain = problem(seed, features=6, l2=l2, graded=True), np.zeros(6)
    for _ in range(2000):
        plain = np.maximum(plain - 0.2 * objective.value_and_gradient(plain)[1], 0)
    assert by_lbfgs(objective, non_negative=True).weights == pytest.approx(plain, abs=1e-5)


@pytest.mark.parametrize("non_negative", [False, True])
def test_where_there_are_many_rows_the_way_is_shorter_and_ends_in_the_same_place(
    monkeypatch: pytest.MonkeyPatch, non_negative: bool
) -> None:
    monkeypatch.setattr(softmax, "CELLS", 100)
    empty = problem(1, users=2_000, features=8)
    rng = np.random.default_rng(0)
    drawn = empty.table @ np.arange(1, 9) / 4 + rng.gumbel(size=len(empty.table))
    gain = (drawn == np.repeat(softmax.max_of_groups(drawn, empty.indptr), np.diff(empty.indptr))).astype(float)
    objective = Objective(empty.table, gain, empty.indptr, 1e-4)
    whole = by_lbfgs(objective, non_negative)
    monkeypatch.setattr(optimizers, "ROWS_OF_START", 1_000)
    few = objective.sample(1_000)
    assert 750 < len(few.table) < 1_500
    assert len(few.gain) == len(few.table) == few.indptr[-1]
    sampled = by_lbfgs(objective, non_negative)
    assert sampled.weights == pytest.approx(whole.weights, abs=1e-5)
    assert len(sampled.losses) < len(whole.losses)


def test_a_sample_of_few_rows_is_all_of_them() -> None:
    objective = problem(0)
    assert objective.sample(len(objective.table)) is objective


def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "CELLS", 100)
    objective, at = problem(2, users=500), np.array([0.3, -1.0, 0.2])
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        value, gradient = objective.value_and_gradient(at)
        found.append([value, *gradient, *objective.curvature(at).ravel(), *objective.gradient_of_users(at).ravel()])
    assert found[0] == found[1] == found[2]
