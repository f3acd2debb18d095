"""Willingness to abstain: by hand, and its meeting the curve of risk against coverage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists, Requests
from recx.evaluation.ground_truth import GroundTruth
from recx.evaluation.metrics.answering import answered, risk_coverage
from recx.parts.reranker.abstain import Abstain
from recx.testing import check_ranker, tiny_world

NOTHING = 2


def flagged(history: Interactions) -> Interactions:
    column = (np.arange(history.n_items) == NOTHING).astype(np.float32)
    return replace(history, items=replace(history.items, table={**history.items.table, "is_abstain": column}))


def test_it_keeps_the_promises_of_a_ranker() -> None:
    check_ranker(Abstain(0.5), flagged(tiny_world()))


def lists_of(score: np.ndarray) -> RankedLists:
    """Return lists of the items 0 and NOTHING with these scores [n_lists], and 0 of the latter."""
    n = len(score)
    item = np.tile(np.array([0, NOTHING], np.int32), n)
    lists = RankedLists(np.arange(n, dtype=np.int32), indptr_of(np.full(n, 2)), item, np.zeros(2 * n))
    return lists.reorder(np.stack([score, np.zeros(n)], axis=1).ravel())


@pytest.mark.parametrize(
    ("confidence", "first"), [(0, [0, 0, NOTHING]), (0.5, [0, NOTHING, NOTHING]), (9, [NOTHING] * 3), (-2, [0, 0, 0])]
)
def test_an_answer_must_be_so_much_above_none(confidence: float, first: list[int]) -> None:
    history = flagged(tiny_world())
    lists = lists_of(np.array([0.75, 0.25, -1.0]))
    found = Abstain(confidence).rank(lists, history, Requests(lists.user))
    assert found.item[found.indptr[:-1]].tolist() == first


def test_a_threshold_of_the_curve_gives_its_coverage_and_leaves_the_curve() -> None:
    rng = np.random.default_rng(0)
    users, items = Entities(np.arange(40)), Entities(np.arange(4))
    none = Interactions(np.zeros(41, np.int64), np.zeros(0, np.int32), None, np.zeros(0, np.float32), users, items)
    history, lists = flagged(none), lists_of(rng.normal(size=40))
    wanted = rng.choice([0, NOTHING], size=40)
    truth = GroundTruth.of_pairs(lists.user, wanted.astype(np.int32), np.ones(40, np.float32), history)
    curve = risk_coverage(truth.match(lists))
    for confidence, coverage in zip(curve["confidence"][::7], curve["coverage"][::7], strict=True):
        moved = truth.match(Abstain(confidence - 1e-6).rank(lists, history, Requests(lists.user)))
        assert answered(moved, None).mean() == pytest.approx(coverage)
        assert risk_coverage(moved)["risk"] == pytest.approx(curve["risk"])


def test_data_without_such_an_item_is_refused() -> None:
    lists = lists_of(np.zeros(1))
    with pytest.raises(InputError, match="reranker=abstain moves the item that stands for no answer, and the data has"):
        Abstain().rank(lists, tiny_world(), Requests(lists.user))
