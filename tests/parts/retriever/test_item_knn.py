from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.retriever.item_knn import ItemKNN

H = 3_600_000  # ms


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    """Five clicks: user 0 goes 0, 1, 2 in an hour each, user 1 goes 0, 2 in two hours; user 2 has none."""
    return drawn([[(0, 0), (1, H), (2, 2 * H)], [(0, 0), (2, 2 * H)], []], 4)


PLAIN = {"position_decay": 0.5, "backward": 0.25, "normalise": "none"}
# One place apart: 0 to 1, 1 to 2 and 0 to 2 (user 1). Two places: 0 to 2 (user 0) at 0.5.
COUNTS = np.array([[0, 1, 1.5, 0], [0.25, 0, 1, 0], [0.375, 0.25, 0, 0], [0, 0, 0, 0]])


def test_co_clicks_by_hand(world: Interactions) -> None:
    assert ItemKNN(**PLAIN).fit(world).similarity.toarray() == pytest.approx(COUNTS)


def test_a_wide_gap_in_time_counts_less(world: Interactions) -> None:
    counts = ItemKNN(**PLAIN, half_life="1h").fit(world).similarity.toarray()
    # Gaps: one hour for 0 to 1 and 1 to 2, two for both of 0 to 2.
    assert counts[0] == pytest.approx([0, 0.5, 1.5 / 4, 0])
    assert counts[2] == pytest.approx([0.375 / 4, 0.125, 0, 0])


@pytest.mark.parametrize(("normalise", "power"), [("cosine", 0.5), ("lift", 1.0)])
def test_both_items_clicks_divide(world: Interactions, normalise: str, power: float) -> None:
    settings = {**PLAIN, "normalise": normalise, "shrink": 2.0}
    clicks = np.array([2, 1, 2, 1]) + 2.0  # the fourth item has none, and no neighbour either
    expected = COUNTS / np.outer(clicks, clicks) ** power
    assert ItemKNN(**settings).fit(world).similarity.toarray() == pytest.approx(expected, rel=1e-6)


def test_no_shrinking_is_allowed_where_an_item_has_no_click(world: Interactions) -> None:
    assert np.isfinite(ItemKNN(shrink=0.0).fit(world).similarity.data).all()


def test_only_the_nearest_neighbours_are_kept(world: Interactions) -> None:
    assert ItemKNN(**PLAIN, neighbours=1).fit(world).similarity.toarray() == pytest.approx(
        np.where(COUNTS.max(axis=1, keepdims=True) == COUNTS, COUNTS, 0)
    )


def test_only_pairs_so_many_places_apart_count(world: Interactions) -> None:
    assert ItemKNN(**PLAIN, distance=1).fit(world).similarity.toarray()[0] == pytest.approx([0, 1, 1, 0])


def test_an_item_clicked_twice_is_no_neighbour_of_itself(drawn: Callable[..., Interactions]) -> None:
    assert ItemKNN().fit(drawn([[(0, 1), (0, 2)]], 2)).similarity.nnz == 0


def test_the_last_clicks_ask_and_older_ones_count_less(
    world: Interactions, drawn: Callable[..., Interactions], asking: Callable, shown: Callable
) -> None:
    # User 0 now has a history that is longer than the one of the fit: first 1, then 0.
    longer = drawn([[(1, 0), (0, H)], [(1, 0)], []], 4)
    lists = ItemKNN(**PLAIN, recency=0.5).fit(world).retrieve(longer, asking(2 * H, H, H), 2)
    assert shown(lists) == [[], [], []]  # at that moment nobody has clicked 2 in this history, and 0 not before H
    lists = ItemKNN(**PLAIN, recency=0.5, seen="keep").fit(world).retrieve(longer, asking(2 * H, 2 * H, H), 2)
    assert shown(lists) == [[1, 0], [0], []]
    assert lists.score.tolist() == pytest.approx([1, 0.5 * 0.25, 0.25])


def test_what_is_near_to_none_of_the_clicks_is_not_retrieved(
    world: Interactions, asking: Callable, shown: Callable
) -> None:
    assert shown(ItemKNN(**PLAIN).fit(world).retrieve(world, asking(3 * H, 3 * H, 3 * H), 4)) == [[], [1], []]


@pytest.mark.parametrize(
    ("key", "value"),
    [("neighbours", 0), ("distance", 0), ("last", 0), ("normalise", "pmi"), ("half_life", "1"), ("shrink", -1.0),
     ("backward", -0.1), ("recency", 0.0), ("recency", 1.1), ("position_decay", 0.0)],
)  # fmt: skip
def test_bad_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(InputError, match=f"retriever.{key}="):
        ItemKNN(**{key: value})
