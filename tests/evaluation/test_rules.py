"""Rules are compared where they concern figures that both runs have, and only there."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.evaluation import Evaluation
from recx.evaluation.metrics import registry
from recx.evaluation.rules import OF_FIGURES, differing
from recx.evaluation.warnings import differing_cards

UNIFORM = {"sampled": "drawn for each request (uniform, seed 0)"}
POPULAR = {"sampled": "drawn for each request (popularity, seed 0)"}
FULL, SAMPLED = "end_to_end/hit_at_5", "end_to_end/hit_at_5_sampled_100"


@pytest.mark.parametrize(
    ("ours", "theirs", "figures", "differ"),
    [
        ({}, UNIFORM, [FULL], []),
        (UNIFORM, {}, [FULL, "ranking/users"], []),
        (UNIFORM, POPULAR, [FULL], []),
        (UNIFORM, POPULAR, [FULL, SAMPLED], ["sampled"]),
        (UNIFORM, UNIFORM, [FULL, SAMPLED], []),
        ({"evaluator": {"max_grade": None}}, {"evaluator": {"max_grade": 3.0}}, [FULL], []),
        (
            {"evaluator": {"max_grade": 2.0}},
            {"evaluator": {"max_grade": 3.0}},
            ["ranking/err_at_5"],
            ["evaluator.max_grade"],
        ),
        ({"max_grade": 2.0}, {"max_grade": 3.0}, ["ndcg", "cascade_at_3"], ["max_grade"]),
        ({"threshold": 0.5}, {"threshold": 0.4}, ["ndcg", "auc"], []),
        ({"threshold": 0.5}, {"threshold": 0.4}, ["ndcg", "class_f2"], ["threshold"]),
        ({"threshold": 0.5}, {"threshold": 0.4}, ["a_metric_of_mine"], ["threshold"]),
        ({"metrics": {"f_at_5": {"beta": 2}}}, {"metrics": {"f_at_5": {}}}, ["ndcg"], []),
        (
            {"metrics": {"f_at_5": {"beta": 2}}},
            {"metrics": {"f_at_5": {"beta": 3}}},
            ["f_at_5"],
            ["metrics.f_at_5.beta"],
        ),
        ({"seen": "drop"}, {"seen": "keep"}, [], ["seen"]),
        ({"split": {"n": 1}}, {}, [FULL], ["split.n"]),
    ],
)
def test_rules_are_compared_where_they_matter(ours, theirs, figures, differ):
    assert list(differing(ours, theirs, figures)) == differ
    assert list(differing(theirs, ours, figures)) == differ


@pytest.mark.parametrize("param", ["max_grade", "threshold"])
def test_every_figure_that_takes_a_setting_is_known_to(param):
    needing = {figure for figure in registry.FIGURES if param in registry._params(figure)}
    assert needing == {figure for figure in registry.FIGURES if re.fullmatch(OF_FIGURES[param], figure)}


def test_more_metrics_are_no_other_rules():
    lists = pd.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "score": [2, 1, 1, 2]})
    truth = pd.DataFrame({"user": [1, 2], "item": [1, 1]})
    few, more = (recx.evaluate(lists, truth, names) for names in (["ndcg"], ["ndcg", "hit_at_1"]))
    assert list(differing_cards([few, more])) == []
    mine = [recx.metric("hit", k=1, rel_threshold=at, label="mine") for at in (2.0, 3.0)]
    apart = list(differing_cards([recx.evaluate(lists, truth, ["ndcg", one]) for one in mine]))
    assert apart[1] == "metrics.mine.rel_threshold: 2.0 vs 3.0"


def test_a_run_with_sampled_metrics_besides_is_compared_without_a_word():
    values = {FULL: np.array([0.0, 1.0, 1.0])}
    full = Evaluation(np.arange(3), values, name="full", rules={"seen": "drop"})
    both = Evaluation(np.arange(3), {**values, SAMPLED: np.ones(3)}, name="both", rules={"seen": "drop", **UNIFORM})
    other = Evaluation(np.arange(3), {**values, SAMPLED: np.ones(3)}, name="other", rules={"seen": "drop", **POPULAR})
    assert not any("protocol cards" in sentence for sentence in recx.compare(full, both).warnings)
    assert recx.compare(both, other).warnings[0].startswith("the protocol cards of both and other differ")
