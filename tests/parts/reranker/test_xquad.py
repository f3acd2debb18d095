"""xQuAD for head and tail: by hand, and against the formula of the paper item by item."""

from __future__ import annotations

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.reranker import xquad as module
from recx.parts.reranker.popularity_groups import popularity_groups
from recx.parts.reranker.xquad import XQuAD
from tests.parts.reranker.worlds import history_of, items_of, lists_of, random_world, shares

POPULAR = [[(0, 0), (1, 0), (2, 0)]] * 4
"""Items 0 to 2 have four clicks each, all others fewer: with ``head`` 0.7 they are the head."""


def requests(lists: RankedLists, now: int | None = 100) -> Requests:
    return Requests(lists.user, None if now is None else np.full(lists.n_lists, now))


def by_the_formula(of: XQuAD, world: Interactions, shown: RankedLists, asked: Requests) -> list[list[int]]:
    made = []
    for user, (start, stop) in enumerate(zip(shown.indptr[:-1], shown.indptr[1:], strict=True)):
        had = world.item[world.indptr[user] : world.indptr[user + 1]]
        catalogue = np.arange(world.n_items, dtype=np.int32)
        one = asked[np.array([user])]
        group = popularity_groups(world, one, catalogue, np.array([0, world.n_items]), of.head)
        likes = [float(np.mean(group[had] == d)) if len(had) else 0.0 for d in (0, 1)]
        relevant = dict(zip(shown.item[start:stop].tolist(), shares(shown.score[start:stop]), strict=True))
        made.append(_places(of, group.tolist(), likes, relevant))
    return made


def _places(of: XQuAD, group: list[int], likes: list[float], relevant: dict[int, float]) -> list[int]:
    left, above = list(relevant), list[int]()

    def value(v: int) -> float:
        product = 1.0
        for i in above:
            share = sum(group[j] == group[v] for j in above) / len(above)
            product *= 1 - (share if of.variant == "smooth" else group[i] == group[v])
        return (1 - of.coverage) * relevant[v] + of.coverage * likes[group[v]] * product

    while left and len(above) < of.top:
        above.append(max(left, key=value))
        left.remove(above[-1])
    return [*above, *left]


def test_each_group_gains_as_the_user_likes_it_until_it_is_covered() -> None:
    # User 4 had one item of the head and three of the tail: P = 0.25, 0.75. Relevance 1, 0.9, 0.5, 0.
    world = history_of([*POPULAR, [(0, 0), (3, 0), (4, 0), (5, 0)]], 8)
    shown = lists_of({}, {}, {}, {}, {1: 10, 2: 9, 6: 5, 7: 0})
    # First place: 0.6 + 0.1, 0.54 + 0.1, 0.3 + 0.3, 0.3. Then the tail alone is uncovered: 0.54, 0.6, 0.3.
    binary = XQuAD(0.4, "binary", head=0.7).rank(shown, world, requests(shown))
    assert items_of(binary)[4] == [1, 6, 2, 7]
    assert binary.score.tolist() == [4, 3, 2, 1]
    # With 0.5 and relevance 1, 0.9, 0.5, 0: 0.625, 0.575, 0.625, 0.375: of equal ones the first. Then 0.45, 0.625,
    # 0.375: item 6. Then half are of either group: 0.45 + 0.125 / 4 and 0.375 / 4.
    smooth = XQuAD(0.5, "smooth", head=0.7).rank(shown, world, requests(shown))
    assert items_of(smooth)[4] == [1, 6, 2, 7]
    # The share of the tail stays 0, so that what is of the tail comes first, and then, as it is covered, by relevance.
    assert items_of(XQuAD(1.0, "binary", head=0.7).rank(shown, world, requests(shown)))[4] == [6, 1, 2, 7]


@pytest.mark.parametrize("variant", ["binary", "smooth"])
@pytest.mark.parametrize("coverage", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("times", [True, False], ids=["times", "no times"])
def test_lists_are_those_of_the_formula(
    variant: str, coverage: float, times: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    users, shown = random_world(7)
    world = history_of(users, 15, times=times)
    asked = Requests(shown.user, np.arange(shown.n_lists) % 21 if times else None)
    of = XQuAD(coverage, variant, head=0.6, top=6)  # type: ignore[arg-type]
    monkeypatch.setattr(module, "LISTS", 4)
    assert items_of(of.rank(shown, world, asked)) == by_the_formula(of, world, shown, asked)


def test_without_coverage_or_events_the_rankers_order_stays() -> None:
    users, shown = random_world(3)
    world = history_of(users, 15)
    assert items_of(XQuAD(0.0).rank(shown, world, requests(shown))) == items_of(shown)
    nobody = history_of([*[[] for _ in users], [(0, 0), (1, 1)]], 15)
    assert items_of(XQuAD(0.9).rank(shown, nobody, requests(shown))) == items_of(shown)


def test_a_history_without_events_is_refused() -> None:
    shown = lists_of({0: 1.0})
    with pytest.raises(InputError, match="compares items by their clicks"):
        XQuAD().rank(shown, history_of([[]], 1), requests(shown))


@pytest.mark.parametrize(("key", "value"), [("coverage", 1.1), ("variant", "x"), ("head", 1.0), ("top", 0)])
def test_bad_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(InputError, match=rf"reranker\.{key}="):
        XQuAD(**{key: value})  # type: ignore[arg-type]
