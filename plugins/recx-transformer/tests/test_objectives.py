"""Which items are hidden, and what the network is asked with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recx_transformer.lessons import Lessons
from recx_transformer.objectives import MaskedItems, NextItem
from recx_transformer.packing import pack
from recx_transformer.sequences import FIRST, MASK, Batch, Events, gap_class

from recx.plugin import HOUR, Entities, Interactions, Requests, indptr_of


def history(lengths: list[int]) -> Interactions:
    """Return events an hour apart, each with an item of its own, numbered like the events."""
    n = sum(lengths)
    return Interactions(
        indptr=indptr_of(np.array(lengths)),
        item=np.arange(n, dtype=np.int32),
        time=np.arange(n, dtype=np.int64) * HOUR,
        weight=np.ones(n, dtype=np.float32),
        users=Entities(np.arange(len(lengths))),
        items=Entities(np.arange(n)),
    )


def inputs(world: Interactions) -> Events:
    number = np.arange(len(world))
    return Events.of(world, number, gap=True, hour=True, moment=number)


def hidden_of(world: Interactions, objective: MaskedItems, seed: int, width: int = 16) -> tuple[Batch, list[set[int]]]:
    """Return the batch of all sequences, and the places of each one's hidden items."""
    packing, order = pack(world.lengths, width)
    event, place = packing.grid(world.indptr[:-1][order])
    batch = objective.batch(inputs(world), event, place, np.random.default_rng(seed))
    assert batch.target is not None
    number = event.ravel()[batch.cell.numpy()]
    assert np.array_equal(batch.target.numpy(), number)
    assert batch.moment is not None
    assert np.array_equal(batch.moment.numpy(), number)
    masked = batch.item.numpy() == MASK
    assert np.array_equal(np.flatnonzero(masked), batch.cell.numpy())  # those that are masked are asked for, no others
    assert np.array_equal(batch.item.numpy()[~masked], np.maximum(event, 0)[~masked])
    user = world.user[number]
    places = number - world.indptr[user]
    return batch, [set(places[user == one].tolist()) for one in range(world.n_users)]


@given(
    st.lists(st.integers(1, 16), min_size=1, max_size=20), st.sampled_from([0.01, 0.2, 0.6, 0.99]), st.integers(0, 99)
)
def test_the_share_is_hidden_and_something_stays_visible(lengths: list[int], share: float, seed: int) -> None:
    _, hidden = hidden_of(history(lengths), MaskedItems(share, 0.0), seed)
    for length, places in zip(lengths, hidden, strict=True):
        assert len(places) == min(max(1, round(share * length)), max(1, length - 1))


def test_the_last_alone_is_hidden_in_its_share() -> None:
    _, hidden = hidden_of(history([3, 10, 7]), MaskedItems(0.6, 1.0), 0)
    assert hidden == [{2}, {9}, {6}]
    _, hidden = hidden_of(history([10] * 2000), MaskedItems(0.5, 0.3), 0)
    assert np.mean([places == {9} for places in hidden]) == pytest.approx(0.3, abs=0.04)


def test_every_place_is_hidden_alike() -> None:
    _, hidden = hidden_of(history([10] * 2000), MaskedItems(0.2, 0.0), 0)
    counts = np.bincount([place for places in hidden for place in places])
    assert counts == pytest.approx(np.full(10, 400), rel=0.2)


def test_who_else_is_packed_changes_no_count_and_a_seed_repeats() -> None:
    world, objective = history([5, 9, 2, 16, 1]), MaskedItems(0.4, 0.2)
    one, again, other = (hidden_of(world, objective, seed)[1] for seed in (3, 3, 4))
    assert one == again != other
    apart = hidden_of(world, MaskedItems(0.4, 0.0), 3, width=64)[1]
    assert [len(places) for places in apart] == [2, 4, 1, 6, 1]


def test_a_hidden_event_keeps_its_time() -> None:
    world = history([4, 3])
    batch, _ = hidden_of(world, MaskedItems(0.5, 0.0), 0)
    whole = inputs(world)
    for given_, all_ in ((batch.gap, whole.gap), (batch.hour, whole.hour)):
        assert given_ is not None
        assert all_ is not None
        assert batch.target is not None
        assert np.array_equal(given_.flatten()[batch.cell].numpy(), all_[batch.target.numpy()])


def test_users_with_one_event_are_no_lesson() -> None:
    world, objective = history([1, 4, 0, 2]), MaskedItems(0.2, 0.1)
    assert objective.predicted(world).tolist() == [False] + [True] * 6
    lessons = Lessons.of(world, inputs(world), objective, 3)
    assert sorted(lessons.packing.length.tolist()) == [1, 2, 3]  # four events are cut, at their beginning
    [batch] = lessons.epoch(8, np.random.default_rng(0))
    assert len(lessons) == 6
    assert len(batch.cell) == 3


def test_the_next_item_is_predicted_from_all_but_the_last() -> None:
    world, objective = history([1, 4, 2]), NextItem()
    assert objective.predicted(world).tolist() == [False, False, True, True, True, False, True]
    lessons = Lessons.of(world, inputs(world), objective, 8)
    [batch] = lessons.epoch(8, np.random.default_rng(0))
    assert batch.target is not None
    assert sorted(batch.target.tolist()) == [2, 3, 4, 6]


@pytest.mark.parametrize("timed", [True, False])
def test_the_mask_is_asked_at_the_time_of_the_request(timed: bool) -> None:
    world, objective = history([6, 2, 3]), MaskedItems(0.2, 0.1)
    user = np.array([2, 0], dtype=np.int32)
    last = np.array([10, 5]) * HOUR
    requests = Requests(user, last + 3 * HOUR if timed else None)
    batch = objective.at_requests(inputs(world), world, requests, 4)
    assert batch.gap is not None
    assert batch.hour is not None
    for cell, known, hour in zip(batch.cell.tolist(), ([8, 9, 10], [3, 4, 5]), (10, 5), strict=True):
        assert batch.item.flatten()[cell - 3 : cell + 1].tolist() == [*known, MASK]
        gap = batch.gap.flatten()[cell - 3 : cell + 1].tolist()
        hourly = int(gap_class(np.array([HOUR]))[0])
        begins = FIRST if known[0] == 8 else hourly
        assert gap == [begins, hourly, hourly, int(gap_class(np.array([3 * HOUR]))[0]) if timed else 0]
        assert batch.hour.flatten()[cell] == (hour + 3 if timed else hour) % 24
