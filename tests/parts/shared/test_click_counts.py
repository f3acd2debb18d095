"""Counts as of a moment, held against loops over the events."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.ragged import indptr_of
from recx.core.system.threads import limited_to
from recx.core.types import Interactions
from recx.parts.shared import click_counts
from recx.parts.shared.click_counts import EventCounter, pair_counter, pairs_within

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
    clock = EventCounter.of(kind, time * step)
    asked_kind, asked_time = (grid.ravel() for grid in np.meshgrid(np.arange(5), np.arange(-7, 8)))
    before = [sum(k == a and t < now for k, t in events) for a, now in zip(asked_kind, asked_time, strict=True)]
    assert clock.before(asked_kind, asked_time * step).tolist() == before
    between = [sum(k == a and -2 <= t < now for k, t in events) for a, now in zip(asked_kind, asked_time, strict=True)]
    late = asked_time >= -2
    start = np.full(late.sum(), -2) * step
    found = clock.between(asked_kind[late], start, asked_time[late] * step)
    assert found.tolist() == [count for count, is_late in zip(between, late, strict=True) if is_late]


@given(EVENTS, st.lists(st.lists(st.integers(-1, 5), max_size=5), max_size=6), st.integers(1, 8), st.integers(1, 3))
def test_lists_share_a_time_whatever_the_pieces_and_threads(
    events: list[tuple[int, int]], lists: list[list[int]], rows: int, threads: int
) -> None:
    """Kinds that no event has, below 0 or above all others, have no events."""
    kind, time = np.array(events, dtype=np.int64).reshape(-1, 2).T
    now = np.arange(len(lists)) - 2
    asked = np.array([asked for of_list in lists for asked in of_list], dtype=np.int32)
    expected = [
        sum(k == asked and t < now[q] for k, t in events) for q, of_list in enumerate(lists) for asked in of_list
    ]
    with mock.patch.object(click_counts, "ROWS", rows), limited_to(threads):
        found = EventCounter.of(kind, time).before(asked, now, indptr_of(np.array([*map(len, lists)], dtype=np.int64)))
    assert found.tolist() == expected


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
    each = np.arange(len(first) + 1)
    found = pair_counter(history, distance, both_ways).before(first, second, now, each)
    assert found.tolist() == expected


@given(HISTORIES, st.booleans(), st.data())
def test_pairs_of_lists_are_those_of_their_rows_whatever_the_pieces_and_threads(
    events: list[list[tuple[int, int]]], both_ways: bool, data: st.DataObject
) -> None:
    items = st.integers(0, 3)
    lists = data.draw(st.lists(st.tuples(st.integers(-1, 3), st.lists(items, max_size=5)), max_size=5))
    indptr = indptr_of(np.array([len(second) for _, second in lists], dtype=np.int64))
    first = np.array([first for first, _ in lists], dtype=np.int32)
    second = np.array([item for _, of_list in lists for item in of_list], dtype=np.int32)
    now = np.arange(len(lists)) * 3
    clock = pair_counter(history_of(events), 2, both_ways)
    with (
        mock.patch.object(click_counts, "ROWS", data.draw(st.integers(1, 8))),
        limited_to(data.draw(st.integers(1, 3))),
    ):
        found = clock.before(first, second, now, indptr)
    q = np.repeat(np.arange(len(lists)), np.diff(indptr))
    alone = clock.before(first[q], second, now[q], np.arange(len(second) + 1))
    assert found.tolist() == np.where(first[q] < 0, 0, alone).tolist()


@pytest.mark.parametrize("both_ways", [True, False])
def test_a_pair_is_kept_once_in_eight_bytes(both_ways: bool) -> None:
    clock = pair_counter(history_of([[(0, 0), (1, 1), (2, 2)], [(1, 0), (0, 5)], [(3, 1)]]), 2, both_ways)
    assert clock.entry.nbytes == 8 * 4


def test_without_times_every_pair_lies_before() -> None:
    clock = pair_counter(history_of([[(0, 0), (1, 0)]], times=False), 1, False)
    first = np.array([0, 1], dtype=np.int32)
    found = clock.before(first, np.array([1, 0], dtype=np.int32), np.full(2, UNKNOWN_TIME), np.arange(3))
    assert found.tolist() == [1, 0]


def test_pairs_are_of_one_user() -> None:
    found = {
        apart: (a.tolist(), b.tolist()) for apart, a, b in pairs_within(history_of([[(0, 0)] * 3, [(1, 0)] * 2]), 9)
    }
    assert found == {1: ([0, 1, 3], [1, 2, 4]), 2: ([0], [2])}
    assert list(pairs_within(history_of([[(0, 0)], []]), 3)) == []


@pytest.mark.parametrize(("first", "second"), [(4, 0), (0, 4), (0, -1)])
def test_items_that_the_history_does_not_have_are_no_places_in_memory(first: int, second: int) -> None:
    clock = pair_counter(history_of([[(0, 0), (1, 1), (2, 2), (3, 3)]]), 1, False)
    asked = np.array([0, first], dtype=np.int32), np.array([1, second], dtype=np.int32)
    with pytest.raises(ValueError, match="not all below 4"):
        clock.before(*asked, np.full(2, 9), np.arange(3))
