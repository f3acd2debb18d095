"""The figures: worked examples, corner cases, and equality with a slow textbook loop (law 7)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recx.evaluation.ground_truth import among_retrieved
from recx.evaluation.metrics.ranking import FIGURES, means_by_cut, ndcg, recall
from recx.evaluation.metrics.registry import NamedMetric, parse, resolve


def mean(name, judged):
    return float(resolve(name)(judged).mean())


def ranks_to_world(ranks):
    """One target per user, item 49, at the given rank (None: not shown) of a list of five."""
    shown = {u: [49 if r == rank else r for r in range(1, 6)] for u, rank in enumerate(ranks)}
    return shown, {u: {49: 1.0} for u in shown}


@pytest.mark.parametrize(
    ("ranks", "top_1", "top_3", "mrr"),
    [([1, 2, 1, 3, 1], 0.6, 1.0, 0.76667), ([2, 4, 3, 1, 3], 0.2, 0.8, 0.48333)],
)
def test_five_queries(judge, ranks, top_1, top_3, mrr):
    judged = judge(*ranks_to_world(ranks))
    assert mean("hit_at_1", judged) == pytest.approx(top_1)
    assert mean("hit_at_3", judged) == pytest.approx(top_3)
    assert mean("mrr", judged) == pytest.approx(mrr, abs=5e-6)


def test_mrr_counts_users_without_a_hit(judge):
    assert mean("mrr_at_5", judge(*ranks_to_world([1, 2, 5, None]))) == pytest.approx(0.425)
    assert mean("mrr_at_5", judge(*ranks_to_world([1, 2, 5]))) == pytest.approx(0.56667, abs=5e-6)


def test_mrr_takes_the_first_target_by_rank_and_stops_at_the_cut(judge):
    judged = judge({0: [7, 3, 5], 1: [1, 2, 9]}, {0: {5: 1, 3: 1}, 1: {9: 1}})
    assert parse("mrr")(judged) == pytest.approx([1 / 2, 1 / 3])
    assert parse("mrr_at_2")(judged) == pytest.approx([1 / 2, 0])


def test_recall_and_precision_of_ten_targets(judge):
    targets = dict.fromkeys(range(10), 1.0)
    judged = judge({0: [0, 20, 1, 21, 22, 2, 23, 3, 24, 25], 1: [0, 1, 2, 20, 21]}, {0: targets, 1: targets})
    assert parse("recall_at_5")(judged)[0] == pytest.approx(0.2)
    assert parse("recall_at_10")(judged)[0] == pytest.approx(0.4)  # of all targets, not capped by k or by hits
    assert parse("precision_at_5")(judged) == pytest.approx([0.4, 0.6])
    assert parse("precision_at_10")(judged) == pytest.approx([0.4, 0.3])  # / 10, though the second list has 5
    assert parse("precision")(judged) == pytest.approx([0.4, 0.6])


def test_capped_recall_of_few_and_of_many_targets(judge):
    """3 of 10 targets in the first 5: 3 / min(5, 10); 1 of 2 targets in the first 5: 1 / min(5, 2)."""
    many = dict.fromkeys(range(10), 1.0)
    judged = judge({0: [0, 20, 1, 21, 2], 1: [0, 20, 21, 22, 23]}, {0: many, 1: {0: 1.0, 1: 1.0}})
    assert parse("recall_capped_at_5")(judged) == pytest.approx([3 / 5, 1 / 2])
    assert parse("recall_capped_at_1")(judged) == pytest.approx([1.0, 1.0])  # recall_at_1 is 1/10 and 1/2
    assert parse("recall_capped")(judged) == pytest.approx([3 / 10, 1 / 2])  # uncut: recall


def test_hit_of_three_lists(judge):
    judged = judge({0: [1, 2, 5], 1: [1, 5, 6], 2: [3, 7, 9]}, {0: {2: 1}, 1: {3: 1, 4: 1}, 2: {4: 1, 7: 1}})
    assert mean("hit_at_3", judged) == pytest.approx(0.66667, abs=5e-6)
    assert mean("recall_at_3", judged) == pytest.approx(0.5)  # recall is another metric: (1 + 0 + 1/2) / 3


def test_graded_list(judge):
    grades = {0: dict(enumerate([3.0, 2, 3, 0, 1]))}
    best, worst = judge({0: [0, 1, 2, 3, 4]}, grades), judge({0: [3, 4, 1, 0, 2]}, grades)
    assert mean("dcg_exp_at_5", best) == pytest.approx(12.77964, abs=5e-6)
    assert mean("dcg_exp_at_5", judge({0: [0, 2, 1, 4, 3]}, grades)) == pytest.approx(13.34718, abs=5e-6)
    assert mean("ndcg_exp_at_5", best) == pytest.approx(0.95748, abs=5e-6)
    assert mean("ndcg_at_5", best) == pytest.approx(0.97236, abs=5e-6)
    assert mean("ndcg_exp_at_5", worst) == pytest.approx(0.58841, abs=5e-6)
    assert mean("ndcg_at_5", worst) == pytest.approx(0.64577, abs=5e-6)
    assert mean("cg_at_3", best) == 8.0
    assert mean("cg", best) == 9.0


def map_world():
    shown = {0: [1, 0, 0, 1, 0, 1], 1: [0, 1, 0, 0, 1, 0], 2: [1, 1, 0, 1, 0, 0]}
    grades = {u: {i: 1.0 for i, relevant in enumerate(row) if relevant} for u, row in shown.items()}
    return {u: list(range(6)) for u in shown}, grades


def test_average_precision(judge):
    shown, grades = map_world()
    judged = judge(shown, grades)
    assert parse("map_at_6")(judged) == pytest.approx([0.66667, 0.45, 0.91667], abs=5e-6)
    assert mean("map_at_6", judged) == pytest.approx(0.67778, abs=5e-6)
    grades[0] |= {40: 1.0, 41: 1.0}  # five relevant in all: an average over the hits would not notice
    assert parse("map_at_6")(judge(shown, grades))[0] == pytest.approx(0.4)
    assert mean("map_at_6", judge(shown, grades)) == pytest.approx(0.58889, abs=5e-6)


def test_map_and_map_trec_differ_where_there_are_more_targets_than_k(judge):
    judged = judge({0: [0, 1, 2]}, {0: dict.fromkeys(range(8), 1.0)})
    assert mean("map_at_3", judged) == 1.0
    assert mean("map_trec_at_3", judged) == pytest.approx(3 / 8)
    assert mean("map", judged) == mean("map_trec", judged) == pytest.approx(3 / 8)


def test_f_is_not_the_sum_of_weighted_parts(judge):
    judged = judge({0: [0, 1, 20, 21]}, {0: dict.fromkeys(range(8), 1.0)})  # P = 0.5, R = 0.25
    assert mean("f_at_4", judged) == pytest.approx(0.33333, abs=5e-6)
    assert mean("f2_at_4", judged) == pytest.approx(0.27778, abs=5e-6)  # not 0.20833
    assert mean("f05_at_4", judged) == pytest.approx(0.41667, abs=5e-6)  # not 0.83333


def test_graded_gains_of_a_short_list(judge):
    assert mean("dcg_exp_at_4", judge({0: [0, 1, 2, 3]}, {0: {0: 3.0, 1: 2.0, 3: 1.0}})) == pytest.approx(
        9.32347, abs=5e-6
    )


def test_single_hit_at_rank_2_is_discounted_by_log2_of_3(judge):
    assert mean("ndcg_at_3", judge({0: [8, 0, 9]}, {0: {0: 1.0}})) == pytest.approx(0.63093, abs=5e-6)  # not 0.79248


def test_a_perfect_short_list_scores_1(judge):
    judged = judge({0: [0, 1]}, {0: {0: 1.0, 1: 1.0}})
    assert [mean(f"{name}_at_20", judged) for name in ("ndcg", "ndcg_exp", "map", "recall")] == [1.0] * 4


def test_float_grades_are_kept(judge):
    grades = {0: {0: 0.9, 1: 0.5}}
    value = mean("ndcg_at_2", judge({0: [1, 0]}, grades, rel_threshold=0.1))
    assert value == pytest.approx((0.5 + 0.9 / math.log2(3)) / (0.9 + 0.5 / math.log2(3)))


def test_a_grade_equal_to_the_threshold_is_relevant_though_float32_is_a_little_less(judge):
    judged = judge({0: [0]}, {0: {0: 3.3}}, rel_threshold=3.3)
    assert [mean(name, judged) for name in ("hit", "recall", "map", "mrr")] == [1.0] * 4


def test_below_the_threshold_a_target_counts_in_graded_figures_alone(judge):
    judged = judge({0: [0, 1]}, {0: {0: 1.0, 1: 4.0}}, rel_threshold=2)
    assert mean("hit_at_1", judged) == 0
    assert mean("recall_at_2", judged) == 1
    assert mean("cg_at_1", judged) == 1


def textbook(figure, k, shown, grades, threshold):
    """One user's value in plain loops over the ranks."""
    gains = [max(grades.get(item, 0), 0) for item in shown]
    ideal = sorted((max(grade, 0) for grade in grades.values()), reverse=True)
    n_targets = sum(grade >= threshold for grade in ideal)
    cut = 10**6 if k is None else k
    biased = sum(0.2 * 0.8**place for place, gain in enumerate(gains[:cut]) if gain >= threshold)
    n_hits, precisions, first, discounted = 0, 0.0, 0.0, [0.0, 0.0, 0.0]
    for rank, gain in enumerate(gains[:cut], start=1):
        if gain >= threshold:
            n_hits += 1
            precisions += n_hits / rank
            first = first or 1 / rank
        for nth, worth in enumerate((gain, gain / math.log2(rank + 1), (2**gain - 1) / math.log2(rank + 1))):
            discounted[nth] += worth
    best = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(ideal[:cut], start=1))
    best_exp = sum((2**gain - 1) / math.log2(rank + 1) for rank, gain in enumerate(ideal[:cut], start=1))
    p = n_hits / (k or len(shown)) if shown else 0.0
    r = n_hits / n_targets
    return {
        "hit": float(n_hits > 0),
        "precision": p,
        "recall": r,
        "recall_capped": n_hits / min(cut, n_targets),
        "f": 2 * p * r / (p + r) if n_hits else 0.0,
        "f2": 5 * p * r / (4 * p + r) if n_hits else 0.0,
        "f05": 1.25 * p * r / (0.25 * p + r) if n_hits else 0.0,
        "cg": discounted[0],
        "dcg": discounted[1],
        "dcg_exp": discounted[2],
        "ndcg": discounted[1] / best,
        "ndcg_exp": discounted[2] / best_exp,
        "map": precisions / min(cut, n_targets),
        "map_trec": precisions / n_targets,
        "mrr": first,
        "rbp": biased,
    }[figure]


ONE_A_USER = [figure for figure in FIGURES if figure != "top_accuracy"]  # which is another name for hit
ITEMS = st.lists(st.integers(0, 11), unique=True, max_size=12)
GRADES = st.dictionaries(st.integers(0, 11), st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]), max_size=6)


@given(
    world=st.dictionaries(st.integers(0, 9), st.tuples(st.none() | ITEMS, GRADES), min_size=1, max_size=6),
    k=st.none() | st.integers(1, 15),
    threshold=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_every_figure_equals_the_textbook_loop(judge, world, k, threshold):
    """Empty and missing lists, users without a target, k beyond the list, graded and negative weights."""
    shown = {user: items for user, (items, _) in world.items() if items is not None}
    grades = {user: grades for user, (_, grades) in world.items()}
    users = sorted(user for user in grades if any(grade >= threshold for grade in grades[user].values()))
    assume(any(user in shown for user in users))

    judged = judge(shown, grades, threshold)

    assert judged.lists.user.tolist() == users
    for figure in ONE_A_USER:
        metric = NamedMetric(figure, k)
        expected = [textbook(figure, k, shown.get(user, []), grades[user], threshold) for user in users]
        assert metric(judged) == pytest.approx(expected, abs=1e-12), figure


@given(world=st.dictionaries(st.integers(0, 9), st.tuples(ITEMS, GRADES), min_size=1, max_size=6))
def test_no_normalised_figure_leaves_0_to_1_and_a_longer_cut_never_shows_less(judge, world):
    grades = {user: grades for user, (_, grades) in world.items()}
    assume(any(grade >= 1 for row in grades.values() for grade in row.values()))
    judged = judge({user: items for user, (items, _) in world.items()}, grades)
    for figure in ("hit", "recall", "precision", "f", "ndcg", "ndcg_exp", "map", "map_trec", "mrr"):
        values = np.array([NamedMetric(figure, k)(judged) for k in range(1, 16)])
        assert ((values >= 0) & (values <= 1 + 1e-12)).all(), figure
        if figure in ("hit", "recall", "mrr", "map_trec"):
            assert (np.diff(values, axis=0) >= 0).all(), figure
    for cuts in (np.arange(1, 16), np.array([1, 3, 11])):
        found = means_by_cut(judged, cuts).value
        assert found["recall"] == pytest.approx([recall(judged, k).mean() for k in cuts.tolist()], abs=1e-12)
        assert found["ndcg"] == pytest.approx([ndcg(judged, k).mean() for k in cuts.tolist()], abs=1e-12)


def test_means_by_cut(judge):
    judged = judge({0: [1, 2, 3], 1: [4, 5, 6]}, {0: {2: 1.0, 3: 2.0, 7: 1.0}, 1: {4: 1.0}})
    found = means_by_cut(judged, np.array([1, 2, 3])).value
    assert found["recall"] == pytest.approx([1 / 2, (1 / 3 + 1) / 2, (2 / 3 + 1) / 2])
    second, third = 1 / np.log2(3), 1 / np.log2(4)
    of_first = [0, second / (2 + second), (second + 2 * third) / (2 + second + third)]
    assert found["ndcg"] == pytest.approx([(value + 1) / 2 for value in of_first])


def test_no_users_give_no_values(judge):
    empty = among_retrieved(judge({0: [1]}, {0: {2: 1.0}}), judge({0: [1]}, {0: {2: 1.0}}))
    for figure in FIGURES:
        assert NamedMetric(figure, 5)(empty).shape == (0,)
