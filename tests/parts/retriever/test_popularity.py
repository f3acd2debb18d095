from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.system.durations import milliseconds
from recx.core.types import Interactions, Requests
from recx.parts.retriever.popularity import Popularity

S = 1000  # ms


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    """Item 0 is clicked at 1 and 2 s, item 1 at 3, 4 and 5 s, item 2 at 5 s; users 3 to 6 have no event."""
    return drawn([[(0, 1 * S), (1, 3 * S)], [(0, 2 * S), (1, 4 * S)], [(1, 5 * S), (2, 5 * S)], [], [], [], []], 4)


def requests(*seconds: float) -> Requests:
    return Requests(np.arange(3, 3 + len(seconds), dtype=np.int32), np.array([int(s * S) for s in seconds]))


def test_clicks_count_up_to_the_request_and_not_at_it(world: Interactions, shown: Callable) -> None:
    lists = Popularity().retrieve(world, requests(6, 5, 3, 1), 3)
    assert shown(lists) == [[1, 0, 2], [0, 1], [0], []]
    assert lists.score.tolist() == [3, 2, 1, 2, 2, 2]


def test_a_window_counts_clicks_that_are_at_most_so_old(world: Interactions, shown: Callable) -> None:
    lists = Popularity(window="2s").retrieve(world, requests(5, 6, 7, 7.001), 3)
    # At 5: clicks of 3 and 4. At 6: 4, 5, 5. At 7: 5, 5. At 7.001: none.
    assert shown(lists) == [[1], [1, 2], [1, 2], []]
    assert lists.score.tolist() == [2, 2, 1, 1, 1]


def test_a_click_counts_half_after_the_half_life(world: Interactions, shown: Callable) -> None:
    lists = Popularity(half_life="1s").retrieve(world, requests(6), 3)
    assert shown(lists) == [[1, 2, 0]]
    assert lists.score.tolist() == pytest.approx([1 / 2 + 1 / 4 + 1 / 8, 1 / 2, 1 / 16 + 1 / 32])


def test_what_the_user_has_seen_is_dropped_or_kept(world: Interactions, asking: Callable, shown: Callable) -> None:
    assert shown(Popularity().retrieve(world, asking(6 * S), 3)) == [[2]]
    assert shown(Popularity(seen="keep").retrieve(world, asking(6 * S), 3)) == [[1, 0, 2]]


def test_without_times_every_click_counts(drawn: Callable[..., Interactions], shown: Callable) -> None:
    world = drawn([[(2, 0), (2, 0)], [(0, 0)], []], 4, times=False)
    lists = Popularity(window="1s").retrieve(world, Requests(np.array([2], dtype=np.int32)), 4)
    assert shown(lists) == [[2, 0]]


@pytest.mark.parametrize("retriever", [Popularity(), Popularity(window="1s"), Popularity(half_life="1s")])
def test_where_nothing_counts_the_lists_are_empty(
    retriever: Popularity, world: Interactions, drawn: Callable[..., Interactions], shown: Callable
) -> None:
    nothing = drawn([[]] * 7, 4)
    assert shown(retriever.retrieve(nothing, requests(1, 2, 3), 2)) == [[], [], []]
    assert shown(retriever.retrieve(world, requests(0.5, 0.7), 2)) == [[], []]


def test_requests_may_lie_years_of_half_lives_apart(world: Interactions, shown: Callable) -> None:
    far = drawn_later(world, by=10_000 * S)
    lists = Popularity(half_life="1s").retrieve(far, requests(10_006, 6, 5_000), 3)
    assert shown(lists) == [[1, 2, 0], [1, 2, 0], []]
    assert lists.score[:3] == pytest.approx(lists.score[3:])


def drawn_later(world: Interactions, by: int) -> Interactions:
    """The world and, of other users, the same events once more."""
    assert world.time is not None
    return Interactions(
        indptr=np.concatenate([world.indptr, world.indptr[1:] + len(world)]),
        item=np.concatenate([world.item, world.item]),
        time=np.concatenate([world.time, world.time + by]),
        weight=np.ones(2 * len(world), dtype=np.float32),
        users=Entities(np.arange(2 * world.n_users)),
        items=world.items,
    )


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), max_size=12),
    st.lists(st.integers(0, 40), min_size=1, max_size=5),
    st.sampled_from([None, "4ms"]),
    st.sampled_from([None, "3ms"]),
)
def test_counts_are_those_of_a_loop(
    events: list[tuple[int, int]], asked: list[int], window: str | None, half_life: str | None
) -> None:
    """One click a user; the requests come from users without any."""
    n = len(events)
    world = Interactions(
        indptr=indptr_of(np.array([1] * n + [0] * len(asked), dtype=np.int64)),
        item=np.array([item for item, _ in events], dtype=np.int32),
        time=np.array([time for _, time in events], dtype=np.int64),
        weight=np.ones(n, dtype=np.float32),
        users=Entities(np.arange(n + len(asked))),
        items=Entities(np.arange(5)),
    )
    found = Popularity(window, half_life).retrieve(
        world, Requests(np.arange(n, n + len(asked), dtype=np.int32), np.array(asked)), 5
    )
    reach = np.inf if window is None else milliseconds(window, "window")
    life = np.inf if half_life is None else milliseconds(half_life, "half_life")
    for n_list, now in enumerate(asked):
        rows = slice(found.indptr[n_list], found.indptr[n_list + 1])
        expected: dict[int, float] = {}
        for item, time in events:
            if 0 < now - time <= reach:
                expected[item] = expected.get(item, 0) + 0.5 ** ((now - time) / life)
        assert dict(zip(found.item[rows].tolist(), found.score[rows].tolist(), strict=True)) == pytest.approx(expected)


@pytest.mark.parametrize("key", ["window", "half_life"])
def test_what_is_no_duration_is_refused(key: str) -> None:
    with pytest.raises(InputError, match=f"retriever.{key}=soon: it must be a positive number and a unit"):
        Popularity(**{key: "soon"})
