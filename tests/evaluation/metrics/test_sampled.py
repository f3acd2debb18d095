"""Sampled metrics: by hand, corrections by hand and in simulation, and lists that are not sampled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recx
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.evaluation.metrics.registry import parse, resolve_all
from recx.evaluation.metrics.sampled import corrections, of_rank


@pytest.fixture(scope="session")
def world(judge):
    """Judge lists of the target 49 at a rank, and of three others, in a catalogue of 50 items or more."""

    def judged(ranks, n_items=50):
        shown = {user: [49 if place == rank else place for place in range(1, 5)] for user, rank in enumerate(ranks)}
        shown = {user: [] if rank is None else shown[user] for user, rank in enumerate(ranks)}
        found = judge(shown, {user: {49: 1.0} for user in shown})
        return replace(found, items=Entities(np.arange(n_items)))

    return judged


def test_the_figures_of_a_rank(world):
    judged = world([1, 2, 4, None])
    assert parse("hit_at_2_sampled_3")(judged).tolist() == [1, 1, 0, 0]
    assert parse("recall_at_2_sampled_3")(judged).tolist() == [1, 1, 0, 0]
    assert parse("ndcg_at_2_sampled_3")(judged) == pytest.approx([1, 1 / np.log2(3), 0, 0])
    assert parse("mrr_sampled_3")(judged) == pytest.approx([1, 1 / 2, 1 / 4, 0])
    for name in ("hit_at_2", "ndcg_at_2", "mrr"):
        assert parse(f"{name}_sampled_3")(judged) == pytest.approx(parse(name)(judged))


def test_a_correction_by_hand():
    """Of 3 items, one is sampled: ranks 1, 2, 3 give the sampled rank 2 with the chance 0, 1/2, 1.

    AᵀA = [[1.25, .25], [.25, 1.25]], c = (1.5, 1.5), so that 0.9 AᵀA + 0.1 diag(c) = [[1.275, .225], [.225, 1.275]].
    hit_at_1: Aᵀb = (1, 0), the solution (1.275, -.225) / (1.275² - .225²) = (17/21, -1/7).
    """
    assert corrections("hit", 1, 1, 3) == pytest.approx([17 / 21, -1 / 7])
    assert corrections("hit", 1, 1, 2) == pytest.approx([1, 0])  # the one other item is always sampled


def test_the_correction_stands_beside(world):
    metrics = resolve_all(["hit_at_2_sampled_3", "mrr"], {}, "metrics")
    assert [metric.name for metric in metrics] == ["hit_at_2_sampled_3", "hit_at_2_sampled_3_corrected", "mrr"]
    judged = world([1, 4, None])
    table = corrections("hit", 2, 3, 50)
    assert metrics[1](judged) == pytest.approx([table[0], table[3], 0])


@pytest.mark.parametrize(("figure", "k"), [("hit", 10), ("ndcg", 10), ("mrr", None)])
def test_the_correction_is_nearer_to_the_figure_over_all_items(figure, k):
    """20,000 users, 1,000 items of which 100 are sampled: two systems, whose targets have ranks of two shapes."""
    rng = np.random.default_rng(0)
    table = corrections(figure, k, 100, 1000)
    for shape in (0.3, 0.6):
        rank = 1 + (999 * rng.beta(shape, 1.5, 20_000)).astype(int)
        sampled = 1 + rng.binomial(100, (rank - 1) / 999)
        true, plain = of_rank(figure, k, rank).mean(), of_rank(figure, k, sampled).mean()
        assert abs(table[sampled - 1].mean() - true) < 0.5 * abs(plain - true)


@given(n_sampled=st.integers(1, 12), extra=st.integers(1, 40), k=st.none() | st.integers(1, 8))
def test_corrections_fall_with_the_rank_and_are_exact_where_nothing_depends_on_it(n_sampled, extra, k):
    n_items = n_sampled + extra
    assert corrections("hit", None, n_sampled, n_items) == pytest.approx(np.ones(n_sampled + 1))
    found = corrections("ndcg", k, n_sampled, n_items)
    assert found.shape == (n_sampled + 1,)
    assert found[0] == found.max()


def test_through_the_door():
    """From tables: 30 users with a target and two sampled items each of a catalogue of 100."""
    rng = np.random.default_rng(0)
    rows = [
        (user, item, -place)
        for user in range(30)
        for place, item in enumerate(rng.permutation([0, 1 + user, 50 + user]))
    ]
    lists = pd.DataFrame(rows, columns=["user", "item", "score"])
    truth = pd.DataFrame({"user": range(30), "item": [1 + user for user in range(30)]})
    items = pd.DataFrame({"item": range(100)})
    found = recx.evaluate(lists, truth, ["hit_at_1_sampled_2"], items=items)
    assert list(found.values) == ["hit_at_1_sampled_2", "hit_at_1_sampled_2_corrected"]
    assert found.means["hit_at_1_sampled_2_corrected"] < found.means["hit_at_1_sampled_2"]
    other = recx.evaluate(lists, truth, ["hit_at_1"], items=items)
    with pytest.raises(InputError, match="a metric over sampled items is never compared"):
        recx.compare(found, other, ["hit_at_1"])


def test_what_is_no_sampled_list_is_said(world, judge):
    with pytest.raises(InputError, match=r"of the target and 9 sampled items, and 1 of 2 lists are not such lists"):
        parse("hit_at_2_sampled_9")(world([1, None]))
    with pytest.raises(InputError, match="1 of 1 lists are not such lists"):
        parse("hit_at_2_sampled_3")(judge({0: [1, 2, 3, 4]}, {0: {49: 1.0}}))  # without the target
    with pytest.raises(InputError, match="one target a user, and 1 users have more"):
        parse("hit_at_2_sampled_1")(judge({0: [1, 2]}, {0: {1: 1.0, 2: 1.0}}))
    with pytest.raises(InputError, match="only hit, recall, ndcg, mrr can be sampled"):
        parse("map_at_5_sampled_99")
    with pytest.raises(InputError, match="corrects for a catalogue, which has 3 items"):
        parse("hit_at_2_sampled_3_corrected")(world([1], n_items=3))
    with pytest.raises(InputError, match="1,000 sampled items at most"):
        parse("hit_at_2_sampled_9999_corrected")
    assert [metric.name for metric in resolve_all(["mrr_sampled_9999"], {}, "metrics")] == ["mrr_sampled_9999"]
