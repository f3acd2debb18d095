"""The groups of popular and less popular items as of each request: by hand, and by sorting anew at each moment."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Requests
from recx.parts.reranker.popularity_groups import popularity_bar, popularity_groups
from tests.parts.reranker.worlds import Event, history_of, random_world


def groups_by_sorting(events: list[Event], now: float, items: list[int], shares: tuple[float, ...]) -> list[int]:
    """Add up items, most popular first, until each share is reached; those as popular as the last one belong to it."""
    clicks = Counter(item for item, time in events if time < now)
    group = [len(shares)] * len(items)
    for number, share in reversed(list(enumerate(shares))):
        needed, reached, bar = math.ceil(share * clicks.total() - 1e-6), 0, math.inf
        for _, count in clicks.most_common():
            if reached >= needed:
                break
            reached, bar = reached + count, count
        for at, item in enumerate(items):
            if clicks[item] >= bar:
                group[at] = number
    return group


def test_groups_follow_the_clicks_before_the_request() -> None:
    # Items 0 to 3 have 4, 3, 2, 1 clicks by time 10: of these ten, the first has 40 %, the first two 70 %.
    events = [(item, time) for item, n in enumerate((4, 3, 2, 1)) for time in range(n)]
    world = history_of([events], 5)
    asked = np.arange(5, dtype=np.int32)

    def groups(now: int, *shares: float) -> list[int]:
        requests = Requests(np.zeros(1, np.int32), np.array([now]))
        return popularity_groups(world, requests, asked, np.array([0, 5]), *shares).tolist()

    assert groups(10, 0.4) == [0, 1, 1, 1, 1]
    assert groups(10, 0.41) == [0, 0, 1, 1, 1]
    assert groups(10, 0.2, 0.8) == [0, 1, 1, 2, 2]
    assert groups(1, 0.2, 0.8) == [0, 0, 0, 0, 2]  # each was clicked once: all are equally popular
    assert groups(0, 0.2, 0.8) == [2, 2, 2, 2, 2]  # nothing was clicked


@pytest.mark.parametrize("shares", [(0.8,), (0.2, 0.8), (0.07, 0.5, 0.93)], ids=["two", "three", "four"])
@pytest.mark.parametrize("seed", range(4))
def test_groups_are_those_of_sorting_at_every_moment(seed: int, shares: tuple[float, ...]) -> None:
    users, _ = random_world(seed, n_users=60)
    world, events = history_of(users, 15), [event for user in users for event in user]
    moments = np.arange(-1, 22)
    asked = np.tile(np.arange(15, dtype=np.int32), len(moments))
    requests = Requests(np.arange(len(moments), dtype=np.int32), moments)
    found = popularity_groups(world, requests, asked, 15 * np.arange(len(moments) + 1), *shares)
    expected = [groups_by_sorting(events, now, list(range(15)), shares) for now in moments.tolist()]
    assert found.reshape(len(moments), 15).tolist() == expected
    timeless = history_of(users, 15, times=False)
    of_all = popularity_groups(timeless, Requests(np.zeros(1, np.int32)), asked[:15], np.array([0, 15]), *shares)
    assert of_all.tolist() == groups_by_sorting(events, math.inf, list(range(15)), shares)


def test_a_history_without_events_is_refused() -> None:
    with pytest.raises(InputError, match=r"reranker: this one compares items by their clicks, .* choose reranker=mmr"):
        popularity_bar(history_of([[]], 3), 0.8)
