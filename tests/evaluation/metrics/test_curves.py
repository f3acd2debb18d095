"""Curves and tables: worked by hand, and equal to scikit-learn on random worlds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.metrics import average_precision_score, precision_recall_curve

from recx.core.errors import InputError
from recx.evaluation.metrics import curves
from recx.evaluation.metrics.classification import auc_pooled
from recx.evaluation.metrics.curves import OF_ALL_ROWS, TABLES, pr_curve, roc_curve

UNSEEN = 49  # every user of a random world has this target, and no list shows it


def of_all(figure):
    """Return what computes the table of all users, who are one block."""
    return lambda judged, **settings: figure(judged, **settings).value


cascade, classification, confusion_matrix, reliability = map(
    of_all, (curves.cascade, curves.classification, curves.confusion_matrix, curves.reliability)
)


def scored(judge, shown, grades, rel_threshold=1.0, dtype=np.float32):
    """Judge lists of pairs (item, score): user -> pairs, best first."""
    judged = judge({user: [item for item, _ in pairs] for user, pairs in shown.items()}, grades, rel_threshold)
    score = np.array([score for user in sorted(shown) for _, score in shown[user]], dtype=dtype)
    return replace(judged, lists=replace(judged.lists, score=score))


@pytest.fixture(scope="module")
def seven_rows(judge):
    """Targets: items 0, 2, 4. At 0.5: 2 true and 1 false positive, 1 false and 3 true negatives."""
    shown = {0: [(0, 0.9), (1, 0.8), (3, 0.1)], 1: [(2, 0.5), (4, 0.4), (5, 0.3), (6, 0.2)]}
    return scored(judge, shown, {0: {0: 1}, 1: {2: 1, 4: 1}})


def test_roc_curve(seven_rows):
    table = roc_curve(seven_rows)
    assert list(table) == ["threshold", "false_positive_rate", "true_positive_rate"]
    assert table["threshold"] == pytest.approx([np.inf, 0.9, 0.8, 0.4, 0.1])  # 0.5, 0.3 and 0.2 lie on straight lines
    assert table["false_positive_rate"] == pytest.approx([0, 0, 1 / 4, 1 / 4, 1])
    assert table["true_positive_rate"] == pytest.approx([0, 1 / 3, 1 / 3, 1, 1])


@pytest.mark.parametrize(
    ("shown", "counts"),
    [({0: [(0, 0.5)]}, "1 of the 1 rows"), ({0: [(1, 0.5)]}, "0 of the 1 rows"), ({0: []}, "0 of the 0 rows")],
)
def test_roc_curve_refuses_one_class(judge, shown, counts):
    with pytest.raises(InputError, match=f"^roc_curve needs rows .* {counts} shown have one"):
        roc_curve(scored(judge, shown, {0: {0: 1}}))


def test_confusion_matrix(seven_rows):
    table = confusion_matrix(seven_rows)
    assert {name: column.tolist() for name, column in table.items()} == {
        "actual": [0, 0, 1, 1],
        "predicted": [0, 1, 0, 1],
        "rows": [3, 1, 1, 2],
    }
    assert confusion_matrix(seven_rows, threshold=0.85)["rows"].tolist() == [4, 0, 2, 1]


def test_classification(seven_rows):
    table = classification(seven_rows)
    assert table["class"].tolist() == ["0", "1", "macro", "weighted"]
    expected = [3 / 4, 2 / 3, (3 / 4 + 2 / 3) / 2, (4 * 3 / 4 + 3 * 2 / 3) / 7]
    for name in ("precision", "recall", "f"):
        assert table[name] == pytest.approx(expected)
    assert table["support"].tolist() == [4, 3, 7, 7]
    sure = classification(seven_rows, threshold=0.85, beta=2)
    assert sure["recall"] == pytest.approx([1, 1 / 3, 2 / 3, (4 + 1) / 7])
    assert sure["f"][1] == pytest.approx(5 / 13)


def test_classification_without_rows_is_0(judge):
    table = classification(scored(judge, {0: []}, {0: {0: 1}}))
    assert all(table[name].tolist() == [0, 0, 0, 0] for name in ("precision", "recall", "f", "support"))


def test_reliability(seven_rows):
    table = reliability(seven_rows, bins=4)
    assert list(table) == ["low", "high", "rows", "mean_predicted", "observed"]
    assert table["low"].tolist() == [0, 0.25, 0.5, 0.75]
    assert table["high"].tolist() == [0.25, 0.5, 0.75, 1]
    assert table["rows"].tolist() == [2, 3, 0, 2]  # 0.5 belongs to the bin that ends there
    assert table["mean_predicted"] == pytest.approx([0.15, 0.4, np.nan, 0.85], nan_ok=True)
    assert table["observed"] == pytest.approx([0, 2 / 3, np.nan, 1 / 2], nan_ok=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_probability_on_an_edge_belongs_to_the_lower_bin(judge, dtype):
    edges = [(i, (10 - i) / 10) for i in range(11)]
    table = reliability(scored(judge, {0: edges}, {0: {0: 1}}, dtype=dtype))
    assert table["rows"].tolist() == [2, *[1] * 9]


def test_reliability_refuses_what_it_cannot_bin(judge, seven_rows):
    with pytest.raises(InputError, match=r"^reliability needs probabilities, and the scores range from -2 to 3"):
        reliability(scored(judge, {0: [(0, 3), (1, -2)]}, {0: {0: 1}}))
    for bins in (0, 2.5, True):
        with pytest.raises(InputError, match="bins"):
            reliability(seven_rows, bins=bins)


def test_cascade(judge):
    judged = judge({0: [0, 1, 2, 3]}, {0: {0: 3.0, 1: 2.0, 3: 1.0}})
    table = cascade(judged, max_grade=3)
    # R = 7/8, 3/8, 0, 1/8
    expected = np.array([7 / 8, 1 / 8 * 3 / 8, 0, 1 / 8 * 5 / 8 * 1 / 8])
    assert table["rank"].tolist() == [1, 2, 3, 4]
    assert table["stops_here"] == pytest.approx(expected)
    assert table["stops_until"] == pytest.approx(expected.cumsum())
    assert (table["stops_here"] / table["rank"]).sum() == pytest.approx(0.90088, abs=5e-6)  # ERR
    assert (table["stops_here"] / np.log2(table["rank"] + 1)).sum() == pytest.approx(0.90878, abs=5e-6)


def test_cascade_is_a_mean_over_all_users_and_may_be_cut(judge):
    judged = judge({0: [0, 1], 1: [2, 3, 1], 2: []}, {0: {0: 1.0}, 1: {3: 1.0, 1: 1.0}, 2: {4: 1.0}})
    whole = cascade(judged, max_grade=1)
    assert whole["stops_here"] == pytest.approx([1 / 6, 1 / 6, 1 / 12])
    cut = cascade(judged, max_grade=1, k=2)
    assert all(cut[name].tolist() == whole[name][:2].tolist() for name in whole)
    assert cascade(judged, max_grade=1, k=9)["rank"].tolist() == [1, 2, 3]
    assert cascade(judge({0: []}, {0: {0: 1.0}}), max_grade=1)["rank"].tolist() == []


def test_cascade_refuses_a_grade_above_the_highest(judge):
    with pytest.raises(InputError, match="max_grade=2: a target has the grade 3"):
        cascade(judge({0: [0]}, {0: {0: 3.0}}), max_grade=2)


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
    """Return the labels and the scores of all rows."""
    shown, grades, rel_threshold = world
    pairs = [(user, item, score) for user in shown for item, score in shown[user]]
    labels = np.array([grades[user].get(item, 0) >= rel_threshold for user, item, _ in pairs], dtype=int)
    return labels, np.array([score for _, _, score in pairs])


@given(world=worlds())
def test_roc_curve_counts_the_rows_from_each_threshold_on(judge, world):
    judged, (y, score) = scored(judge, *world), rows_of(world)
    if len(set(y)) < 2:
        return
    table = roc_curve(judged)
    above = score >= table["threshold"][:, None]
    assert table["false_positive_rate"] == pytest.approx(above[:, y == 0].mean(axis=1))
    assert table["true_positive_rate"] == pytest.approx(above[:, y == 1].mean(axis=1))
    false_positive_rate, true_positive_rate, threshold = metrics.roc_curve(y, score)
    assert table["threshold"] == pytest.approx(threshold)
    assert table["false_positive_rate"] == pytest.approx(false_positive_rate)
    assert table["true_positive_rate"] == pytest.approx(true_positive_rate)
    area = np.trapezoid(table["true_positive_rate"], table["false_positive_rate"])
    assert area == pytest.approx(auc_pooled(judged, None))


@given(world=worlds(), threshold=st.sampled_from([0.0, 0.3125, 0.5, 0.9]), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_tables_at_a_threshold_equal_scikit_learn(judge, world, threshold, beta):
    judged, (y, score) = scored(judge, *world), rows_of(world)
    if not len(y):
        return
    predicted = score >= threshold
    rows = confusion_matrix(judged, threshold=threshold)["rows"].reshape(2, 2)
    assert rows.tolist() == metrics.confusion_matrix(y, predicted, labels=[0, 1]).tolist()
    table = classification(judged, threshold=threshold, beta=beta)
    fscore = partial(metrics.precision_recall_fscore_support, y, predicted, beta=beta, labels=[0, 1], zero_division=0)
    by_class, macro, weighted = fscore(average=None), fscore(average="macro"), fscore(average="weighted")
    for place, name in enumerate(("precision", "recall", "f")):
        assert table[name] == pytest.approx([*by_class[place], macro[place], weighted[place]])
    assert table["support"][:2].tolist() == by_class[3].tolist()


@given(world=worlds(), bins=st.integers(1, 12))
def test_reliability_equals_scikit_learn(judge, world, bins):
    judged, (y, score) = scored(judge, *world), rows_of(world)
    table = reliability(judged, bins=bins)
    assert table["rows"].sum() == len(y)
    if len(set(y)) == 2:  # scikit-learn leaves out the empty bins, and wants both classes
        observed, mean_predicted = calibration_curve(y, score, n_bins=bins)
        filled = table["rows"] > 0
        assert table["observed"][filled] == pytest.approx(observed)
        assert table["mean_predicted"][filled] == pytest.approx(mean_predicted)
        assert np.isnan(table["observed"][~filled]).all()


def test_every_table_is_of_equal_columns(seven_rows):
    for name, table in TABLES.items():
        made = table(seven_rows, **({"max_grade": 1} if name == "cascade" else {}))
        columns = made if name in OF_ALL_ROWS else made.value
        assert len({len(column) for column in columns.values()}) == 1, name


def test_a_long_roc_curve_is_thinned_along_the_curve(judge):
    scores = np.random.default_rng(0).permutation(500).reshape(10, 50)
    shown = {user: list(enumerate(np.sort(scores[user])[::-1].tolist())) for user in range(10)}
    judged = scored(judge, shown, {user: dict.fromkeys(range(0, 50, 3), 1) for user in range(10)})
    whole, thin = roc_curve(judged, points=10_000), roc_curve(judged, points=40)
    assert len(thin["threshold"]) <= 40 < len(whole["threshold"])
    for name in ("false_positive_rate", "true_positive_rate"):
        assert (thin[name][0], thin[name][-1]) == (0, 1)
    area = [np.trapezoid(table["true_positive_rate"], table["false_positive_rate"]) for table in (whole, thin)]
    assert area[1] == pytest.approx(area[0], abs=0.01)


def test_the_precision_recall_curve_is_that_of_scikit_learn_and_the_area_under_its_steps_the_average_precision(judge):
    rng = np.random.default_rng(0)
    scores = np.sort(rng.integers(0, 40, (10, 50)) / 40)[:, ::-1]
    shown = {user: list(enumerate(scores[user].tolist())) for user in range(10)}
    judged = scored(judge, shown, {user: dict.fromkeys(range(0, 50, 3), 1) for user in range(10)})
    relevant = np.tile(np.arange(50) % 3 == 0, 10)
    curve = pr_curve(judged)
    assert curve["threshold"][0] == np.inf
    assert (np.diff(curve["threshold"]) < 0).all()
    precision, recall, threshold = precision_recall_curve(relevant, judged.lists.score)
    assert curve["precision"] == pytest.approx(precision[::-1])
    assert curve["recall"] == pytest.approx(recall[::-1])
    assert curve["threshold"][1:] == pytest.approx(threshold[::-1])
    area = np.diff(curve["recall"]) @ curve["precision"][1:]
    assert area == pytest.approx(average_precision_score(relevant, judged.lists.score))
    assert len(pr_curve(judged, points=5)["recall"]) <= 5


def test_a_precision_recall_curve_needs_a_target_among_the_rows(judge):
    nothing = scored(judge, {0: [(1, 0.5)]}, {0: {2: 1}})
    with pytest.raises(InputError, match="pr_curve needs rows with a relevant target"):
        pr_curve(nothing)
