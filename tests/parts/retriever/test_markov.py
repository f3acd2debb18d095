"""The Markov chain by hand, and against transitions counted pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.core.types import Interactions, Requests
from recx.parts.retriever import markov as module
from recx.parts.retriever.markov import Markov

H = 3_600_000  # ms
Drawn = Callable[..., Interactions]


@pytest.fixture
def world(drawn: Drawn) -> Interactions:
    """0, 1, 2 with an hour between, 0, 2 with two, and two users without a transition."""
    return drawn([[(0, 0), (1, H), (2, 2 * H)], [(0, 0), (2, 2 * H)], [(0, 3 * H)], []], 4)


def asked(of: Markov, world: Interactions, user: int) -> dict[int, float]:
    requests = Requests(np.array([user], dtype=np.int32), np.array([9 * H]))
    lists = of.fit(world).retrieve(world, requests, 9)
    return dict(zip(lists.item.tolist(), lists.score.tolist(), strict=True))


def test_probabilities_by_hand(world: Interactions) -> None:
    # After 0: once 1, once 2. Of all three transitions, one leads to 1, two to 2.
    assert asked(Markov(smoothing=0), world, 2) == {1: 0.5, 2: 0.5}
    assert asked(Markov(), world, 2) == pytest.approx({2: (1 + 2 / 3) / 3, 1: (1 + 1 / 3) / 3})
    assert asked(Markov(smoothing=0), world, 3) == {}
    assert asked(Markov(), world, 3) == pytest.approx({2: 2 / 3, 1: 1 / 3})  # who has not clicked gets the shares
    assert asked(Markov(smoothing=2.0, seen="keep"), world, 0) == pytest.approx({2: 2 / 3, 1: 1 / 3})  # 2 leads nowhere


def test_sequential_rules_reach_further(world: Interactions) -> None:
    # From 0 to 2 there is one step of distance 1 and one of distance 2.
    assert asked(Markov(distance=2, smoothing=0), world, 2) == pytest.approx({2: 1.5 / 2.5, 1: 1 / 2.5})
    assert asked(Markov(distance=2, decay="same", smoothing=0), world, 2) == pytest.approx({2: 2 / 3, 1: 1 / 3})


def test_a_long_gap_counts_less(world: Interactions) -> None:
    assert asked(Markov(half_life="1h", smoothing=0), world, 2) == pytest.approx({1: 0.5 / 0.75, 2: 0.25 / 0.75})


def test_what_is_not_stored_still_counts_in_the_sum(drawn: Drawn) -> None:
    world = drawn([[(0, 0), (1, H)], [(0, 0), (1, H)], [(0, 0), (2, H)], [(0, 0)]], 3)
    assert asked(Markov(neighbours=1, smoothing=0), world, 3) == pytest.approx({1: 2 / 3})


def test_the_same_item_again_is_no_transition(drawn: Drawn) -> None:
    world = drawn([[(0, 0), (0, H), (1, 2 * H)], [(0, 0)]], 2)
    assert asked(Markov(smoothing=0, seen="keep"), world, 1) == {1: 1.0}


def test_times_are_needed_for_a_half_life(drawn: Drawn) -> None:
    with pytest.raises(InputError, match=r"retriever\.half_life=1h needs the times .* write retriever\.half_life=null"):
        Markov(half_life="1h").fit(drawn([[(0, 0), (1, 0)]], 2, times=False))


def test_without_any_transition_nothing_is_retrieved(drawn: Drawn, shown: Callable) -> None:
    world = drawn([[(0, 0)], []], 3, times=False)
    assert shown(Markov().fit(world).retrieve(world, Requests(np.array([0, 1], dtype=np.int32)), 2)) == [[], []]


def test_other_items_are_refused(world: Interactions, drawn: Drawn) -> None:
    with pytest.raises(InputError, match="retriever=markov was fitted on 4 items, and this history has 2"):
        Markov().fit(world).retrieve(drawn([[(0, 0)]], 2), Requests(np.zeros(1, np.int32), np.array([H])), 2)


def test_similar_items_are_those_that_follow(world: Interactions) -> None:
    found = Markov(distance=2).fit(world).similar(0, 5)
    assert found.item.tolist() == [2, 1]
    assert found.score.tolist() == [1.5, 1.0]
    assert Markov().fit(world).similar(3, 5).item.tolist() == []


@pytest.mark.parametrize(
    ("key", "value"), [("distance", 0), ("decay", "log"), ("half_life", "1"), ("neighbours", 0), ("smoothing", -1.0)]
)
def test_bad_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(InputError, match=f"retriever.{key}="):
        Markov(**{key: value})


USERS = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=7), min_size=1, max_size=6
)  # the events of each user: item, and hours since the last one
SETTINGS = st.fixed_dictionaries(
    {
        "distance": st.integers(1, 4),
        "decay": st.sampled_from(["div", "same"]),
        "half_life": st.sampled_from([None, "1h"]),
        "smoothing": st.sampled_from([0.0, 0.5, 3.0]),
        "seen": st.sampled_from(["drop", "keep"]),
    }
)


@given(users=USERS, settings=SETTINGS, k=st.integers(1, 8))
def test_lists_are_the_largest_probabilities(
    drawn: Drawn, users: list[list[tuple[int, int]]], settings: dict[str, object], k: int
) -> None:
    of = Markov(**settings)  # type: ignore[arg-type]
    timed = [
        [(item, int(at) * H) for (item, _), at in zip(user, np.cumsum([gap for _, gap in user]), strict=True)]
        for user in users
    ]
    history, counts = drawn(timed, 8), np.zeros((8, 8))
    for user in timed:
        for a, b in combinations(range(len(user)), 2):
            (one, since), (other, until) = user[a], user[b]
            if b - a <= of.distance and one != other:
                weight = 1 / (b - a) if of.decay == "div" else 1.0
                counts[one, other] += weight * (1 if of.half_life is None else 0.5 ** ((until - since) / H))
    share = counts.sum(axis=0) / max(counts.sum(), 1e-300)
    requests = Requests(np.arange(len(users), dtype=np.int32), np.full(len(users), 99 * H))
    lists = of.fit(history).retrieve(history, requests, k)
    clicked = set(history.item.tolist())
    for user, events in enumerate(timed):
        row = counts[events[-1][0]] if events else np.zeros(8)
        scores = (row + of.smoothing * share) / max(row.sum() + of.smoothing, 1e-300)
        gone = {item for item, _ in events} if of.seen == "drop" else set()
        left = {item: scores[item] for item in clicked - gone if scores[item] > 0}
        own = slice(lists.indptr[user], lists.indptr[user + 1])
        got = dict(zip(lists.item[own].tolist(), lists.score[own].tolist(), strict=True))
        assert list(got.values()) == pytest.approx(sorted(left.values(), reverse=True)[:k])
        assert got == pytest.approx({item: left[item] for item in got})


def test_threads_and_blocks_change_no_bit(monkeypatch: pytest.MonkeyPatch, drawn: Drawn) -> None:
    rng = np.random.default_rng(3)
    world = drawn([[(int(i), 0) for i in rng.integers(0, 30, 6)] for _ in range(40)], 30, times=False)

    def made() -> list[bytes]:
        lists = Markov(distance=3).fit(world).retrieve(world, Requests(np.arange(40, dtype=np.int32)), 5)
        return [array.tobytes() for array in (lists.indptr, lists.item, lists.score)]

    whole = made()
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(module, "LISTS", 3)
    assert made() == whole
