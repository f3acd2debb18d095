"""Filters: laws on random worlds, held against plain loops, and values worked out by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recx.core.clock import RELATIVE
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.filters import Filter
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists
from recx.parts.dataset.movielens import MovieLens
from recx.parts.dataset.sequences import Sequences
from recx.parts.filter.busy_users import DAY, BusyUsers
from recx.parts.filter.event_counts import ItemEvents, UserEvents
from recx.parts.filter.k_core import KCore
from recx.parts.filter.min_weight import MinWeight
from recx.parts.filter.period import Period
from recx.parts.filter.repeats import Repeats
from recx.parts.filter.sample_users import SampleUsers
from recx.testing import check_filter, config_of, tiny_world

Event = tuple[int, int, float]
"""Item, time in days and weight."""
FILTERS: dict[str, Filter] = {
    "k_core": KCore(2, 2),
    "k_core, users only": KCore(3, 0),
    "user_events": UserEvents(2, 3),
    "item_events": ItemEvents(2, 3),
    "items with events": ItemEvents(1),
    "period": Period("1970-01-02", "1970-01-04"),
    "sample_users": SampleUsers(3),
    "repeats, first": Repeats(),
    "repeats, last": Repeats("last"),
    "busy_users": BusyUsers(1),
    "min_weight": MinWeight(2),
}


def world_of(users: list[list[Event]], n_items: int = 6, **more: Any) -> Interactions:
    flat = [event for events in users for event in sorted(events, key=lambda event: event[1])]
    return Interactions(
        indptr=indptr_of(np.array([len(events) for events in users])),
        item=np.array([item for item, _, _ in flat], dtype=np.int32),
        time=np.array([day * DAY for _, day, _ in flat], dtype=np.int64),
        weight=np.array([weight for _, _, weight in flat], dtype=np.float32),
        users=Entities(np.array([f"u{user}" for user in range(len(users))], dtype=object)),
        items=Entities(np.arange(10, 10 + n_items), {"price": np.arange(n_items).astype(np.float32)}),
        **more,
    )


def shown(data: Interactions) -> dict[str, list[tuple[int, int, float]]]:
    """Return each user's (id of the item, day, weight)."""
    assert data.time is not None
    found = {}
    for user, start, stop in zip(data.users.ids, data.indptr[:-1], data.indptr[1:], strict=True):
        columns = data.items.ids[data.item[start:stop]], data.time[start:stop] // DAY, data.weight[start:stop]
        found[str(user)] = list(zip(*(column.tolist() for column in columns), strict=True))
    return found


WORLDS = st.lists(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.sampled_from([1.5, 2.0, 3.0])), max_size=6, min_size=0),
    min_size=1,
    max_size=7,
).map(world_of)


@pytest.mark.parametrize("part", FILTERS.values(), ids=FILTERS.keys())
def test_a_filter_keeps_its_contract(part: Filter) -> None:
    world = tiny_world(slates=True)
    check_filter(part, replace(world, weight=(1 + world.item % 3).astype(np.float32)))
    check_filter(part, world_of([[(0, 0, 1), (0, 1, 3)], [], [(1, 1, 2), (2, 1, 2), (0, 2, 1)], [(5, 3, 3)]]))


@pytest.mark.parametrize("part", FILTERS.values(), ids=FILTERS.keys())
@settings(max_examples=settings.default.max_examples // 2)
@given(world=WORLDS)
def test_a_filter_applied_twice_changes_nothing_more(part: Filter, world: Interactions) -> None:
    once = part.apply(world)
    assert part.apply(once) is once


def plain_core(rows: list[tuple[int, int]], of_user: int, of_item: int) -> list[tuple[int, int]]:
    """The k-core once more, by removing one row after another."""
    while True:
        users, items = Counter(user for user, _ in rows), Counter(item for _, item in rows)
        bad = next((row for row in rows if users[row[0]] < of_user or items[row[1]] < of_item), None)
        if bad is None:
            return rows
        rows = [row for row in rows if row != bad]


@given(world=WORLDS, of_user=st.integers(0, 4), of_item=st.integers(0, 4))
def test_the_core_is_that_of_a_plain_loop(world: Interactions, of_user: int, of_item: int) -> None:
    core = KCore(of_user, of_item).apply(world)
    rows = list(zip(world.users.ids[world.user].tolist(), world.items.ids[world.item].tolist(), strict=True))
    left = list(zip(core.users.ids[core.user].tolist(), core.items.ids[core.item].tolist(), strict=True))
    assert left == plain_core(rows, of_user, of_item)
    clicked = {item for _, item in left}
    assert core.items.ids.tolist() == [item for item in world.items.ids.tolist() if item in clicked or (of_item == 0)]
    assert (core.clicks >= of_item).all()
    assert (core.lengths >= of_user).all()


@given(world=WORLDS, keep=st.sampled_from(["first", "last"]))
def test_repeats_leave_one_event_of_each_pair(world: Interactions, keep: Any) -> None:
    expected = {}
    for user, events in shown(world).items():
        order = events if keep == "first" else events[::-1]
        places = {item: place for place, (item, _, _) in reversed(list(enumerate(order)))}
        rows = [event for place, event in enumerate(order) if places[event[0]] == place]
        expected[user] = rows if keep == "first" else rows[::-1]
    assert shown(Repeats(keep).apply(world)) == expected


EVENTS: list[list[Event]] = [
    [(0, 0, 5), (1, 0, 1), (0, 2, 4)],
    [(1, 1, 4)],
    [(2, 1, 3), (2, 3, 3)],
    [],
]


def test_filters_of_events_leave_the_items_that_compete() -> None:
    # u2 loses all events, u3 had none before.
    left = MinWeight(4).apply(world_of(EVENTS))
    assert shown(left) == {
        "u0": [(10, 0, 5.0), (10, 2, 4.0)],
        "u1": [(11, 1, 4.0)],
        "u3": [],
    }  # u2 lost all, u3 had none
    assert left.items.ids.tolist() == [10, 11, 12, 13, 14, 15]
    assert SampleUsers(1).apply(world_of(EVENTS)).n_items == 6
    assert UserEvents(2).apply(world_of(EVENTS)).n_items == 6


def test_a_period_ends_before_its_end() -> None:
    left = Period("1970-01-02", "1970-01-04").apply(world_of(EVENTS))
    assert shown(left) == {"u0": [(10, 2, 4.0)], "u1": [(11, 1, 4.0)], "u2": [(12, 1, 3.0)], "u3": []}
    same = Period("1970-01-02T01:00+01:00", "1970-01-03T23:59:59.999")
    assert shown(same.apply(world_of(EVENTS))) == shown(left)


def test_filters_of_items_take_them_out_of_the_competition() -> None:
    left = ItemEvents(2).apply(world_of(EVENTS))
    assert shown(left) == {
        "u0": [(10, 0, 5.0), (11, 0, 1.0), (10, 2, 4.0)],
        "u1": [(11, 1, 4.0)],
        "u2": [(12, 1, 3.0), (12, 3, 3.0)],
        "u3": [],
    }
    assert left.items.ids.tolist() == [10, 11, 12]
    assert left.items.table["price"].tolist() == [0, 1, 2]
    assert shown(ItemEvents(1, 1).apply(world_of([[(0, 0, 1), (1, 0, 1)], [(1, 0, 1)]]))) == {"u0": [(10, 0, 1.0)]}


def test_a_core_takes_catalogue_items_without_events_out() -> None:
    core = KCore(2, 2).apply(world_of(EVENTS))
    # u1 has one event; then item 11 has one left, and goes too.
    assert shown(core) == {"u0": [(10, 0, 5.0), (10, 2, 4.0)], "u2": [(12, 1, 3.0), (12, 3, 3.0)]}
    assert core.items.ids.tolist() == [10, 12]


def test_users_with_too_many_events_leave() -> None:
    assert list(shown(UserEvents(1, 2).apply(world_of(EVENTS)))) == ["u1", "u2"]
    assert list(shown(UserEvents(0, 2).apply(world_of(EVENTS)))) == ["u1", "u2", "u3"]
    assert list(shown(BusyUsers(1).apply(world_of(EVENTS)))) == ["u1", "u2", "u3"]  # u0 has two events on day 0
    assert list(shown(BusyUsers(2).apply(world_of(EVENTS)))) == ["u0", "u1", "u2", "u3"]


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    world = tiny_world()
    samples = [set(SampleUsers(n, seed=1).apply(world).users.ids) for n in (5, 10, 28)]
    assert [len(sample) for sample in samples] == [5, 10, 28]
    assert samples[0] < samples[1] < samples[2]
    assert "u29" not in samples[2]  # who has no events
    assert samples[0] != set(SampleUsers(5, seed=2).apply(world).users.ids)
    assert SampleUsers(29).apply(world) is world


def test_lists_and_users_to_predict_follow_the_new_numbers() -> None:
    score = np.array([3, 2, 1, 1, 2, 1], dtype=np.float32)
    item, indptr = np.array([0, 1, 2, 5, 2, 0], dtype=np.int32), np.array([0, 3, 4, 6])
    slates = RankedLists(np.array([0, 1, 2], dtype=np.int32), indptr, item, score, {"price": score})
    world = world_of(EVENTS, slates=slates, to_predict=np.array([1, 2], dtype=np.int32))
    left = KCore(2, 2).apply(world)  # users 0 and 2, items 0 and 2
    assert left.slates is not None
    assert left.to_predict is not None
    assert (left.slates.user.tolist(), left.slates.lengths.tolist()) == ([0, 1], [2, 2])
    assert left.slates.item.tolist() == [0, 1, 1, 0]
    assert left.slates.columns["price"].tolist() == [3, 1, 2, 1]
    assert left.to_predict.tolist() == [1]
    assert left.notes["slate_rows_removed"] == 1  # the list of user 1 left with the user


def test_what_is_known_of_a_first_event_is_unknown_without_it() -> None:
    users = Entities(np.arange(4), {"device": np.array([1, 2, 3, -1], np.int32)}, context=("device",))
    left = Period(since="1970-01-02").apply(replace(world_of(EVENTS), users=users))
    assert left.users.ids.tolist() == [0, 1, 2, 3]
    assert left.users.table["device"].tolist() == [-1, 2, 3, -1]


@pytest.mark.parametrize("part", [Period(since="2017-01-01"), BusyUsers(3)])
def test_filters_by_time_need_times(part: Filter) -> None:
    with pytest.raises(InputError, match="needs times, and this data has none: remove it with ~filter"):
        part.apply(tiny_world(times=False))


def test_a_period_in_the_data_s_own_clock() -> None:
    relative = replace(world_of(EVENTS), notes={RELATIVE: 1})
    assert len(Period(since=DAY).apply(relative)) == 4
    with pytest.raises(InputError, match="count from a start of their own: give ms"):
        Period(since="2017-10-01").apply(relative)
    with pytest.raises(InputError, match="since=2017: as ms since 1970 it lies in the first months"):
        Period(since=2017).apply(world_of(EVENTS))


def test_weights_that_are_not_read_are_no_ratings() -> None:
    with pytest.raises(InputError, match=r"every event has the weight 1.*dataset.weight=rating"):
        MinWeight(4).apply(tiny_world())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KCore(users=-1), "filter.k_core.users=-1: it must be 0 or more"),
        (lambda: UserEvents(5, 3), "least=5 is above most=3"),
        (lambda: ItemEvents(5, 0), "filter.item_events.most=0: it must be 1 or more"),
        (lambda: Period(since="October"), "since=October: it must be a date"),
        (lambda: Period(until="2017-13-01"), "until=2017-13-01: it must be a date"),
        (lambda: Period("2017-10-02", "2017-10-01"), "is not before until=2017-10-01"),
        (lambda: SampleUsers(0), "filter.sample_users.most=0"),
        (lambda: Repeats("middle"), "filter.repeats.keep=middle"),  # type: ignore[arg-type]
        (lambda: BusyUsers(0), "filter.busy_users.per_day=0"),
        (lambda: MinWeight(float("nan")), "filter.min_weight.least=nan"),
    ],
)
def test_bad_settings_are_refused(make: Callable[[], Filter], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_every_option_of_the_group_has_the_defaults_of_its_part() -> None:
    names = ["k_core", "user_events", "item_events", "period", "sample_users", "repeats", "busy_users", "min_weight"]
    for name, written in config_of(f"filter=[{','.join(names)}]")["filter"].items():
        module, _, kind = written.pop("_target_").rpartition(".")
        part = getattr(import_module(module), kind)()
        assert written == {field.name: getattr(part, field.name) for field in fields(part)}, name


def test_cores_of_published_data(shared_data: Callable[[str], Path]) -> None:
    beauty = Sequences(str(shared_data("beauty/Beauty.txt.gz"))).load()  # published as a 5-core
    assert (beauty.n_users, beauty.n_items, len(beauty)) == (22_363, 12_101, 198_502)
    assert KCore(5, 5).apply(beauty) is beauty
    assert KCore(6, 6).apply(beauty) is not beauty
    ratings = MovieLens(str(shared_data("ml-100k"))).load()  # "each user has rated at least 20 movies"
    assert (ratings.n_users, ratings.n_items, len(ratings)) == (943, 1_682, 100_000)
    assert UserEvents(20).apply(ratings) is ratings
    assert UserEvents(21).apply(ratings) is not ratings
    core = KCore(5, 5).apply(ratings)
    rows = Counter(ratings.item.tolist())
    assert core.n_items == sum(n >= 5 for n in rows.values()) == 1_349  # since no user falls below five
    assert (core.n_users, len(core)) == (943, sum(n for n in rows.values() if n >= 5)) == (943, 99_287)
