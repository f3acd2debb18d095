"""Counts as of a moment, held against loops over the events."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, Requests
from recx.parts.shared import click_counts
from recx.parts.shared.click_counts import (
    EventCounter,
    item_counter,
    keep_largest,
    last_clicks,
    pair_counter,
    pairs_within,
)

EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), max_size=12)
HISTORIES = st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=6), min_size=1, max_size=4)


def history_of(events: list[list[tuple[int, int]]], *, times: bool = True) -> Interactions:
    """Each user's (item, time) pairs, sorted by time."""
    flat = [event for of_user in events for event in sorted(of_user, key=lambda event: event[1])]
    return Interactions(
        indptr=indptr_of(np.array([len(of_user) for of_user in events])),
        item=np.array([item for item, _ in flat], dtype=np.int32),
        time=np.array([time for _, time in flat], dtype=np.int64) if times else None,
        weight=np.ones(len(flat), dtype=np.float32),
        users=Entities(np.arange(len(events))),
        items=Entities(np.arange(4)),
    )


@given(EVENTS, st.integers(1, 2**60))
@example([(0, 0), (0, 4)], 461_168_601_842_738_790)  # a kind above all others does not fit beside the times
def test_a_clock_counts_what_a_loop_counts(events: list[tuple[int, int]], stretch: int) -> None:
    """Times that do not fit into one number with the kind (a wide stretch) count the same."""
    kind = np.array([kind for kind, _ in events], dtype=np.int64)
    time = np.array([time for _, time in events], dtype=np.int64)
    step = min(stretch, 2**59)
    clock = EventCounter(kind, time * step)
    asked_kind, asked_time = (grid.ravel() for grid in np.meshgrid(np.arange(5), np.arange(-7, 8)))
    before = [sum(k == a and t < now for k, t in events) for a, now in zip(asked_kind, asked_time, strict=True)]
    assert clock.before(asked_kind, asked_time * step).tolist() == before
    between = [sum(k == a and -2 <= t < now for k, t in events) for a, now in zip(asked_kind, asked_time, strict=True)]
    late = asked_time >= -2
    start = np.full(late.sum(), -2) * step
    found = clock.between(asked_kind[late], start, asked_time[late] * step)
    assert found.tolist() == [count for count, is_late in zip(between, late, strict=True) if is_late]


@given(st.lists(st.integers(-50, 50)), st.lists(st.integers(-60, 60)))
def test_positions_in_many_keys_are_those_in_few(keys: list[int], asked: list[int]) -> None:
    """The two ways to search, for keys that fit into the cache and for more, find the same."""
    among, wanted = np.sort(np.array(keys, dtype=np.int64)), np.array(asked, dtype=np.int64)
    expected = [sum(key < one for key in keys) for one in asked]
    for large in (0, 10**6):
        with mock.patch.object(click_counts, "LARGE", large):
            assert click_counts.positions(among, wanted).tolist() == expected


@given(HISTORIES, st.integers(1, 3), st.booleans())
def test_a_pair_clock_counts_what_a_loop_counts(
    events: list[list[tuple[int, int]]], distance: int, both_ways: bool
) -> None:
    history = history_of(events)
    pairs = []
    for of_user in events:
        ordered = sorted(of_user, key=lambda event: event[1])
        for place, (a, _) in enumerate(ordered):
            for b, later in ordered[place + 1 : place + 1 + distance]:
                pairs += [(a, b, later)] + ([(b, a, later)] if both_ways and a != b else [])
    first, second, now = (grid.ravel() for grid in np.meshgrid(np.arange(4), np.arange(4), [0, 3, 7, 11]))
    expected = [
        sum((a, b) == (x, y) and t < moment for a, b, t in pairs)
        for x, y, moment in zip(first, second, now, strict=True)
    ]
    assert pair_counter(history, distance, both_ways).before(first, second, now).tolist() == expected


def test_without_times_every_pair_lies_before() -> None:
    history = history_of([[(0, 0), (1, 0)]], times=False)
    clock = pair_counter(history, 1, False)
    assert clock.before(np.array([0, 1]), np.array([1, 0]), np.full(2, UNKNOWN_TIME)).tolist() == [1, 0]


def test_item_clock_counts_the_histories_clicks() -> None:
    clock = item_counter(history_of([[(0, 1), (0, 3)], [(0, 3), (1, 4)]]))
    assert clock.before(np.array([0, 0, 1, 2]), np.array([3, 4, 9, 9])).tolist() == [1, 3, 1, 0]


def test_pairs_are_of_one_user() -> None:
    found = {
        apart: (a.tolist(), b.tolist()) for apart, a, b in pairs_within(history_of([[(0, 0)] * 3, [(1, 0)] * 2]), 9)
    }
    assert found == {1: ([0, 1, 3], [1, 2, 4]), 2: ([0], [2])}
    assert list(pairs_within(history_of([[(0, 0)], []]), 3)) == []


def test_the_newest_clicks_weigh_most_and_repeats_add_up() -> None:
    history = history_of([[(0, 1), (2, 2), (0, 3), (1, 4)], [], [(3, 1)]])
    table = last_clicks(history, Requests(np.array([0, 1, 2], dtype=np.int32)), 3, 0.5).toarray()
    assert table.tolist() == [[0.5, 1, 0.25, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert last_clicks(history, Requests(np.zeros(0, dtype=np.int32)), 3, 0.5).shape == (0, 4)


def test_the_largest_entries_of_each_line_are_kept_ties_by_column() -> None:
    dense = np.array([[1, 3, 3, 0, 2], [0, 0, 0, 0, 0], [0, 0, 0, 0, 7], [5, 5, 5, 5, 5]], dtype=np.float32)
    kept = keep_largest(sparse.csr_array(dense), 2).toarray()
    assert kept.tolist() == [[0, 3, 3, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 7], [5, 5, 0, 0, 0]]
