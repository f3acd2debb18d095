"""Popular items further down, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.reranker.popularity import Popularity

H = 3_600_000  # ms


def clicks(users: Sequence[Sequence[tuple[int, int]]]) -> Interactions:
    """Return the clicks of users on three items: item and time, oldest first."""
    flat = [click for user in users for click in user]
    return Interactions(
        indptr=indptr_of(np.array([len(user) for user in users])),
        item=np.array([item for item, _ in flat], dtype=np.int32),
        time=np.array([time for _, time in flat], dtype=np.int64),
        weight=np.ones(len(flat), dtype=np.float32),
        users=Entities(np.arange(len(users))),
        items=Entities(np.arange(3)),
    )


def test_clicks_before_the_request_weigh_against_the_score() -> None:
    # By hour 2, item 0 has three clicks and item 1 one; later clicks on item 2 do not count.
    world = clicks([[(0, 0), (0, H)], [(0, 0), (1, 0)], [(2, 2 * H), (2, 3 * H)]])
    shown = RankedLists(
        np.zeros(1, np.int32), np.array([0, 3]), np.arange(3, dtype=np.int32), np.array([9.0, 5.0, 1.0])
    )
    requests = Requests(shown.user, np.array([2 * H]))
    found = Popularity(0.4).rank(shown, world, requests)
    assert found.item.tolist() == [0, 1, 2]
    assert found.score.tolist() == pytest.approx([0.6 - 0.4, 0.3 - 0.4 * np.log(2) / np.log(4), 0])
    assert Popularity(0.5).rank(shown, world, requests).item.tolist() == [0, 1, 2]
    assert Popularity(0.7).rank(shown, world, requests).item.tolist() == [2, 1, 0]
    assert Popularity(0.0).rank(shown, world, requests).item.tolist() == [0, 1, 2]


def test_equal_scores_are_equally_relevant() -> None:
    world = replace(clicks([[(0, 0), (1, 0)], [(0, 0)]]), time=None)
    shown = RankedLists(np.zeros(1, np.int32), np.array([0, 3]), np.arange(3, dtype=np.int32), np.zeros(3, np.float32))
    assert Popularity().rank(shown, world, Requests(shown.user)).item.tolist() == [2, 1, 0]


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_a_penalty_is_a_share(value: float) -> None:
    with pytest.raises(InputError, match=r"reranker\.penalty="):
        Popularity(value)
