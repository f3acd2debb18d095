"""One spelling for a metric's name, and what a wrong one is told."""

from __future__ import annotations

import pytest

from recx.errors import InputError
from recx.evaluator.metric import NAMES, HitMetric, parse


@pytest.mark.parametrize("figure", NAMES)
@pytest.mark.parametrize("k", [None, 1, 10, 1000])
def test_a_name_comes_back_as_it_was_given(figure, k):
    name = HitMetric(figure, k, max_grade=4).name
    assert name == (figure if k is None else f"{figure}_at_{k}")
    assert parse(name, max_grade=4).name == name


@pytest.mark.parametrize(
    ("name", "near"),
    [("ndgc_at_10", "ndcg_at_10"), ("ndcg@10", "ndcg_at_10"), ("recal", "recall"), ("map_trek_at_5", "map_trec_at_5")],
)
def test_a_typo_is_told_the_near_match(name, near):
    with pytest.raises(InputError, match=f"there is no metric '{name}': did you mean '{near}'"):
        parse(name)


@pytest.mark.parametrize("k", ["0", "-1", "2.5", "ten", "", "010", "True", "1_0", "٣", "5_at_5"])
def test_k_is_a_whole_number_from_1_up(k):
    with pytest.raises(InputError, match="k must be a whole number from 1 up"):
        parse(f"hit_at_{k}")


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "5"])
def test_k_of_a_metric_made_in_python_is_checked_too(k):
    with pytest.raises(InputError, match="k must be a whole number from 1 up"):
        HitMetric("hit", k)


def test_err_needs_the_highest_grade():
    with pytest.raises(InputError, match=r"'err_at_5' needs the highest grade .* evaluator.max_grade"):
        parse("err_at_5")


def test_an_unknown_figure_is_refused():
    with pytest.raises(InputError, match="there is no metric 'precison': did you mean 'precision'"):
        HitMetric("precison")
