"""The sweep over the clicks, held against counting anew for every request."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.retriever import popularity as module
from recx.parts.retriever.popularity import NEGLIGIBLE, Popularity
from recx.parts.shared.click_sweep import SPAN, Totals, weights_of
from recx.parts.shared.popular_items import Pool, choose, settle
from recx.parts.shared.top_k import top_of_table

LIFE = 3  # ms; an epoch is 1500 ms


USERS = 60


def drawn_world(seed: int, n_items: int, n_events: int, times: int) -> Interactions:
    """Draw events at both sides of time 0, where an epoch begins; a few users and a few items have most of them."""
    rng = np.random.default_rng(seed)
    user = (USERS * rng.random(n_events) ** 4).astype(np.int64)
    time = rng.integers(-times, times, n_events)
    order = np.lexsort((time, user))
    return Interactions(
        indptr=indptr_of(np.bincount(user, minlength=USERS)),
        item=(n_items * rng.random(n_events) ** 2).astype(np.int32),
        time=time[order],
        weight=np.ones(n_events, dtype=np.float32),
        users=Entities(np.arange(USERS)),
        items=Entities(np.arange(n_items)),
    )


def drawn_requests(seed: int, times: int, n: int = 30) -> Requests:
    """Draw requests of the same users, some of them several times: a sweep does not mind."""
    rng = np.random.default_rng(seed + 1)
    return Requests(rng.integers(0, USERS, n).astype(np.int32), rng.integers(-times, times + 9, n))


def counted(world: Interactions, of: Popularity, user: int, now: int) -> dict[int, float]:
    """Return the score of every item that may be shown."""
    reach = int(of.window[:-2]) if of.window else np.inf
    found: dict[int, float] = {}
    for item, time in zip(world.item.tolist(), world.time.tolist(), strict=True):
        weight = 0.5 ** (max(0, now - time) / LIFE) if of.half_life else 1.0
        if 0 < now - time <= reach and weight >= NEGLIGIBLE:
            found[item] = found.get(item, 0.0) + weight
    seen = world.item[world.indptr[user] : world.indptr[user + 1]].tolist() if of.seen == "drop" else []
    return {item: score for item, score in found.items() if item not in seen}


def assert_counted_anew(lists: RankedLists, world: Interactions, requests: Requests, of: Popularity, k: int) -> None:
    for n, (user, now) in enumerate(zip(requests.user.tolist(), requests.time.tolist(), strict=True)):
        rows = slice(lists.indptr[n], lists.indptr[n + 1])
        score = counted(world, of, user, now)
        best = sorted(score, key=lambda item: (-score[item], item))[:k]
        assert lists.score[rows].tolist() == pytest.approx([score[item] for item in best], rel=1e-6)
        assert [score[item] for item in lists.item[rows].tolist()] == pytest.approx(
            [score[item] for item in best], rel=1e-6
        )
        assert len(set(lists.item[rows].tolist())) == len(best)
        if not of.half_life:
            assert lists.item[rows].tolist() == best


SEED, N_ITEMS, N_EVENTS = st.integers(0, 10**6), st.sampled_from([1, 4, 30, 200]), st.sampled_from([0, 5, 80, 600])
TIMES = st.sampled_from([1, 20, 100, 1000, 10**6])
WINDOW = st.sampled_from([None, "2ms", "15ms", "300ms"])
HALF_LIFE = st.sampled_from([None, f"{LIFE}ms"])
SEEN = st.sampled_from(["drop", "keep"])


@given(SEED, N_ITEMS, N_EVENTS, TIMES, WINDOW, HALF_LIFE, SEEN, st.sampled_from([1, 2, 5, 50]))
def test_lists_are_those_of_counting_anew(
    seed: int,
    n_items: int,
    n_events: int,
    times: int,
    window: str | None,
    half_life: str | None,
    seen: str,
    k: int,
) -> None:
    world, requests = drawn_world(seed, n_items, n_events, times), drawn_requests(seed, times)
    of = Popularity(window, half_life, seen)
    assert_counted_anew(of.retrieve(world, requests, k), world, requests, of, k)


@given(SEED, TIMES, WINDOW, HALF_LIFE, SEEN, st.sampled_from([1, 3, 50]))
def test_no_request_changes_another_s_list_by_a_bit(
    seed: int, times: int, window: str | None, half_life: str | None, seen: str, k: int
) -> None:
    world, requests = drawn_world(seed, 30, 300, times), drawn_requests(seed, times)
    lists = Popularity(window, half_life, seen).retrieve(world, requests, k)
    for some in (np.arange(0, 30, 2), np.arange(29, -1, -1), np.array([7])):
        alone = Popularity(window, half_life, seen).retrieve(world, requests[some], k)
        there = lists.take(some)
        assert alone.indptr.tolist() == there.indptr.tolist()
        assert alone.item.tolist() == there.item.tolist()
        assert alone.score.tolist() == there.score.tolist()


@pytest.mark.parametrize(("window", "half_life"), [(None, None), ("300ms", None), ("40ms", "3ms")])
def test_threads_and_pieces_change_no_bit(
    window: str | None, half_life: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, requests = drawn_world(0, 100, 2000, 4000), drawn_requests(0, 4000, n=300)

    def made() -> list[list[float]]:
        lists = Popularity(window, half_life).retrieve(world, requests, 10)
        return [lists.indptr.tolist(), lists.item.tolist(), lists.score.tolist()]

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    whole = made()
    assert len(whole[1]) > 300
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(module, "PIECE", 11)
    assert made() == whole


@pytest.mark.parametrize(("window", "half_life"), [(None, None), ("300ms", None), ("40ms", "3ms")])
def test_where_a_sweep_begins_changes_no_bit(
    window: str | None, half_life: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made() -> list[list[float]]:
        world, requests = drawn_world(0, 30, 3000, 4000), drawn_requests(0, 4000, n=300)
        each = [Popularity(window, half_life).retrieve(world, requests[[n]], 10) for n in range(300)]
        return [[*lists.item.tolist(), *lists.score.tolist()] for lists in each]

    begun_between = made()
    monkeypatch.setattr(module, "MARKS", 0)
    assert made() == begun_between


@pytest.mark.parametrize("item", [0, 1])
@pytest.mark.parametrize("time", range(1, 12))
def test_what_was_taken_off_again_does_not_part_equal_items(time: int, item: int) -> None:
    """Both items have a click at 60 + ``time``; the earlier clicks of one of them no longer count."""
    world = Interactions(
        indptr=np.array([0, 5, 5]),
        item=np.array([item, item, item, 0, 1], dtype=np.int32),
        time=np.array([0, 1, 5, 60 + time, 60 + time]),
        weight=np.ones(5, dtype=np.float32),
        users=Entities(np.arange(2)),
        items=Entities(np.arange(2)),
    )
    request = Requests(np.array([1], dtype=np.int32), np.array([78 + time]))
    lists = Popularity(window="72ms", half_life="47ms").retrieve(world, request, 2)
    assert lists.item.tolist() == [0, 1]
    assert lists.score.tolist() == pytest.approx([0.5 ** (18 / 47)] * 2)


def test_totals_survive_a_new_epoch_without_a_click() -> None:
    """A list of one epoch is asked for again in the next, with nothing clicked in between."""
    epoch = SPAN * LIFE
    world = Interactions(
        indptr=np.array([0, 3, 3]),
        item=np.array([1, 0, 1], dtype=np.int32),
        time=np.array([epoch - 6, epoch - 5, epoch - 5]),
        weight=np.ones(3, dtype=np.float32),
        users=Entities(np.arange(2)),
        items=Entities(np.arange(3)),
    )
    requests = Requests(np.array([1, 1, 1], dtype=np.int32), np.array([epoch - 1, epoch, epoch + 1]))
    of = Popularity(half_life=f"{LIFE}ms")
    assert_counted_anew(of.retrieve(world, requests, 3), world, requests, of, 3)
    assert of.retrieve(world, requests, 3).item.tolist() == [1, 0] * 3


@given(st.integers(-(10**13), 10**13), st.integers(1, 10**9))
def test_a_weight_doubles_with_every_half_life_of_an_epoch(time: int, half_life: int) -> None:
    found = weights_of(np.array([time]), half_life)[0]
    since = Fraction(time % (SPAN * half_life), half_life)
    whole = int(since)
    assert found == pytest.approx(2.0**whole * 2.0 ** float(since - whole), rel=1e-14)
    assert weights_of(np.array([time - time % half_life]), half_life)[0] == 2.0**whole


SCORES = st.lists(st.integers(0, 4), min_size=1, max_size=40)


@given(SCORES, st.integers(1, 12))
def test_the_best_of_all_items_are_chosen(scores: list[int], k: int) -> None:
    n = len(scores)
    totals = Totals(np.array(scores, dtype=np.float64), np.ones(n, dtype=np.int32), 0.0)
    hidden = (np.arange(n) % 3).astype(np.int32)
    item, score = np.empty(k, dtype=np.int32), np.empty(k)
    size = choose(totals, np.arange(n, dtype=np.int32), hidden, 1, k, item, score)
    table = np.where((totals.weight > 0) & (hidden != 1), totals.weight, -np.inf)
    _, column, value = top_of_table(table[None], k)
    assert item[:size].tolist() == column.tolist()
    assert score[:size].tolist() == value.tolist()


@given(SCORES, st.integers(0, 5), st.integers(0, 40), st.integers(1, 4), SEED)
def test_the_pool_holds_what_reaches_the_bar(scores: list[int], bar: int, bar_item: int, least: int, seed: int) -> None:
    """Half of the items are in the pool before, in any order, and the others are clicked."""
    n = len(scores)
    held, new = np.split(np.random.default_rng(seed).permutation(n).astype(np.int32), [n // 2])
    totals = Totals(np.array(scores, dtype=np.float64), np.ones(n, dtype=np.int32), 0.0)
    room = np.zeros(n), np.zeros(n, dtype=np.int32)
    pool = Pool(np.zeros(n), np.concatenate([held, new]), *room, np.isin(np.arange(n), held))
    size, raised, raised_item = settle(new, totals, pool, least, len(held), float(bar), bar_item)
    reach = [(-score, item) for item, score in enumerate(scores) if (-score, item) <= (-bar, bar_item)]
    expected = sorted(reach)[: 2 * least if len(reach) > 3 * least else None]
    assert list(zip((-pool.score[:size]).tolist(), pool.item[:size].tolist(), strict=True)) == expected
    assert np.flatnonzero(pool.holds).tolist() == sorted(item for _, item in expected)
    assert (-raised, raised_item) == (expected[-1] if len(reach) > 3 * least else (-bar, bar_item))
