"""NDCG of training examples in a ranker's order, by hand and as the evaluator computes it."""

from __future__ import annotations

import numpy as np
import pytest

from recx.evaluation.ground_truth import ANY_GAIN, GroundTruth
from recx.evaluation.metrics.ranking import ndcg
from recx.parts.shared.training_examples import Examples
from recx.testing import last_out, some_candidates, tiny_world


def test_ndcg_by_hand() -> None:
    fold = last_out(tiny_world())
    examples = Examples.of(some_candidates(fold), fold)
    wide = np.array([int(examples.lists.lengths.argmax())])
    lists = examples.lists.take(wide)
    gain = np.zeros(len(lists))
    gain[[1, 3]] = 2, 1
    one = Examples(lists, gain, examples.requests[wide], {})
    score = -np.arange(len(gain), dtype=np.float32)
    ideal = 2 + 1 / np.log2(3)
    assert one.ndcg(lists.reorder(score)) == pytest.approx((2 / np.log2(3) + 1 / np.log2(5)) / ideal)
    assert one.ndcg(lists.reorder(score), 2) == pytest.approx(2 / np.log2(3) / ideal)
    assert one.ndcg(lists.reorder(gain)) == pytest.approx(1)


def test_ndcg_is_the_evaluators_where_all_targets_were_retrieved() -> None:
    fold = last_out(tiny_world())
    examples = Examples.of(some_candidates(fold), fold)
    ranked = examples.lists.reorder(np.random.default_rng(0).random(len(examples.lists)))
    judged = GroundTruth.of(fold, ANY_GAIN).judge(ranked)
    there = np.isin(judged.lists.user, ranked.user)
    assert 1 < there.sum() == len(examples)
    assert examples.ndcg(ranked) == pytest.approx(ndcg(judged, 10)[there].mean())
