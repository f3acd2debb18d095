"""Confused items: by hand, and equal to a slow loop."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.evaluation.metrics.confused import confused_items

TEXTS = {1: "sends a mail", 2: "sends a letter", 3: "computes", 4: "sends a mail", 5: " - "}


@pytest.fixture(scope="session")
def world(judge):
    def judged(shown, targets):
        table = {"text": np.array([TEXTS.get(item, "") for item in range(50)], dtype=object)}
        grades = {user: dict.fromkeys(items, 1.0) for user, items in targets.items()}
        return replace(judge(shown, grades), items=Entities(np.arange(50) + 100, table))

    return judged


def test_by_hand(world):
    """Users 0 and 1 want item 1 and get item 2; user 2 is right; 3 has no list; 4 has two right ones and gets 3."""
    judged = world({0: [2, 1], 1: [2], 2: [1, 2], 3: [], 4: [3, 1]}, {0: [1], 1: [1], 2: [1], 3: [1], 4: [1, 5]})
    table = confused_items(judged)
    rows = list(zip(*(table[name].tolist() for name in ("right", "first", "times", "of")), strict=True))
    assert rows == [(101, 102, 2, 5), (101, 103, 1, 5), (105, 103, 1, 1)]
    assert table["share"] == pytest.approx([2 / 5, 1 / 5, 1])
    mail, letter, nothing = table["similarity"]
    assert 0 == letter < mail < 1
    assert np.isnan(nothing)
    assert [len(column) for column in confused_items(judged, most=1).values()] == [1] * 6


def test_equal_texts_have_a_similarity_of_1(world):
    assert confused_items(world({0: [4]}, {0: [1]}))["similarity"] == pytest.approx([1])


def test_without_texts_and_without_mistakes(world, judge):
    untold = replace(judge({0: [2]}, {0: {1: 1.0}}), items=Entities(np.arange(50)))
    assert np.isnan(confused_items(untold)["similarity"]).tolist() == [True]
    assert all(len(column) == 0 for column in confused_items(world({0: [1]}, {0: [1]})).values())


LISTS = st.dictionaries(
    st.integers(0, 9),
    st.tuples(st.lists(st.integers(0, 4), max_size=3, unique=True), st.sets(st.integers(0, 4), min_size=1, max_size=2)),
    min_size=1,
)


@given(LISTS)
def test_it_counts_what_a_slow_loop_counts(world, lists):
    shown = {user: items for user, (items, _) in lists.items()}
    wanted = {user: sorted(items) for user, (_, items) in lists.items()}
    table = confused_items(world(shown, wanted))
    expected = Counter(
        (right, items[0])
        for user, items in shown.items()
        if items and items[0] not in wanted[user]
        for right in wanted[user]
    )
    found = zip(table["right"] - 100, table["first"] - 100, table["times"], strict=True)
    assert {(int(right), int(first)): int(times) for right, first, times in found} == expected
    assert (np.diff(table["times"]) <= 0).all()
    assert ((table["share"] > 0) & (table["share"] <= 1)).all()
