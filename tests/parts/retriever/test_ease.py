from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions, Requests
from recx.parts.retriever import ease
from recx.parts.retriever.ease import EASE


def test_the_weights_are_those_of_the_inverse(drawn: Callable[..., Interactions]) -> None:
    rng = np.random.default_rng(0)
    clicked = [rng.integers(0, 700, 30) for _ in range(60)]
    world = drawn([[(int(item), 0) for item in items] for items in clicked], 700, times=False)
    fitted = EASE(l2=3.0).fit(world)
    known = np.unique(np.concatenate(clicked))
    matrix = np.zeros((60, 700))
    for user, items in enumerate(clicked):
        matrix[user, items] = 1  # an item clicked twice counts once
    matrix = matrix[:, known]
    inverse = np.linalg.inv(matrix.T @ matrix + 3 * np.eye(len(known)))
    expected = -inverse / np.diag(inverse)
    np.fill_diagonal(expected, 0)
    assert len(known) > 512  # more than one block of the mirrored triangle
    assert fitted.known.tolist() == known.tolist()
    assert np.abs(fitted.weights - expected).max() < 1e-5


def test_two_items_by_hand(drawn: Callable[..., Interactions], shown: Callable) -> None:
    # Users click {0, 1}, {0, 1}, {0}: X'X + I = [[4, 2], [2, 3]], its inverse [[3, -2], [-2, 4]] / 8.
    world = drawn([[(0, 0), (1, 0)], [(0, 0), (1, 0)], [(0, 0)]], 4, times=False)
    fitted = EASE(l2=1.0).fit(world)
    assert fitted.weights == pytest.approx(np.array([[0, 2 / 4], [2 / 3, 0]]))
    lists = fitted.retrieve(world, Requests(np.array([0, 2], dtype=np.int32)), 5)
    assert shown(lists) == [[], [1]]
    assert lists.score.tolist() == pytest.approx([0.5])
    kept = EASE(l2=1.0, seen="keep").fit(world).retrieve(world, Requests(np.array([0], dtype=np.int32)), 5)
    assert (shown(kept), kept.score.tolist()) == ([[0, 1]], pytest.approx([2 / 3, 0.5]))


def test_without_any_click_nothing_is_retrieved(drawn: Callable[..., Interactions], shown: Callable) -> None:
    world = drawn([[], []], 3, times=False)
    assert shown(EASE().fit(world).retrieve(world, Requests(np.array([0, 1], dtype=np.int32)), 2)) == [[], []]


def test_too_many_items_are_refused_before_memory_is_taken(drawn: Callable[..., Interactions]) -> None:
    with pytest.raises(InputError, match=r"3 x 3 items .* raise retriever\.max_items"):
        EASE(max_items=2).fit(drawn([[(0, 0), (1, 0), (5, 0)]], 9, times=False))


@pytest.mark.parametrize(("key", "value"), [("l2", 0.0), ("l2", float("nan")), ("max_items", 0)])
def test_bad_settings_are_refused(key: str, value: float) -> None:
    with pytest.raises(InputError, match=f"retriever.{key}="):
        EASE(**{key: value})


def test_a_matrix_that_cannot_be_inverted_says_what_to_change() -> None:
    with pytest.raises(ease.RecxError, match=r"raise retriever\.l2"):
        ease._weights(np.asfortranarray(-np.eye(2, dtype=np.float32)))
