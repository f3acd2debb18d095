from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from recx.config.part_classes import locate
from recx.core.contracts import check_lists
from recx.core.errors import InputError, RecxError
from recx.core.protocols import HasDiagnostics
from recx.core.types import Fold, RankedLists, Requests
from recx.evaluation.ground_truth import GroundTruth
from recx.parts.feature.columns import Columns
from recx.parts.feature.popularity import Clicks
from recx.parts.ranker.fitted_linear import FittedLinear
from recx.parts.ranker.identity import Identity
from recx.parts.ranker.linear import Linear
from recx.parts.ranker.optimizers import by_lbfgs
from recx.parts.ranker.probability import softmax
from recx.parts.ranker.softmax import Objective
from recx.parts.shared import training_examples
from recx.storage import values

Problem = tuple[RankedLists, Fold]


def objective_of(fitted: FittedLinear, lists: RankedLists, fold: Fold, l2: float = 1e-4) -> Objective:
    """The objective in float64, on the features as the ranker standardised them; every list has a target."""
    table = np.stack([np.asarray(lists.columns[name], dtype=np.float64) for name in fitted.summary.weights], axis=1)
    gain = GroundTruth.of(fold).judge(lists).gain.astype(np.float64)
    return Objective((table - fitted.mean) / fitted.deviation, gain, lists.indptr, l2)


@pytest.fixture
def features(column: Callable) -> dict[str, object]:
    return {name: column(name) for name in "abcd"}


def test_it_finds_the_weights_that_drew_the_targets(generated: Callable[..., Problem], features: dict) -> None:
    lists, fold = generated(users=300)
    fitted = Linear(features, l2=0.0).fit(lists, fold)
    assert list(fitted.summary.weights) == ["a", "b", "c", "d"]
    assert [fitted.summary.weights[name] for name in "abcd"] == pytest.approx([1.0, -0.5, 0.3, 0.0], abs=0.3)


@pytest.mark.parametrize("l2", [0.0, 1e-4, 0.5])
def test_the_gradient_vanishes_at_the_weights(generated: Callable[..., Problem], features: dict, l2: float) -> None:
    lists, fold = generated()
    fitted = Linear(features, l2=l2).fit(lists, fold)
    gradient = objective_of(fitted, lists, fold, l2).value_and_gradient(fitted.weight)[1]
    assert np.linalg.norm(gradient) <= 1e-5


def test_features_are_standardised_over_the_rows_it_is_fitted_on(
    generated: Callable[..., Problem], features: dict
) -> None:
    lists, fold = generated()
    fitted = Linear(features).fit(lists, fold)
    assert fitted.mean == pytest.approx([lists.columns[name].mean(dtype=float) for name in "abcd"], abs=1e-6)
    assert fitted.deviation == pytest.approx([lists.columns[name].std(dtype=float) for name in "abcd"], rel=1e-6)


def test_scale_and_offset_of_a_feature_do_not_matter(generated: Callable[..., Problem], features: dict) -> None:
    lists, fold = generated()
    moved = replace(lists, columns={**lists.columns, "a": lists.columns["a"] * 1e-9, "b": lists.columns["b"] + 50})
    plain, other = Linear(features).fit(lists, fold), Linear(features).fit(moved, fold)
    assert other.weight == pytest.approx(plain.weight, abs=1e-3)
    assert other.notes["ranker_constant_features"] == 0


def test_constant_features_get_no_weight_and_are_counted(
    generated: Callable[..., Problem], column: Callable, features: dict
) -> None:
    lists, fold = generated()
    same = np.full(len(lists), 0.1, dtype=np.float32)
    lists = replace(lists, columns={**lists.columns, "e": same, "f": same * 1e6})
    fitted = Linear({**features, "e": column("e"), "f": column("f")}).fit(lists, fold)
    assert fitted.summary.weights["e"] == fitted.summary.weights["f"] == 0
    assert fitted.notes["ranker_constant_features"] == 2
    served = replace(lists, columns={**lists.columns, "e": same + np.arange(len(lists), dtype=np.float32)})
    assert np.array_equal(
        fitted.rank(served, fold.history, fold.requests).item, fitted.rank(lists, fold.history, fold.requests).item
    )


def test_nothing_but_constant_features_keeps_the_order_given(lists_of: Callable, fold_of: Callable, column) -> None:
    lists, fold = lists_of({0: {5: [1.0], 3: [1.0], 9: [1.0]}}), fold_of({0: {3: 1}})
    fitted = Linear({"a": column("a")}, l2=0.0).fit(lists, fold)
    assert fitted.summary.weights == {"a": 0}
    assert fitted.rank(lists, fold.history, fold.requests).item.tolist() == [5, 3, 9]


def test_a_feature_that_is_the_same_for_all_of_a_user_gets_no_weight(
    generated: Callable[..., Problem], column: Callable, features: dict
) -> None:
    lists, fold = generated()
    hour = np.repeat(np.random.default_rng(0).normal(size=lists.n_lists), lists.lengths).astype(np.float32)
    lists = replace(lists, columns={**lists.columns, "e": hour})
    assert abs(Linear({**features, "e": column("e")}).fit(lists, fold).summary.weights["e"]) < 1e-3


def test_one_user_by_hand(lists_of: Callable, fold_of: Callable, column: Callable) -> None:
    # Feature 3 and 1: standardised 1 and -1. L = log(1 + e^-2w) + l2 w^2; at the minimum 2 / (1 + e^2w) = 2 l2 w.
    lists, fold = lists_of({0: {7: [3.0], 8: [1.0]}}), fold_of({0: {7: 1}})
    fitted = Linear({"a": column("a")}, l2=0.25).fit(lists, fold)
    weight = fitted.summary.weights["a"]
    assert 2 / (1 + np.exp(2 * weight)) == pytest.approx(2 * 0.25 * weight, abs=1e-5)
    ranked = fitted.rank(lists, fold.history, fold.requests)
    assert ranked.score == pytest.approx([weight, -weight], abs=1e-5)


def test_it_ranks_by_the_weighted_sum_and_returns_the_same_pairs(
    generated: Callable[..., Problem], features: dict
) -> None:
    lists, fold = generated()
    fitted = Linear(features).fit(lists, fold)
    ranked = fitted.rank(lists, fold.history, fold.requests)
    check_lists(ranked, fold.requests, fold.history.n_items, "linear")
    table = np.stack([lists.columns[name] for name in "abcd"], axis=1).astype(np.float64)
    score = (table - fitted.mean) / fitted.deviation @ fitted.weight
    for number in range(lists.n_lists):
        rows = slice(int(lists.indptr[number]), int(lists.indptr[number + 1]))
        assert ranked.item[rows].tolist() == lists.item[rows][np.argsort(-score[rows], kind="stable")].tolist()


def test_users_without_a_retrieved_target_are_skipped_and_counted(
    generated: Callable[..., Problem], lists_of: Callable, fold_of: Callable, features: dict
) -> None:
    lists, fold = generated(users=100)
    found = Linear(features).fit(lists, fold)
    shown = {
        user: {int(i): list(range(4)) for i in lists.item[lists.indptr[user] : lists.indptr[user + 1]]}
        for user in range(lists.n_lists)
    }
    grades = {user: {int(item): 1.0} for user, item in zip(fold.target.user, fold.target.item, strict=True)}
    for user in (100, 101):  # their target is not among their candidates, or they have none
        shown[user], grades[user] = ({3: [9.0, 9, 9, 9]} if user == 100 else {}), {4: 1.0}
    more = lists_of(shown)
    columns = {name: np.concatenate([lists.columns[name], np.full(1, 9, dtype=np.float32)]) for name in lists.columns}
    fitted = Linear(features).fit(replace(more, columns=columns), fold_of(grades))
    assert fitted.notes["ranker_users_without_retrieved_target"] == 2
    assert fitted.notes["ranker_users_fitted_on"] == 100
    assert np.array_equal(fitted.weight, found.weight)
    assert np.array_equal(fitted.mean, found.mean)


def test_lists_of_some_of_the_users_are_enough(generated: Callable[..., Problem], features: dict) -> None:
    lists, fold = generated(users=100)
    some = np.arange(0, 100, 3)
    asked = replace(fold, requests=fold.requests[some])
    known = replace(asked, target=fold.target.keep(np.isin(fold.target.user, some)))
    fitted = Linear(features).fit(lists.take(some), asked)
    assert np.array_equal(fitted.weight, Linear(features).fit(lists.take(some), known).weight)
    assert fitted.notes["ranker_users_without_retrieved_target"] == 66
    add = Linear(features, missed="add")
    assert np.array_equal(add.fit(lists.take(some), asked).weight, add.fit(lists.take(some), known).weight)


def test_nothing_retrieved_is_an_error_that_names_the_way_out(
    lists_of: Callable, fold_of: Callable, column: Callable
) -> None:
    lists, fold = lists_of({0: {1: [1.0], 2: [0.0]}}), fold_of({0: {3: 1}})
    with pytest.raises(RecxError, match=r"nothing to learn from.*raise n_candidates or choose ranker\.missed=add"):
        Linear({"a": column("a")}).fit(lists, fold)


def test_unretrieved_targets_may_be_added(lists_of: Callable, fold_of: Callable, column: Callable) -> None:
    # The column is NaN, so 0, for what was added: two users' targets at 0 among candidates at 1 and 2.
    shown = {0: {1: [1.0], 2: [2.0]}, 1: {4: [2.0], 5: [1.0]}, 2: {1: [1.0], 7: [2.0]}}
    fold = fold_of({0: {3: 1}, 1: {3: 1, 6: 1}, 2: {7: 1}})
    fitted = Linear({"a": column("a")}, missed="add", l2=0.01).fit(lists_of(shown), fold)
    assert fitted.notes["ranker_users_without_retrieved_target"] == 0
    assert fitted.mean == pytest.approx([9 / 9])  # 1 + 2 + 0, 2 + 1 + 0 + 0, 1 + 2
    assert fitted.summary.weights["a"] < 0
    assert Linear({"a": column("a")}, missed="drop", l2=0.01).fit(lists_of(shown), fold).summary.weights["a"] > 0


def test_an_unretrieved_target_comes_last_in_its_own_list(lists_of: Callable, fold_of: Callable) -> None:
    lists = lists_of({0: {1: [1.0]}, 1: {}, 2: {8: [3.0], 2: [2.0]}})
    fold = fold_of({0: {9: 1, 1: 1}, 1: {3: 1}, 2: {2: 1, 5: 1, 4: 1}})
    full = training_examples._with_unretrieved(lists, GroundTruth.of(fold))
    assert full.indptr.tolist() == [0, 2, 3, 7]
    assert full.item.tolist() == [1, 9, 3, 8, 2, 4, 5]
    assert np.array_equal(
        full.columns["a"], np.array([1, np.nan, np.nan, 3, 2, np.nan, np.nan], np.float32), equal_nan=True
    )
    check_lists(full, fold.requests, 400, "the fit")


def test_max_users_takes_a_seeded_sample_and_counts_the_rest(generated: Callable[..., Problem], features: dict) -> None:
    lists, fold = generated()
    one, same = (Linear(features, max_users=50, seed=1).fit(lists, fold) for _ in range(2))
    other = Linear(features, max_users=50, seed=2).fit(lists, fold)
    assert one.notes["ranker_users_fitted_on"] == 50
    assert one.notes["ranker_users_not_sampled"] == 150
    assert np.array_equal(one.weight, same.weight)
    assert not np.array_equal(one.weight, other.weight)


def test_small_grades_are_learned_from_too(lists_of: Callable, fold_of: Callable, column: Callable) -> None:
    lists = lists_of({0: {1: [1.0], 2: [0.0]}, 1: {1: [0.0], 2: [1.0]}})
    fitted = Linear({"a": column("a")}, l2=0.1).fit(lists, fold_of({0: {1: 0.5}, 1: {2: 0.5}}))
    assert fitted.notes["ranker_users_fitted_on"] == 2
    assert fitted.summary.weights["a"] > 0


def test_a_grade_weighs_its_loss(lists_of: Callable, fold_of: Callable, column: Callable) -> None:
    lists = lists_of({0: {1: [1.0], 2: [0.0]}, 1: {1: [0.0], 2: [1.0]}})
    fitted = Linear({"a": column("a")}, l2=0.1).fit(lists, fold_of({0: {1: 5.0}, 1: {1: 1.0}}))
    assert fitted.summary.weights["a"] > 0
    fitted = Linear({"a": column("a")}, l2=0.1).fit(lists, fold_of({0: {1: 1.0}, 1: {1: 5.0}}))
    assert fitted.summary.weights["a"] < 0


@pytest.mark.parametrize("optimizer", ["gd", "sgd"])
def test_the_other_ways_come_near_the_optimum(
    generated: Callable[..., Problem], features: dict, optimizer: str
) -> None:
    lists, fold = generated(users=100)
    best = Linear(features).fit(lists, fold)
    rate, epochs = (0.5, 300) if optimizer == "gd" else (0.02, 30)
    fitted = Linear(features, optimizer=optimizer, learning_rate=rate, epochs=epochs).fit(lists, fold)
    objective = objective_of(best, lists, fold)
    start = objective.value_and_gradient(np.zeros(4))[0]
    least = objective.value_and_gradient(best.weight)[0]
    assert objective.value_and_gradient(fitted.weight)[0] <= least + 0.05 * (start - least)


def test_steps_too_long_are_an_error_and_no_warning(generated: Callable[..., Problem], features: dict) -> None:
    lists, fold = generated(users=20)
    ranker = Linear(features, optimizer="gd", l2=1e6, learning_rate=1.0, epochs=200)
    with pytest.raises(RecxError, match="did not converge: lower"):
        ranker.fit(lists, fold)


def test_items_with_equal_features_have_equal_scores_wherever_they_stand(
    generated: Callable[..., Problem], features: dict
) -> None:
    lists, fold = generated(users=60)
    fitted = Linear(features, l2=0.0).fit(lists, fold)
    score = fitted.scores(lists, fold.history, fold.requests)
    for start in (1, 2, 3, 7, 41):
        some, requests = lists[start : start + 9], fold.requests[start : start + 9]
        rows = slice(lists.indptr[start], lists.indptr[start + 9])
        np.testing.assert_array_equal(fitted.scores(some, fold.history, requests), score[rows])


def test_empty_lists_and_no_lists_are_ranked(generated: Callable[..., Problem], lists_of: Callable, features) -> None:
    lists, fold = generated(users=20)
    fitted = Linear(features).fit(lists, fold)
    none = fitted.rank(lists[0:0], fold.history, fold.requests[0:0])
    assert none.n_lists == len(none) == 0
    some = lists_of({1: {}, 4: {7: [1.0, 1, 1, 1]}})
    assert fitted.rank(some, fold.history, Requests(np.array([1, 4], np.int32))).lengths.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("l2", -1.0),
        ("l2", np.nan),
        ("optimizer", "adam"),
        ("missed", "keep"),
        ("epochs", 0),
        ("max_users", 0),
        ("learning_rate", 0.0),
        ("learning_rate", np.nan),
        ("probabilities", "isotonic"),
        ("resamples", -1),
        ("features", {}),
    ],
)
def test_settings_out_of_range_are_named(features: dict, setting: str, value: object) -> None:
    with pytest.raises(InputError, match=setting):
        Linear(**{"features": features, setting: value})


def test_identity_returns_what_it_was_given(generated: Callable[..., Problem]) -> None:
    lists, fold = generated(users=5)
    assert Identity().rank(lists, fold.history, fold.requests) is lists
    assert not hasattr(Identity(), "fit")


def weighing(fold: Fold, weight: np.ndarray) -> Fold:
    """The fold with a column of the users' table that says how much each counts."""
    users = replace(fold.history.users, table={"importance": weight})
    return replace(fold, history=replace(fold.history, users=users))


def test_a_user_of_weight_2_counts_as_two_users(lists_of: Callable, fold_of: Callable, column: Callable) -> None:
    lists = lists_of({0: {1: [1.0], 2: [0.0]}, 1: {1: [0.0], 2: [3.0], 3: [1.0]}})
    fold = fold_of({0: {1: 1.0}, 1: {3: 1.0}})
    weight = np.ones(fold.history.n_users, dtype=np.float32)
    weight[1] = 2
    fitted = Linear({"a": column("a")}, l2=0.1, user_weight="importance").fit(lists, weighing(fold, 3 * weight))
    table = (np.array([[1.0], [0], [0], [3], [1], [0], [3], [1]]) - fitted.mean) / fitted.deviation
    twice = Objective(table, np.array([1.0, 0, 0, 0, 1, 0, 0, 1]), np.array([0, 2, 5, 8]), 0.1)
    assert twice.value_and_gradient(fitted.weight)[1] == pytest.approx([0], abs=1e-5)


def test_a_user_of_weight_0_plays_no_part_and_is_counted(generated: Callable[..., Problem], features: dict) -> None:
    lists, fold = generated(users=80)
    weight = np.ones(fold.history.n_users)
    weight[:30] = 0
    fitted = Linear(features, user_weight="importance").fit(lists, weighing(fold, weight))
    assert fitted.notes["ranker_users_of_weight_0"] == 30
    target = fold.target.item.copy()
    target[:30] = [lists.item[lists.indptr[user]] for user in range(30)]  # other answers of those who do not count
    other = replace(fold, target=replace(fold.target, item=target))
    again = Linear(features, user_weight="importance").fit(lists, weighing(other, weight))
    assert again.weight == pytest.approx(fitted.weight, abs=1e-6)


@pytest.mark.parametrize(
    ("weight", "named", "told"),
    [
        (np.full(300, np.nan), "importance", "user u0 has the weight nan"),
        (np.full(300, -1.0), "importance", "user u0 has the weight -1"),
        (np.zeros(300), "importance", "every user to learn from has the weight 0"),
        (np.ones(300), "weight", "not a numeric column of the users' table: it has importance"),
        (np.full(300, "much"), "importance", "not a numeric column of the users' table: it has none"),
    ],
)
def test_wrong_user_weights_are_reported(
    generated: Callable[..., Problem], features: dict, weight: np.ndarray, named: str, told: str
) -> None:
    lists, fold = generated(users=20)
    with pytest.raises(InputError, match=told):
        Linear(features, user_weight=named).fit(lists, weighing(fold, weight))


@pytest.mark.parametrize("optimizer", ["lbfgs", "gd", "sgd"])
def test_weights_that_may_not_be_negative_are_not(
    generated: Callable[..., Problem], features: dict, optimizer: str
) -> None:
    lists, fold = generated()
    fitted = Linear(features, optimizer=optimizer, epochs=10, non_negative=True).fit(lists, fold)
    assert (fitted.weight >= 0).all()
    assert fitted.summary.weights["b"] < 0.05  # the weight that drew the targets is -0.5
    assert fitted.summary.weights["a"] > 0.05
    assert (fitted.low >= 0).all()
    assert (fitted.low[fitted.weight == 0] == fitted.high[fitted.weight == 0]).all()


def test_weights_at_0_or_above_are_the_optimum_among_those(generated: Callable[..., Problem], features: dict) -> None:
    lists, fold = generated()
    fitted = Linear(features, non_negative=True).fit(lists, fold)
    slope = objective_of(fitted, lists, fold).value_and_gradient(fitted.weight)[1]
    assert slope[fitted.weight > 0] == pytest.approx(0, abs=1e-5)
    assert (slope[fitted.weight == 0] >= -1e-5).all()
    assert fitted.notes["ranker_stopped_before_the_optimum"] == 0


def test_the_intervals_are_those_of_fits_to_resampled_users(generated: Callable[..., Problem], features: dict) -> None:
    lists, fold = generated(users=300)
    fitted = Linear(features).fit(lists, fold)
    rng = np.random.default_rng(1)
    exact = objective_of(fitted, lists, fold)
    refitted = []
    for _ in range(200):
        counts = np.bincount(rng.integers(300, size=300), minlength=300)
        gain = exact.gain * np.repeat(counts, lists.lengths)
        refitted.append(by_lbfgs(replace_gain(exact, gain)).weights)
    low, high = np.quantile(refitted, [0.025, 0.975], axis=0)
    assert fitted.low == pytest.approx(low, abs=0.06)
    assert fitted.high == pytest.approx(high, abs=0.06)
    assert (fitted.low < fitted.weight).all()
    assert (fitted.weight < fitted.high).all()


def replace_gain(objective: Objective, gain: np.ndarray) -> Objective:
    return Objective(objective.table, gain, objective.indptr, objective.l2)


def test_a_lean_one_makes_the_same_lists_and_no_intervals(generated: Callable[..., Problem], features: dict) -> None:
    lists, fold = generated(users=30)
    ranker = Linear(features, l2=0.1, probabilities="platt", user_weight=None, seed=3)
    whole, lean = ranker.fit(lists, fold), ranker.without_diagnostics().fit(lists, fold)
    assert isinstance(ranker, HasDiagnostics)
    assert np.isfinite(whole.low).all()
    assert np.isnan(lean.low).all()
    one, other = (fitted.rank(lists, fold.history, fold.requests) for fitted in (whole, lean))
    np.testing.assert_array_equal(one.item, other.item)
    np.testing.assert_array_equal(one.score, other.score)


def test_no_resamples_give_no_intervals(generated: Callable[..., Problem], features: dict) -> None:
    fitted = Linear(features, resamples=0).fit(*generated(users=30))
    assert np.isnan(fitted.low).all()
    assert np.isnan(fitted.summary.tables["weights"]["high"]).all()


@pytest.mark.parametrize("optimizer", ["lbfgs", "gd", "sgd"])
def test_the_learning_curve_ends_at_the_objective(
    generated: Callable[..., Problem], features: dict, optimizer: str
) -> None:
    lists, fold = generated(users=60)
    fitted = Linear(features, optimizer=optimizer, epochs=7).fit(lists, fold)
    losses = fitted.summary.curves["linear/loss"]
    assert len(losses) == 7 or optimizer == "lbfgs"
    assert losses[-1] < losses[0]
    assert losses[-1] == pytest.approx(objective_of(fitted, lists, fold).value_and_gradient(fitted.weight)[0], rel=1e-5)


@pytest.mark.parametrize("probabilities", ["softmax", "platt"])
def test_probabilities_go_out_and_leave_the_order_alone(
    generated: Callable[..., Problem], features: dict, probabilities: str
) -> None:
    lists, fold = generated(users=200)
    fitted = Linear(features, probabilities=probabilities).fit(lists, fold)
    ranked = fitted.rank(lists, fold.history, fold.requests)
    check_lists(ranked, fold.requests, fold.history.n_items, "linear")
    plain = replace(fitted, probabilities="none")
    scored = plain.rank(lists, fold.history, fold.requests)
    assert np.array_equal(ranked.item, scored.item)
    assert ranked.score.min() >= 0
    assert ranked.score.max() <= 1
    expected = softmax(scored.score, scored.indptr)
    expected = fitted.platt(expected) if probabilities == "platt" else expected
    assert ranked.score == pytest.approx(expected, abs=1e-6)


def test_calibration_has_users_of_its_own(generated: Callable[..., Problem], features: dict) -> None:
    lists, fold = generated(users=200)
    fitted = Linear(features, probabilities="platt").fit(lists, fold)
    assert fitted.notes["ranker_users_calibrated_on"] == 20
    assert fitted.notes["ranker_users_fitted_on"] == 180
    before, after = fitted.summary.held_out["before"], fitted.summary.held_out["after"]
    assert before.n_lists == after.n_lists == 20
    other = Linear(features, probabilities="platt", seed=1).fit(lists, fold)
    assert not np.array_equal(other.summary.held_out["before"].user, before.user)
    changed = fold.target.item.copy()
    for user in before.user:  # the weights never see the answers of those users
        changed[user] = lists.item[lists.indptr[user]]
    moved = Linear(features, probabilities="platt").fit(lists, replace(fold, target=replace(fold.target, item=changed)))
    assert np.array_equal(moved.weight, fitted.weight)
    assert moved.platt != fitted.platt


def test_calibration_needs_two_users(lists_of: Callable, fold_of: Callable, column: Callable) -> None:
    lists, fold = lists_of({0: {7: [3.0], 8: [1.0]}}), fold_of({0: {7: 1}})
    with pytest.raises(InputError, match="sets users apart"):
        Linear({"a": column("a")}, probabilities="platt").fit(lists, fold)


def test_candidates_with_other_columns_than_those_of_the_fit_are_refused(generated: Callable[..., Problem]) -> None:
    lists, fold = generated(users=20)
    fitted = Linear({"slate": Columns()}).fit(lists, fold)
    swapped = replace(lists, columns=dict(reversed(lists.columns.items())))
    for use in (fitted.rank, fitted.contributions):
        with pytest.raises(InputError, match="ranker=linear learned from other features than these candidates have"):
            use(swapped, fold.history, fold.requests)


def test_contributions_add_up_to_the_score(generated: Callable[..., Problem], features: dict) -> None:
    lists, fold = generated(users=40)
    fitted = Linear(features).fit(lists, fold)
    parts = fitted.contributions(lists, fold.history, fold.requests)
    assert parts.shape == (len(lists), 4)
    assert parts.sum(axis=1) == pytest.approx(fitted.scores(lists, fold.history, fold.requests), abs=1e-5)


@pytest.mark.parametrize(("probabilities", "resamples"), [("none", 0), ("platt", 100)])
def test_what_is_kept_ranks_the_same(
    generated: Callable[..., Problem], tmp_path: Path, probabilities: str, resamples: int
) -> None:
    lists, fold = generated(users=50)
    linear = Linear({"all": Columns(), "clicks": Clicks()}, probabilities=probabilities, resamples=resamples)
    fitted = linear.fit(lists, fold)
    values.write(fitted, tmp_path, locate)
    loaded = values.read(tmp_path, locate)
    one, other = (ranker.rank(lists, fold.history, fold.requests) for ranker in (fitted, loaded))
    assert np.array_equal(one.item, other.item)
    assert np.array_equal(one.score, other.score)
    assert np.array_equal(loaded.low, fitted.low, equal_nan=True)
    assert loaded.summary.curves == fitted.summary.curves
    assert loaded.collinear == fitted.collinear


def test_groups_that_teach_nothing_move_no_weight(lists_of: Callable, fold_of: Callable, column: Callable) -> None:
    teaching = {0: {1: [1.0], 2: [0.0]}, 1: {1: [0.0], 2: [1.0]}, 2: {3: [1.0], 4: [0.0]}}
    silent = {3: {5: [0.5]}, 4: {6: [0.25], 7: [0.75]}}  # one candidate; equal grades for candidates on both sides
    grades = {0: {1: 1.0}, 1: {1: 1.0}, 2: {3: 1.0}}
    lists, fold = lists_of(teaching | silent), fold_of({**grades, 3: {5: 1.0}, 4: {6: 1.0, 7: 1.0}})
    fitted = Linear({"a": column("a")}, l2=0.1).fit(lists, fold)
    assert fitted.notes["ranker_users_fitted_on"] == 5
    assert np.isfinite(fitted.weight).all()
    only = Linear({"a": column("a")}).fit(lists_of({3: silent[3]}), fold_of({3: {5: 1.0}}))
    assert only.summary.weights == {"a": 0}
    assert only.low == only.high == [0]


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_features_of_very_different_scale_are_learned_from_alike(
    generated: Callable[..., Problem], features: dict, scale: float
) -> None:
    lists, fold = generated(users=100)
    column = (lists.columns["a"] * np.float32(scale)).astype(np.float32)
    scaled = Linear(features).fit(replace(lists, columns={**lists.columns, "a": column}), fold)
    assert scaled.weight == pytest.approx(Linear(features).fit(lists, fold).weight, abs=1e-3)
    assert scaled.low == pytest.approx(Linear(features).fit(lists, fold).low, abs=1e-2)


@pytest.mark.parametrize("scale", [4.0, 0.1, -1e-3, 1e6])
def test_without_a_penalty_weights_do_not_notice_a_scale(
    generated: Callable[..., Problem], features: dict, scale: float
) -> None:
    lists, fold = generated(users=100)
    scaled = replace(lists, columns={**lists.columns, "a": (lists.columns["a"] * np.float32(scale)).astype(np.float32)})
    one, other = (Linear(features, l2=0.0, resamples=0).fit(shown, fold) for shown in (lists, scaled))
    assert other.weight == pytest.approx(one.weight * [np.sign(scale), 1, 1, 1], abs=1e-6)
    assert np.array_equal(
        *(ranker.rank(shown, fold.history, fold.requests).item for ranker, shown in ((one, lists), (other, scaled)))
    )


def test_grades_several_targets_and_weights_of_users_together(
    lists_of: Callable, fold_of: Callable, features: dict
) -> None:
    rng = np.random.default_rng(0)
    shown = {user: {item: rng.normal(size=4) for item in range(rng.integers(2, 9))} for user in range(60)}
    grades = {user: {item: 0.5 * rng.integers(0, 4) for item in items} | {0: 1.0} for user, items in shown.items()}
    lists, fold, weight = lists_of(shown), fold_of(grades), rng.integers(0, 4, 300)
    fitted = Linear(features, l2=0.03, user_weight="importance").fit(lists, weighing(fold, weight))

    def loss(weights: np.ndarray) -> float:
        total = 0.0
        for user, items in shown.items():
            score = (np.array(list(items.values())) - fitted.mean) / fitted.deviation @ weights
            log_softmax = score - np.log(np.exp(score).sum())
            total -= weight[user] * sum(grades[user][item] * log_softmax[item] for item in items)
        return total / weight[:60].sum() + 0.03 * weights @ weights

    assert fitted.weight == pytest.approx(minimize(loss, np.zeros(4), options={"gtol": 1e-7}).x, abs=1e-4)


def test_collinear_features_are_reported_with_what_they_contribute_together(
    lists_of: Callable, fold_of: Callable, column: Callable
) -> None:
    # Over the eight rows b is 0.96 a + 0.28 d and c is orthogonal to both, all with mean 0 and deviation 1.
    a, d, c = ([1, 1, 1, 1, -1, -1, -1, -1], [1, 1, -1, -1, 1, 1, -1, -1], [1, -1, 1, -1, 1, -1, 1, -1])
    rows = [[x, 0.96 * x + 0.28 * y, z, 5.0] for x, y, z in zip(a, d, c, strict=True)]
    lists = lists_of({user: {10 + n: row for n, row in enumerate(rows)} for user in range(3)})
    fold = fold_of({0: {10: 1}, 1: {11: 1}, 2: {12: 1}})
    features = {name: column(name) for name in "abcd"}
    fitted = Linear(features, l2=0.01, resamples=10).fit(lists, fold)
    assert fitted.vif == pytest.approx([1 / (1 - 0.96**2), 1 / (1 - 0.96**2), 1, np.nan], nan_ok=True, rel=1e-4)
    assert fitted.summary.collinear == (("a", "b"),)
    first, second = fitted.weight[:2]
    table = fitted.summary.tables["collinear_features"]
    assert (table["group"].tolist(), table["feature"].tolist()) == ([1, 1], ["a", "b"])
    assert table["alone"] == pytest.approx([abs(first), abs(second)])
    assert table["together"] == pytest.approx([np.hypot(first + 0.96 * second, 0.28 * second)] * 2, rel=1e-4)
    assert not [name for name in fitted.summary.metrics if "vif" in name]
    lean = Linear(features, l2=0.01, resamples=10).without_diagnostics().fit(lists, fold)
    assert np.isnan(lean.vif).all()
    assert lean.summary.collinear == ()
    assert np.array_equal(lean.weight, fitted.weight)
