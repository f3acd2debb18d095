"""RP3beta against matrix products of the paper's probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions, Requests
from recx.parts.retriever.rp3beta import RP3Beta

Drawn = Callable[..., Interactions]


def test_two_users_by_hand(drawn: Drawn, shown: Callable) -> None:
    # Users click {0, 1}, {0, 1, 2}, {2}. From 0 (2 users) to 1 (2 users): (1/2 * 1/2 + 1/2 * 1/3) / 2 = 5/24;
    # from 0 to 2 (2 users): (1/2 * 1/3) / 2 = 1/12; from 2 to 0 and to 1: (1/2 * 1/3) / 2 = 1/12.
    world = drawn([[(0, 0), (1, 0)], [(0, 0), (1, 0), (2, 0)], [(2, 0)]], 4, times=False)
    fitted = RP3Beta(beta=1.0).fit(world)
    table = np.array([[0, 5 / 24, 1 / 12, 0], [5 / 24, 0, 1 / 12, 0], [1 / 12, 1 / 12, 0, 0], [0, 0, 0, 0]])
    assert fitted.weights.toarray() == pytest.approx(table)
    lists = fitted.retrieve(world, Requests(np.array([0, 2], dtype=np.int32)), 5)
    assert shown(lists) == [[2], [0, 1]]
    assert lists.score.tolist() == pytest.approx([1 / 6, 1 / 12, 1 / 12])


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.6), (0.7, 0.0), (1.6, 0.3)])
def test_the_weights_are_products_of_probabilities(drawn: Drawn, alpha: float, beta: float) -> None:
    rng = np.random.default_rng(0)
    clicked = [rng.integers(0, 90, rng.integers(1, 20)) for _ in range(70)]
    world = drawn([[(int(item), 0) for item in items] for items in clicked], 90, times=False)
    matrix = np.zeros((70, 90))
    for user, items in enumerate(clicked):
        matrix[user, items] = 1  # an item clicked twice counts once
    to_item = (matrix / matrix.sum(axis=1, keepdims=True)) ** alpha
    to_user = np.where(matrix.T > 0, (1 / np.maximum(matrix.sum(axis=0), 1))[:, None] ** alpha, 0)
    expected = to_user @ to_item / np.maximum(matrix.sum(axis=0), 1) ** beta
    np.fill_diagonal(expected, 0)
    fitted = RP3Beta(neighbours=90, alpha=alpha, beta=beta).fit(world)
    assert fitted.weights.toarray() == pytest.approx(expected, rel=1e-5)
    few = RP3Beta(neighbours=3, alpha=alpha, beta=beta).fit(world).weights.toarray()
    assert ((few > 0).sum(axis=1) <= 3).all()
    assert few.max(axis=1) == pytest.approx(expected.max(axis=1), rel=1e-5)
    assert few[few > 0] == pytest.approx(expected[few > 0], rel=1e-5)


def test_without_any_click_nothing_is_retrieved(drawn: Drawn, shown: Callable) -> None:
    world = drawn([[], []], 3, times=False)
    assert shown(RP3Beta().fit(world).retrieve(world, Requests(np.array([0, 1], dtype=np.int32)), 2)) == [[], []]


@pytest.mark.parametrize(("key", "value"), [("alpha", -1.0), ("beta", float("nan")), ("neighbours", 0)])
def test_bad_settings_are_refused(key: str, value: float) -> None:
    with pytest.raises(InputError, match=f"retriever.{key}="):
        RP3Beta(**{key: value})
