"""ERR and the cascade: fractions worked by hand, corner cases, and equality with a slow textbook loop (law 7)."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import recx
from recx.core.errors import InputError
from recx.evaluation.ground_truth import ANY_GAIN, among_retrieved
from recx.evaluation.metrics.registry import NamedMetric, resolve
from recx.evaluation.metrics.stopping import FIGURES, OF_PROBABILITIES

GRADED = {0: {0: 3.0, 1: 2.0, 3: 1.0}}
"""Of a list of four: R = 7/8, 3/8, 0, 1/8, so that a user stops there with 7/8, 3/64, 0 and 5/512."""


def mean(name, judged, max_grade=None):
    return float(resolve(name, {"max_grade": max_grade})(judged).mean())


def test_err_discounts_by_rank_and_goes_on_after_a_grade_of_zero(judge):
    judged = judge({0: [0, 1, 2, 3]}, GRADED)
    assert mean("err_at_4", judged, max_grade=3) == pytest.approx(7 / 8 + 3 / 64 / 2 + 5 / 512 / 4)
    assert mean("err_at_4", judged, max_grade=3) == pytest.approx(0.90088, abs=5e-6)
    assert mean("err_at_2", judge({0: [9, 0]}, {0: {0: 1.0}}), max_grade=1) == pytest.approx(0.25)  # not 1 / rank


def test_err_with_a_logarithmic_discount(judge):
    """A stop at rank 3 is worth 1 / log2(4) = 1/2, where 1 / r is 1/3."""
    judged = judge({0: [8, 9, 0]}, {0: {0: 1.0}})
    assert mean("err_log", judged, max_grade=1) == pytest.approx(1 / 2 * 1 / 2)
    assert mean("err", judged, max_grade=1) == pytest.approx(1 / 2 * 1 / 3)
    judged = judge({0: [0, 1, 2, 3]}, GRADED)
    expected = 7 / 8 + 3 / 64 / math.log2(3) + 5 / 512 / math.log2(5)
    assert mean("err_log_at_4", judged, max_grade=3) == pytest.approx(expected)
    assert mean("err_log_at_4", judged, max_grade=3) == pytest.approx(0.90878, abs=5e-6)
    assert mean("err_log_at_1", judged, max_grade=3) == pytest.approx(7 / 8)


def test_the_cascade_is_the_chance_to_stop_within_the_cut(judge):
    judged = judge({0: [0, 1, 2, 3]}, GRADED)
    assert mean("cascade_at_1", judged, max_grade=3) == pytest.approx(7 / 8)
    assert mean("cascade_at_3", judged, max_grade=3) == pytest.approx(1 - 1 / 8 * 5 / 8)
    assert mean("cascade", judged, max_grade=3) == pytest.approx(1 - 1 / 8 * 5 / 8 * 7 / 8)


def test_probabilities_are_not_mapped_once_more(judge):
    """The chances of the graded list, given as grades, give its figures; every user with one counts, below 1 too."""
    graded = judge({0: [0, 1, 2, 3], 1: [2]}, {**GRADED, 1: {2: 1.0}})
    chances = judge({0: [0, 1, 2, 3], 1: [2]}, {0: {0: 7 / 8, 1: 3 / 8, 3: 1 / 8}, 1: {2: 1 / 8}}, ANY_GAIN)
    for figure in ("err", "err_log", "cascade"):
        of_chances = figure.replace("err", "err_prob") if "err" in figure else f"{figure}_prob"
        for k in (None, 2):
            expected = resolve(NamedMetric(figure, k), {"max_grade": 3})(graded)
            assert resolve(NamedMetric(of_chances, k))(chances) == pytest.approx(expected)


def test_probabilities_count_from_any_gain_unless_a_threshold_is_given():
    assert resolve("err_prob_at_5", {"rel_threshold": 1.0}).rel_threshold == ANY_GAIN
    assert resolve(recx.metric("err_prob", rel_threshold=0.2), {"rel_threshold": 1.0}).rel_threshold == 0.2
    assert resolve("err_at_5", {"rel_threshold": 1.0, "max_grade": 3}).rel_threshold == 1.0


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"figure": "err", "discount": "log"}, "err_log_at_10"),
        ({"figure": "err", "discount": "rank", "grades": "graded"}, "err_at_10"),
        ({"figure": "err", "grades": "probability"}, "err_prob_at_10"),
        ({"figure": "err", "grades": "probability", "discount": "log"}, "err_prob_log_at_10"),
        ({"figure": "cascade", "grades": "probability"}, "cascade_prob_at_10"),
    ],
)
def test_params_are_a_part_of_the_name(params, name):
    chosen = recx.metric(**params, k=10)
    assert chosen.name == name
    assert chosen == NamedMetric(name.removesuffix("_at_10"), 10)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"figure": "ndcg", "discount": "log"}, "the metric 'ndcg' has no discount: leave it out"),
        ({"figure": "cascade", "discount": "log"}, "the metric 'cascade' has no discount: leave it out"),
        ({"figure": "hit", "grades": "probability"}, "the metric 'hit' has no grades: leave it out"),
        ({"figure": "err", "discount": "lag"}, "metric.err.discount=lag: did you mean 'log'"),
        ({"figure": "err", "grades": "probability", "max_grade": 3}, "'err_prob' has no max_grade: leave it out"),
    ],
)
def test_a_wrong_param_is_refused(params, message):
    with pytest.raises(InputError, match=message):
        recx.metric(**params)


def test_a_grade_that_is_too_high_is_refused(judge):
    judged = judge({0: [0]}, {0: {0: 3.0}})
    for figure in ("err", "err_log", "cascade"):
        with pytest.raises(InputError, match=r"max_grade=2: a target has the grade 3"):
            resolve(figure, {"max_grade": 2})(judged)
    for figure in ("err_prob", "err_prob_log", "cascade_prob"):
        with pytest.raises(InputError, match=r"the grade 3, and err_prob and cascade_prob take grades as prob"):
            resolve(figure)(judged)


def textbook(figure, k, shown, grades):
    """One user's value in a plain loop over the ranks; a grade of 3 is the highest."""
    value, goes_on = 0.0, 1.0
    for rank, item in enumerate(shown[:k], start=1):
        gain = max(grades.get(item, 0), 0)
        stop = gain if "prob" in figure else (2**gain - 1) / 2**3
        worth = 1 if "cascade" in figure else 1 / math.log2(rank + 1) if "log" in figure else 1 / rank
        value += goes_on * stop * worth
        goes_on *= 1 - stop
    return value


ITEMS = st.lists(st.integers(0, 11), unique=True, max_size=12)


WORLDS = {
    highest: st.dictionaries(
        st.integers(0, 9),
        st.tuples(st.none() | ITEMS, st.dictionaries(st.integers(0, 11), st.sampled_from(grades), max_size=6)),
        min_size=1,
        max_size=6,
    )
    for highest, grades in ((1, [-1.0, 0.0, 0.25, 0.5, 1.0]), (3, [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]))
}


@pytest.mark.parametrize("highest", [1, 3])
@given(data=st.data(), k=st.none() | st.integers(1, 15))
def test_every_figure_equals_the_textbook_loop(judge, highest, data, k):
    """Empty and missing lists, users without a target, k beyond the list, graded and negative weights."""
    world = data.draw(WORLDS[highest])
    shown = {user: items for user, (items, _) in world.items() if items is not None}
    grades = {user: grades for user, (_, grades) in world.items()}
    users = sorted(user for user in grades if any(grade > 0 for grade in grades[user].values()))
    assume(any(user in shown for user in users))
    judged = judge(shown, grades, ANY_GAIN)
    for figure in (figure for figure in FIGURES if (figure in OF_PROBABILITIES) == (highest == 1)):
        cut, longer = (
            resolve(NamedMetric(figure, cut, rel_threshold=ANY_GAIN), {"max_grade": 3})(judged)
            for cut in (k, None if k is None else k + 1)
        )
        assert cut == pytest.approx([textbook(figure, k, shown.get(user, []), grades[user]) for user in users])
        assert ((cut >= 0) & (cut <= longer) & (longer <= 1 + 1e-12)).all()


def test_no_users_give_no_values(judge):
    empty = among_retrieved(judge({0: [1]}, {0: {2: 1.0}}), judge({0: [1]}, {0: {2: 1.0}}))
    for figure in FIGURES:
        assert resolve(NamedMetric(figure, 5), {"max_grade": 3})(empty).shape == (0,)
