"""Marginal relevance by co-clicks: by hand, and with the sets of users at each request."""

from __future__ import annotations

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Requests
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.reranker import co_clicks as module
from recx.parts.reranker.mmr import MMR
from tests.parts.reranker.worlds import Event, history_of, items_of, lists_of, random_world, shares


def mmr(relevance: float, **settings: int) -> MMR:
    return MMR(Tfidf(), relevance, "co_clicks", **settings)


def test_items_of_the_same_users_are_alike() -> None:
    # Both clicked 0 and 1, one of them 0 and 2: cos(0, 1) = 2 / sqrt(2 * 2), cos(0, 2) = 1 / sqrt(2 * 1).
    world = history_of([[(0, 0), (1, 1), (0, 2)], [(2, 0), (0, 1), (1, 2)], [(3, 9)]], 5, times=False)
    shown = lists_of({}, {}, {0: 20, 1: 19, 2: 18, 3: 10})
    # Relevance 1, 0.9, 0.8, 0; after item 0: 0.45 - 0.5, 0.4 - 0.354, 0; after item 2, cos(1, 2) = 0.707 changes none.
    found = mmr(0.5).rank(shown, world, Requests(shown.user))
    assert items_of(found)[2] == [0, 2, 3, 1]
    assert found.score.tolist() == pytest.approx([0.5, 0.4 - 0.5 / np.sqrt(2), 0, -0.05])
    assert items_of(mmr(1.0).rank(shown, world, Requests(shown.user)))[2] == [0, 1, 2, 3]


def test_clicks_count_until_the_request_and_within_the_distance() -> None:
    world = history_of([[(0, 0), (2, 1), (1, 2)]], 3)
    shown = lists_of({0: 3, 1: 2, 2: 0})

    def order(now: int, **settings: int) -> list[int]:
        return items_of(mmr(0.5, **settings).rank(shown, world, Requests(shown.user, np.array([now]))))[0]

    assert order(2) == [0, 1, 2]  # item 1 was not clicked yet
    assert order(3) == [0, 1, 2]  # then both are as like item 0 as can be
    assert order(3, distance=1) == [0, 1, 2]
    apart = lists_of({0: 2, 1: 1.9, 2: 1.9})
    for distance, expected in ((1, [0, 1, 2]), (2, [0, 1, 2])):
        found = mmr(0.5, distance=distance).rank(apart, world, Requests(apart.user, np.array([3])))
        assert items_of(found)[0] == expected
        assert found.score[1] == pytest.approx({1: 0.0, 2: -0.5}[distance])


def by_sets(of: MMR, users: list[list[Event]], shown: dict[int, float], now: int) -> list[float]:
    """Return the marginal relevance of each filled place."""
    places = []
    for user in users:
        first = dict.fromkeys(item for item, _ in user)
        when = {item: next(time for one, time in user if one == item) for item in first}
        places.append({item: (place, when[item]) for place, item in enumerate(first)})

    def alike(a: int, b: int) -> float:
        each = [sum(x in of_user and of_user[x][1] < now for of_user in places) for x in (a, b)]
        both = sum(
            a in of_user
            and b in of_user
            and abs(of_user[a][0] - of_user[b][0]) <= of.distance
            and max(of_user[a][1], of_user[b][1]) < now
            for of_user in places
        )
        return both / np.sqrt(each[0] * each[1]) if both else 0.0

    left, above, values = list(shown), list[int](), list[float]()
    while left and len(above) < of.top:

        def value(v: int) -> float:
            nearest = max((alike(v, i) for i in above), default=0.0)
            return of.relevance * shown[v] - (1 - of.relevance) * nearest

        best = max(left, key=value)
        values.append(value(best))
        above.append(best)
        left.remove(best)
    return values


@pytest.mark.parametrize(("relevance", "distance", "top"), [(0.7, 10, 20), (0.2, 2, 5), (0.0, 1, 3)])
def test_lists_are_those_of_the_sets_of_users(
    relevance: float, distance: int, top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    users, shown = random_world(2, n_users=40)
    now = np.arange(shown.n_lists) % 21
    of = mmr(relevance, distance=distance, top=top)
    monkeypatch.setattr(module, "LISTS", 4)
    found = of.rank(shown, history_of(users, 15), Requests(shown.user, now))
    for user, (start, stop) in enumerate(zip(shown.indptr[:-1], shown.indptr[1:], strict=True)):
        scores = dict(zip(shown.item[start:stop].tolist(), shares(shown.score[start:stop]), strict=True))
        expected = by_sets(of, users, scores, int(now[user]))
        assert found.score[start : start + len(expected)].tolist() == pytest.approx(expected)


def test_data_in_which_nobody_clicked_two_items_is_refused() -> None:
    shown = lists_of({0: 1.0})
    with pytest.raises(InputError, match=r"reranker\.similarity=co_clicks, and no user of this data has clicked two"):
        mmr(0.5).rank(shown, history_of([[(0, 0), (0, 1)]], 1), Requests(shown.user, np.array([9])))
