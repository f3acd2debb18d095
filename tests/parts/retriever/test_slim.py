"""SLIM against scikit-learn's elastic net and by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet

from recx.core.errors import InputError
from recx.core.types import Interactions, Requests
from recx.parts.retriever.slim import SLIM

Drawn = Callable[..., Interactions]


def test_two_items_by_hand(drawn: Drawn, shown: Callable) -> None:
    # Users click {0, 1}, {0, 1}, {0}: 2 users in common, so that the weight from 0 to 1 is (2 - l1) / (3 + l2), which
    # is 1.5 / 4, and that from 1 to 0 is 1.5 / 3.
    world = drawn([[(0, 0), (1, 0)], [(0, 0), (1, 0)], [(0, 0)]], 4, times=False)
    fitted = SLIM(l1=0.5, l2=1.0).fit(world)
    assert fitted.weights.toarray()[:2, :2] == pytest.approx(np.array([[0, 1.5 / 4], [1.5 / 3, 0]]))
    lists = fitted.retrieve(world, Requests(np.array([0, 2], dtype=np.int32)), 5)
    assert shown(lists) == [[], [1]]
    assert lists.score.tolist() == pytest.approx([1.5 / 4])


@pytest.mark.parametrize(("l1", "l2"), [(0.5, 1.0), (2.0, 0.1), (0.01, 5.0)])
def test_the_weights_are_those_of_an_elastic_net(drawn: Drawn, l1: float, l2: float) -> None:
    rng = np.random.default_rng(2)
    clicked = [rng.zipf(1.3, rng.integers(2, 25)) % 50 for _ in range(120)]
    world = drawn([[(int(item), 0) for item in items] for items in clicked], 50, times=False)
    matrix = np.zeros((120, 50))
    for user, items in enumerate(clicked):
        matrix[user, items] = 1  # an item clicked twice counts once
    net = ElasticNet(
        alpha=(l1 + l2) / 120, l1_ratio=l1 / (l1 + l2), positive=True, fit_intercept=False, tol=1e-12, max_iter=100_000
    )
    expected = np.zeros((50, 50))
    for item in range(50):
        others = matrix.copy()
        others[:, item] = 0
        expected[:, item] = net.fit(others, matrix[:, item]).coef_
    found = SLIM(l1=l1, l2=l2, iterations=10_000, tolerance=1e-10).fit(world).weights.toarray()
    assert (found > 0).sum() > 100
    assert np.abs(found - expected).max() < 1e-5
    assert np.diag(found).max() == 0


def test_a_larger_l1_leaves_fewer_weights(drawn: Drawn) -> None:
    rng = np.random.default_rng(3)
    world = drawn([[(int(item), 0) for item in rng.integers(0, 20, 8)] for _ in range(60)], 20, times=False)
    counts = [SLIM(l1=l1).fit(world).weights.nnz for l1 in (0.0, 2.0, 8.0, 100.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[2] > counts[3] == 0


def test_without_any_click_nothing_is_retrieved(drawn: Drawn, shown: Callable) -> None:
    world = drawn([[], []], 3, times=False)
    assert shown(SLIM().fit(world).retrieve(world, Requests(np.array([0, 1], dtype=np.int32)), 2)) == [[], []]


def test_too_many_pairs_are_refused_before_memory_is_taken(drawn: Drawn) -> None:
    with pytest.raises(InputError, match=r"clicks in common of 9 pairs of items: raise retriever\.max_pairs"):
        SLIM(max_pairs=8).fit(drawn([[(0, 0), (1, 0), (5, 0)]], 9, times=False))


@pytest.mark.parametrize(
    ("key", "value"), [("l1", -1.0), ("l2", float("nan")), ("iterations", 0), ("tolerance", 0.0), ("max_pairs", 0)]
)
def test_bad_settings_are_refused(key: str, value: float) -> None:
    with pytest.raises(InputError, match=f"retriever.{key}="):
        SLIM(**{key: value})
