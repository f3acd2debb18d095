"""Popularity bias: fractions by hand, laws, and sums over blocks of users."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.evaluation.metrics.popularity_bias import FIGURES, short_head
from recx.evaluation.metrics.registry import metric, parse

N_ITEMS = 8
EVENTS = [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (1, 1), (2, 2), (3, 3), (4, 4)]
"""Ten events: item 0 has four, 1 three, 2, 3 and 4 one each; 5, 6 and 7 none."""


@pytest.fixture(scope="session")
def world(judge):
    def judged(shown, grades, events=EVENTS):
        items = Entities(np.arange(N_ITEMS))
        frame = pd.DataFrame(list(events), columns=["user", "item"]).astype(int)
        history = Interactions.from_frame(frame, users=Entities(np.arange(10)), items=items)
        return replace(judge(shown, grades), history=history, items=items)

    return judged


SHOWN = {0: [0, 5, 2], 1: [0, 1], 2: [], 9: [3, 0, 1, 6]}
GRADES = {0: {5: 1.0}, 1: {0: 1.0, 7: 1.0}, 2: {1: 1.0}, 9: {3: 1.0, 0: 1.0}}


def test_the_short_head_are_the_fewest_items_with_the_share_of_events(world):
    history = world(SHOWN, GRADES).history
    heads = {0.8: [0, 1, 2], 0.7: [0, 1], 0.71: [0, 1, 2], 0.4: [0], 0.01: [0], 0.99: [0, 1, 2, 3, 4]}
    for head, items in heads.items():
        assert np.flatnonzero(short_head(history, head)).tolist() == items, head
    alike = [(user, item) for user in range(10) for item in (2, 0, 3, 1)]
    assert np.flatnonzero(short_head(world(SHOWN, GRADES, alike).history, 0.5)).tolist() == [0, 1]  # the first


def test_by_hand(world):
    """Short head of 0.7: items 0 and 1; long tail: 2 to 7."""
    judged = world(SHOWN, GRADES)
    assert metric("aplt", head=0.7)(judged) == pytest.approx([2 / 3, 0, 0, 2 / 4])
    assert metric("aplt", k=1, head=0.7)(judged) == pytest.approx([0, 0, 0, 1])
    # Shown: head 0, 0, 1, 0, 1; tail 5, 2, 3, 6. Not in the history: of users 0 and 1 no head item, of user 2 one, of
    # user 9 two; of tail items 6 + 6 + 5 + 6.
    head, tail = 5 / 3, 4 / 23
    expected = (abs(head - tail) / 2) / ((head + tail) / 2)
    assert float(metric("pop_rsp", head=0.7)(judged)) == pytest.approx(expected)
    # Targets: head 0, 1, 0, of which the first and the last are shown; tail 5, 7, 3: 5 and 3 are shown.
    assert float(metric("pop_reo", head=0.7)(judged)) == 0
    # Cut at 2: head 0 of user 1, 0 of user 9; tail 5, 3. At 1: head 0 of user 1, tail 3.
    assert float(metric("pop_reo", k=1, head=0.7)(judged)) == 0
    one_sided = world({0: [0], 1: [0], 2: [1], 9: [0]}, GRADES)
    assert float(metric("pop_reo", head=0.7)(one_sided)) == 1  # no target of the long tail is shown
    assert parse("aplt")(one_sided).tolist() == [0, 0, 0, 0]


def test_names_of_papers_are_answered_with_ours(world):
    judged = world(SHOWN, GRADES)
    assert parse("popularity")(judged) == pytest.approx([(4 + 0 + 1) / 3, 7 / 2, 0, (1 + 4 + 3 + 0) / 4])
    with pytest.raises(InputError, match="it is called popularity_at_10 here"):
        parse("ARP@10")
    with pytest.raises(InputError, match="it is called pop_reo_at_10 here"):
        parse("PopREO@10")


def test_without_events_they_say_what_is_missing(world):
    for name in FIGURES:
        with pytest.raises(InputError, match=f"{name} compares the items shown with the history"):
            parse(name)(world(SHOWN, GRADES, []))


ITEMS = st.lists(st.integers(0, N_ITEMS - 1), unique=True, max_size=N_ITEMS)
TARGETS = st.dictionaries(st.integers(0, N_ITEMS - 1), st.sampled_from([0.5, 1.0, 3.0]), min_size=1, max_size=4)


@given(
    worlds=st.dictionaries(st.integers(0, 9), st.tuples(ITEMS, TARGETS), min_size=1, max_size=5),
    events=st.lists(st.tuples(st.integers(0, 9), st.integers(0, N_ITEMS - 1)), min_size=1, max_size=20),
    k=st.none() | st.integers(1, 9),
    head=st.sampled_from([0.3, 0.8]),
)
def test_they_equal_slow_loops_and_are_sums_over_blocks_of_users(world, worlds, events, k, head):
    shown = {user: items for user, (items, _) in worlds.items()}
    grades = {user: {**targets, 0: 1.0} for user, (_, targets) in worlds.items()}  # everybody has a relevant one
    judged = world(shown, grades, events)
    clicks = [sum(item == one for _, one in events) for item in range(N_ITEMS)]
    head_items: set[int] = set()
    for item in sorted(range(N_ITEMS), key=lambda one: (-clicks[one], one)):
        if sum(clicks[one] for one in head_items) >= head * len(events):
            break
        head_items.add(item)
    groups = [head_items, set(range(N_ITEMS)) - head_items]
    seen = {user: {item for one, item in events if one == user} for user in range(10)}
    lists = {user: items if k is None else items[:k] for user, items in shown.items()}
    targets = {user: {item for item, grade in of.items() if grade >= 1} for user, of in grades.items()}

    def disparity(rates: list[float]) -> float:
        mean = sum(rates) / len(rates) if rates else 0
        return (sum((rate - mean) ** 2 for rate in rates) / len(rates)) ** 0.5 / mean if mean else 0.0

    rsp, reo = [], []
    for group in groups:
        there = sum(len(group - seen[user]) for user in lists)
        rsp += [sum(len(group & set(items)) for items in lists.values()) / there] if there else []
        there = sum(len(group & targets[user]) for user in lists)
        reo += [sum(len(group & set(lists[user]) & targets[user]) for user in lists) / there] if there else []
    aplt = [len(groups[1] & set(lists[user])) / max(len(lists[user]), 1) for user in sorted(lists)]
    assert metric("aplt", k, head=head)(judged) == pytest.approx(aplt)
    for name, rates in (("pop_rsp", rsp), ("pop_reo", reo)):
        whole = metric(name, k, head=head)(judged)
        assert float(whole) == pytest.approx(disparity(rates))
        first = np.arange(judged.n_users) < judged.n_users // 2
        parts = [metric(name, k, head=head)(judged.of_users(chosen)) for chosen in (first, ~first)]
        assert float(parts[0] + parts[1]) == pytest.approx(float(whole))
