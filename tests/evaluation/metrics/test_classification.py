"""Figures over all rows shown: fractions by hand, faults of other libraries, scikit-learn on random worlds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from recx.core.errors import InputError
from recx.core.total import Total
from recx.evaluation.metrics.classification import FIGURES, NOTES

UNSEEN = 49  # every user of a random world has this target, and no list shows it


def scored(judge, shown, grades, rel_threshold=1.0, dtype=np.float32):
    """Judge lists of pairs (item, score): user -> pairs, best first."""
    judged = judge({user: [item for item, _ in pairs] for user, pairs in shown.items()}, grades, rel_threshold)
    score = np.array([score for user in sorted(shown) for _, score in shown[user]], dtype=dtype)
    return replace(judged, lists=replace(judged.lists, score=score))


def value(name, judged, **params):
    found = FIGURES[name](judged, None, **params)
    return found.value if isinstance(found, Total) else found


def test_auc_leaves_out_users_of_one_class_and_counts_them(judge):
    shown = {0: [(0, 0.9), (1, 0.2)], 1: [(2, 0.3)], 2: [], 3: [(0, 0.5), (1, 0.4)]}
    judged = scored(judge, shown, {0: {0: 1}, 1: {2: 1}, 2: {3: 1}, 3: {UNSEEN: 1}})
    assert value("auc", judged) == pytest.approx([1, np.nan, np.nan, np.nan], nan_ok=True)
    assert NOTES["auc"](judged, None) == NOTES["auc_weighted"](judged, None) == {"auc_one_class_users": 3}
    assert value("auc_weighted", judged) == 1.0


def test_auc_by_user_weighted_and_pooled_are_three_numbers(judge):
    shown = {0: [(0, 0.9), (1, 0.2)], 1: [(1, 0.9), (2, 0.8), (3, 0.2), (4, 0.1)]}
    judged = scored(judge, shown, {0: {0: 1}, 1: {2: 1}})
    assert value("auc", judged) == pytest.approx([1, 2 / 3])
    assert value("auc_weighted", judged) == pytest.approx((2 * 1 + 4 * 2 / 3) / 6)  # 0.77778, the plain mean is 0.83333
    # Pooled: 0.9 beats 0.2, 0.2, 0.1 and ties with 0.9; 0.8 beats 0.2, 0.2, 0.1.
    assert value("auc_pooled", judged) == pytest.approx((3 + 1 / 2 + 3) / 8)


def test_pooled_auc_compares_users_with_each_other(judge):
    judged = scored(judge, {0: [(0, 0.9), (1, 0.8)], 1: [(2, 0.3), (3, 0.1)]}, {0: {0: 1}, 1: {2: 1}})
    assert value("auc", judged) == pytest.approx([1, 1])
    assert value("auc_pooled", judged) == 0.75


def test_a_tie_counts_one_half_at_every_position_of_the_target(judge):
    for target, expected in [(0, 3.5 / 4), (1, 3.5 / 4), (2, 1 / 4)]:
        judged = scored(judge, {0: [(0, 0.5), (1, 0.5), (3, 0.2), (2, 0.1), (4, 0.0)]}, {0: {target: 1}})
        assert value("auc", judged) == pytest.approx([expected])
        assert value("auc_pooled", judged) == pytest.approx(expected)


def test_equal_scores_of_two_users_are_not_a_tie_within_a_user(judge):
    judged = scored(judge, {0: [(0, 0.9), (1, 0.5)], 1: [(2, 0.5), (3, 0.1)]}, {0: {0: 1}, 1: {3: 1}})
    assert value("auc", judged) == pytest.approx([1, 0])


def test_auc_is_one_half_where_all_scores_are_equal(judge):
    judged = scored(judge, {0: [(i, 0.0) for i in range(5)]}, {0: {1: 1, 2: 1}})
    assert value("auc", judged) == [0.5]
    assert value("auc_pooled", judged) == 0.5


@pytest.mark.parametrize("shown", [{0: []}, {0: [(0, 0.5)]}, {0: [(1, 0.5)]}])
def test_auc_of_one_class_is_no_number(judge, shown):
    judged = scored(judge, shown, {0: {0: 1}})
    assert math.isnan(value("auc_pooled", judged))
    assert math.isnan(value("auc_weighted", judged))


def test_log_loss_of_clicks_at_nine_tenths(judge):
    half = scored(judge, {0: [(0, 0.9), (1, 0.4)]}, {0: {0: 1}})
    assert value("logloss", half) == pytest.approx(-(math.log(0.9) + math.log(0.6)) / 2)
    assert value("logloss", half) == pytest.approx(0.308, abs=5e-4)


def test_log_loss_at_one_click_in_a_hundred(judge):
    def world(click, other):
        """One click in a hundred rows of three users, two of whom are shown none of their targets."""
        shown = {
            0: [(0, click)] + [(i, other) for i in range(1, 50)],
            1: [(i, other) for i in range(49)],
            2: [(0, other)],
        }
        return scored(judge, shown, {0: {0: 1}, 1: {UNSEEN: 1}, 2: {UNSEEN: 1}})

    assert value("logloss", world(0.9, 0.4)) == pytest.approx(0.507, abs=5e-4)
    assert value("logloss", world(0.01, 0.01)) == pytest.approx(0.056, abs=5e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_loss_clips_as_float64_and_counts_it(judge, dtype):
    judged = scored(judge, {0: [(0, 0.0), (1, 0.0)]}, {0: {0: 1}}, dtype=dtype)
    assert value("logloss", judged) == pytest.approx(17.2693881975, abs=1e-9)  # not NaN, 18.02183 or 7.97119
    assert NOTES["logloss"](judged, None) == {"logloss_clipped": 2}
    sure = scored(judge, {0: [(0, 1.0), (1, 0.5)]}, {0: {0: 1}}, dtype=dtype)
    assert value("logloss", sure) == pytest.approx(math.log(2) / 2)
    assert NOTES["logloss"](sure, None) == {"logloss_clipped": 1}


def test_log_loss_without_rows_is_no_number(judge):
    assert math.isnan(value("logloss", scored(judge, {0: []}, {0: {0: 1}})))


@pytest.mark.parametrize("scores", [(1.5, 0.25), (0.5, -0.25)])
def test_log_loss_refuses_what_is_not_a_probability(judge, scores):
    judged = scored(judge, {0: list(enumerate(scores))}, {0: {0: 1}})
    with pytest.raises(
        InputError, match=rf"^logloss needs probabilities, and the scores range from {scores[1]} to {scores[0]}"
    ):
        value("logloss", judged)


def test_classification_at_a_threshold(judge):
    # Predicted at 0.5: items 0, 1, 2. Targets: 0, 2, 4. So 2 true and 1 false positive, 1 false and 3 true negatives.
    shown = {0: [(0, 0.9), (1, 0.8), (3, 0.1)], 1: [(2, 0.5), (4, 0.4), (5, 0.3), (6, 0.2)]}
    judged = scored(judge, shown, {0: {0: 1}, 1: {2: 1, 4: 1}})
    assert value("accuracy", judged) == pytest.approx(5 / 7)
    assert [value(f"class_{name}", judged) for name in ("precision", "recall", "f")] == pytest.approx([2 / 3] * 3)
    assert value("class_precision_of_0", judged) == pytest.approx(3 / 4)
    assert value("class_recall_of_0", judged) == pytest.approx(3 / 4)
    assert value("class_f_macro", judged) == pytest.approx((2 / 3 + 3 / 4) / 2)
    assert value("class_precision", judged, threshold=0.85) == 1.0
    assert value("class_recall", judged, threshold=0.85) == pytest.approx(1 / 3)
    # P = 1 and R = 1/3: F = (1 + b²) / (1 + 3 b²)
    assert value("class_f", judged, threshold=0.85) == value("class_f1", judged, threshold=0.85) == pytest.approx(1 / 2)
    assert value("class_f2", judged, threshold=0.85) == pytest.approx(5 / 13)
    assert value("class_f05", judged, threshold=0.85) == pytest.approx(5 / 7)
    assert value("class_f", judged, threshold=0.85, beta=2) == value("class_f2", judged, threshold=0.85)


def test_the_threshold_is_compared_in_the_type_of_the_scores(judge):
    for dtype in (np.float32, np.float64):  # 0.7 as float32 is below 0.7
        judged = scored(judge, {0: [(0, 0.7), (1, 0.1)]}, {0: {0: 1}}, dtype=dtype)
        assert value("accuracy", judged, threshold=0.7) == value("accuracy", judged, threshold=np.float64(0.7)) == 1


def test_nothing_over_nothing_is_0(judge):
    nothing = scored(judge, {0: []}, {0: {0: 1}})
    assert {value(name, nothing) for name in FIGURES if name == "accuracy" or name.startswith("class_")} == {0}
    all_negative = scored(judge, {0: [(0, 0.1), (1, 0.1)]}, {0: {0: 1}})
    assert [value(f"class_{name}", all_negative) for name in ("precision", "recall", "f")] == [0, 0, 0]


def test_relevance_starts_at_the_threshold_of_the_judgement(judge):
    shown, grades = {0: [(0, 0.9), (1, 0.6), (2, 0.3)]}, {0: {0: 1, 1: 2}}
    assert value("auc", scored(judge, shown, grades)) == [1]
    assert value("auc", scored(judge, shown, grades, rel_threshold=2)) == [0.5]
    assert value("accuracy", scored(judge, shown, grades, rel_threshold=2)) == pytest.approx(2 / 3)


@st.composite
def worlds(draw):
    """Lists with many ties, of any length, and grades 0.5, 1, 2 or 3 of what they show; relevant from 1 or 2 on."""
    shown, grades = {}, {}
    for user in range(draw(st.integers(1, 5))):
        scores = sorted(draw(st.lists(st.sampled_from([0, 1, 2, 5, 8, 13, 16]), max_size=9)), reverse=True)
        shown[user] = [(item, score / 16) for item, score in enumerate(scores)]
        targets = draw(st.dictionaries(st.integers(0, 9), st.sampled_from([0.5, 1.0, 2.0, 3.0]), max_size=5))
        grades[user] = {UNSEEN: 3.0, **targets}
    return shown, grades, draw(st.sampled_from([1.0, 2.0]))


def rows_of(world):
    """Return each user's labels and scores, as two lists of lists."""
    shown, grades, rel_threshold = world
    labels = [[int(grades[u].get(item, 0) >= rel_threshold) for item, _ in shown[u]] for u in shown]
    return labels, [[score for _, score in shown[u]] for u in shown]


def flat(lists):
    return [value for inner in lists for value in inner]


@given(world=worlds())
def test_auc_and_log_loss_equal_scikit_learn(judge, world):
    judged, (labels, scores) = scored(judge, *world), rows_of(world)
    by_user = [
        metrics.roc_auc_score(y, s) if len(set(y)) == 2 else math.nan for y, s in zip(labels, scores, strict=True)
    ]
    assert value("auc", judged) == pytest.approx(by_user, nan_ok=True)
    both = [u for u, auc in enumerate(by_user) if not math.isnan(auc)]
    assert NOTES["auc"](judged, None) == {"auc_one_class_users": len(by_user) - len(both)}
    if both:
        weights = [len(labels[u]) for u in both]
        assert value("auc_weighted", judged) == pytest.approx(np.average([by_user[u] for u in both], weights=weights))
    y, s = flat(labels), flat(scores)
    if len(set(y)) == 2:
        assert value("auc_pooled", judged) == pytest.approx(metrics.roc_auc_score(y, s))
    if y:
        clipped = np.clip(s, 1e-15, 1 - 1e-15)  # scikit-learn itself clips at the smallest step of the type
        assert value("logloss", judged) == pytest.approx(metrics.log_loss(y, clipped, labels=[0, 1]))
        assert NOTES["logloss"](judged, None) == {"logloss_clipped": sum(p in (0, 1) for p in s)}


@given(
    world=worlds().filter(lambda world: any(world[0].values())),
    threshold=st.sampled_from([0.0, 0.3125, 0.5, 0.9, 2.0]),
    beta=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_classification_equals_scikit_learn(judge, world, threshold, beta):
    judged, (labels, scores) = scored(judge, *world), rows_of(world)
    y, predicted = flat(labels), [int(score >= threshold) for score in flat(scores)]
    assert value("accuracy", judged, threshold=threshold) == pytest.approx(metrics.accuracy_score(y, predicted))
    for average, suffix in [(None, ("_of_0", "")), ("macro", ("_macro",))]:
        expected = metrics.precision_recall_fscore_support(
            y, predicted, beta=beta, labels=[0, 1], average=average, zero_division=0
        )
        for name, params, other in zip(("precision", "recall", "f"), ({}, {}, {"beta": beta}), expected, strict=False):
            ours = [value(f"class_{name}{end}", judged, threshold=threshold, **params) for end in suffix]
            assert ours == pytest.approx(np.atleast_1d(other).tolist())


def test_every_figure_gives_one_value_per_user_or_a_plain_number(judge):
    judged = scored(judge, {0: [(0, 0.9), (1, 0.2)], 1: []}, {0: {0: 1}, 1: {3: 1}})
    values = {name: value(name, judged) for name in FIGURES}
    assert values.pop("auc").shape == (2,)
    assert {type(single) for single in values.values()} == {float}
    assert set(NOTES) <= set(FIGURES)
