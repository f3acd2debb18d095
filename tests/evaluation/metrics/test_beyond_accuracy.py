"""Figures beyond accuracy: fractions by hand, laws, and equality with slow textbook loops."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.total import Total
from recx.core.types import Interactions
from recx.evaluation.metrics import beyond_accuracy
from recx.evaluation.metrics.beyond_accuracy import FIGURES, NOTES, UNCUT

N_ITEMS = 8
ONE_NUMBER = {"coverage", "gini", "entropy", "hit_num", "num_queries"}
OF_HISTORY = ("novelty", "popularity", "new_items", "serendipity")
UNSEEN = 49  # a target that no list shows


@pytest.fixture(scope="session")
def world(judge):
    """Judge lists over a catalogue of ``N_ITEMS``, with events (user, item) as the history."""

    def judged(shown, grades=None, events=(), category=None, embedding=None, rel_threshold=1.0):
        table = {} if category is None else {"category": np.array(category, dtype=np.int32)}
        vectors = None if embedding is None else np.array(embedding, dtype=np.float32)
        items = Entities(np.arange(N_ITEMS), table, vectors)
        frame = pd.DataFrame(list(events), columns=["user", "item"]).astype(int)
        history = Interactions.from_frame(frame, users=Entities(np.arange(10)), items=items)
        grades = grades or {user: {UNSEEN: 1.0} for user in shown}
        return replace(judge(shown, grades, rel_threshold), history=history, items=items)

    return judged


def value(name, judged, k=None):
    found = FIGURES[name](judged, k)
    return found.value if isinstance(found, Total) else found


# ---- exposure and counts


def test_exposure_by_hand(world):
    """Item 0 is shown three times, 1 twice, 2 once; five of eight items never."""
    judged = world({0: [0, 1, 2], 1: [0, 1], 2: [0], 3: []})
    assert value("coverage", judged) == 3 / 8
    # Sorted 0 0 0 0 0 1 2 3, weights -7 -5 -3 -1 1 3 5 7: (3 + 10 + 21) / (8 * 6).
    assert value("gini", judged) == pytest.approx(34 / 48)
    assert value("entropy", judged) == pytest.approx(1 / 2 * 1 + 1 / 3 * math.log2(3) + 1 / 6 * math.log2(6))
    assert value("coverage", judged, 1) == 1 / 8
    assert value("gini", judged, 1) == 7 / 8  # one item alone: 1 - 1/n
    assert value("entropy", judged, 1) == 0
    assert value("coverage", judged, 100) == value("coverage", judged)


def test_all_items_equally_often_is_gini_0_and_the_highest_entropy(world):
    judged = world({u: [(u + r) % N_ITEMS for r in range(4)] for u in range(N_ITEMS)})
    for k in (1, 3, None):
        assert value("gini", judged, k) == 0
        assert value("entropy", judged, k) == pytest.approx(3)  # log2 of eight items
        assert value("coverage", judged, k) == 1


def test_nothing_shown_is_0_in_every_figure_but_the_number_of_queries(world):
    judged = world({0: [], 1: []}, events=[(0, 1)], category=[0] * N_ITEMS, embedding=np.eye(N_ITEMS))
    for name in FIGURES:
        for k in (None, 3):
            assert not np.any(value(name, judged, k)) or name == "num_queries", name
    assert value("num_queries", judged) == 2


def test_hits_are_counted_by_relevance_and_queries_with_or_without_a_list(world):
    grades = {0: {1: 2.0}, 1: {2: 1.0, UNSEEN: 2.0}, 2: {3: 2.0}, 3: {4: 2.0}}
    judged = world({0: [1], 1: [2], 2: [5, 3]}, grades, rel_threshold=2.0)
    assert [value("hit_num", judged, k) for k in (1, 2, 9, None)] == [1, 2, 2, 2]  # 1 shows a target of grade 1 only
    assert value("num_queries", judged) == 4
    assert isinstance(value("hit_num", judged), float)


def test_queries_are_those_with_a_target_at_a_higher_threshold_too(world):
    judged = world({0: [1], 1: [2]}, {0: {1: 1.0}, 1: {2: 3.0}})
    assert value("num_queries", judged) == 2
    assert value("num_queries", judged.at(2.0)) == 1


def test_the_tables_say_what_takes_no_cut_and_what_gives_one_number(world):
    judged = world({0: [0]}, events=[(0, 1)], category=[0] * N_ITEMS, embedding=np.eye(N_ITEMS))
    assert {"num_queries"} == UNCUT
    assert {name for name in FIGURES if isinstance(value(name, judged, 1), float)} == ONE_NUMBER
    assert all(value(name, judged, 1).dtype == np.float64 for name in FIGURES if name not in ONE_NUMBER)


# ---- against the history

EVENTS = [(0, 0), (0, 0), (0, 1), (1, 0), (2, 0), (2, 2), (3, 1)]
"""Item 0: four events of three users, 1: two of two, 2: one of one, the others none; four users in all."""


def test_novelty_counts_users_once_and_items_that_nobody_had_as_had_by_one(world):
    judged = world({0: [0, 1], 1: [2, 5], 2: [], 3: [1, 0, 5]}, events=EVENTS)
    rare, half, common = math.log2(4 / 1), math.log2(4 / 2), math.log2(4 / 3)
    assert value("novelty", judged) == pytest.approx([(common + half) / 2, rare, 0, (half + common + rare) / 3])
    assert value("novelty", judged, 1) == pytest.approx([common, rare, 0, half])
    assert value("novelty", judged, 10) == pytest.approx(value("novelty", judged))  # / what is shown, not / k


def test_popularity_and_new_items_by_hand(world):
    judged = world({0: [0, 1], 1: [2, 5], 2: [], 3: [5, 6, 0]}, events=EVENTS)
    assert value("popularity", judged) == pytest.approx([3, 1 / 2, 0, 4 / 3])
    assert value("popularity", judged, 1) == pytest.approx([4, 1, 0, 0])
    assert value("new_items", judged) == pytest.approx([0, 1 / 2, 0, 2 / 3])
    assert value("new_items", judged, 2) == pytest.approx([0, 1 / 2, 0, 1])


def test_serendipity_counts_targets_that_the_most_popular_list_is_without(world):
    shown = {0: [0, 2, 5], 1: [1, 2], 2: [6], 3: []}
    grades = {0: {0: 1, 2: 1, 5: 1}, 1: {1: 1, 2: 0.5}, 2: {UNSEEN: 1}, 3: {0: 1}}
    judged = world(shown, grades, events=EVENTS)
    assert value("serendipity", judged, 1) == pytest.approx([0, 1, 0, 0])  # the list of one is [0]
    assert value("serendipity", judged, 2) == pytest.approx([1 / 2, 0, 0, 0])  # [0, 1]
    assert value("serendipity", judged, 5) == pytest.approx([1 / 5, 0, 0, 0])  # [0, 1, 2], there are no more
    assert value("serendipity", judged) == pytest.approx([1 / 3, 0, 0, 0])  # three, as the longest list shows


def test_equally_popular_items_are_taken_by_code(world):
    events = [(0, 4), (1, 3), (2, 4), (3, 3), (3, 5)]
    judged = world({0: [3], 1: [4]}, {0: {3: 1}, 1: {4: 1}}, events=events)
    assert value("serendipity", judged, 1) == pytest.approx([0, 1])


@pytest.mark.parametrize("name", OF_HISTORY)
def test_figures_of_the_history_need_one(world, name):
    with pytest.raises(InputError, match=rf"^{name} .*history has no events: give it \(history= in recx.evaluate"):
        value(name, world({0: [1]}), 5)


# ---- within a list


def test_diversity_by_hand(world):
    """Length does not matter; 3 has no embedding; 4 is the zero vector, and 7 as good as that."""
    embedding = [[1, 0], [0, 2], [-3, 0], [np.nan, np.nan], [0, 0], [1, 1], [5, 0], [1e-42, 0]]
    shown = {0: [0, 1, 2], 1: [0, 3, 6], 2: [3, 0], 3: [], 4: [4, 0], 5: [5, 0], 6: [0, 2], 7: [7, 0]}
    judged = world(shown, embedding=embedding)
    others = [0, 0, 0, 1, 1 - math.sqrt(1 / 2), 2, 1]
    assert value("diversity", judged) == pytest.approx([(1 + 2 + 1) / 3, *others], abs=1e-6)
    assert value("diversity", judged, 2) == pytest.approx([1, *others], abs=1e-6)
    assert not value("diversity", judged, 1).any()
    assert NOTES["diversity"](judged, None) == {"diversity_without_embedding": 2}
    assert NOTES["diversity"](judged, 1) == {"diversity_without_embedding_at_1": 1}


def test_diversity_does_not_depend_on_how_long_the_vectors_are(world):
    rng = np.random.default_rng(0)
    embedding = rng.normal(size=(N_ITEMS, 3))
    shown = {0: [0, 1, 2, 3], 1: [4, 5, 6]}
    long = embedding * 10.0 ** np.array([[-37], [-20], [-3], [0], [3], [10], [20], [36]])
    plain, scaled = (value("diversity", world(shown, embedding=vectors)) for vectors in (embedding, long))
    assert scaled == pytest.approx(plain, abs=1e-6)


def test_category_diversity_by_hand(world):
    category = [0, 0, 1, -1, 2, 1, 7, -1]  # of the items 0 to 7; -1: missing
    judged = world({0: [0, 1, 2], 1: [0, 3, 4], 2: [3, 0], 3: [], 4: [0, 1], 5: [0, 1, 2, 5]}, category=category)
    assert value("category_diversity", judged) == pytest.approx([2 / 3, 1, 0, 0, 0, 4 / 6])
    assert value("category_diversity", judged, 2) == pytest.approx([0, 0, 0, 0, 0, 0])
    assert NOTES["category_diversity"](judged, None) == {"category_diversity_without_category": 2}
    assert NOTES["category_diversity"](judged, 1) == {"category_diversity_without_category_at_1": 1}


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("diversity", {}),
        ("diversity", {"embedding": np.full((N_ITEMS, 2), np.nan)}),
        ("category_diversity", {}),
        ("category_diversity", {"category": [-1] * N_ITEMS}),
    ],
)
def test_what_items_lack_is_reported(world, name, missing):
    with pytest.raises(InputError, match=rf"^{name} needs .* no item has one: give them with the items"):
        value(name, world({0: [1, 2]}, **missing))


# ---- random worlds


def textbook(name, judged, k):
    """Compute a figure as its definition reads, list by list and pair by pair."""
    whole = [judged.lists.item[a:b].tolist() for a, b in pairwise(judged.lists.indptr)]
    relevant = [(judged.gain[a:b] >= judged.rel_threshold).tolist() for a, b in pairwise(judged.lists.indptr)]
    lists = [row[:k] for row in whole]
    events = list(zip(judged.history.user.tolist(), judged.history.item.tolist(), strict=True))
    clicks = [sum(item == i for _, item in events) for i in range(N_ITEMS)]
    if name in ("coverage", "gini", "entropy"):
        return textbook_exposure(name, [sum(row.count(i) for row in lists) for i in range(N_ITEMS)])
    if name == "hit_num":
        return sum(any(rows[:k]) for rows in relevant)
    if name == "num_queries":
        return len(lists)
    if name == "serendipity":
        n = k or max(len(row) for row in whole)
        popular = sorted((i for i in range(N_ITEMS) if clicks[i]), key=lambda i: (-clicks[i], i))[:n]
        found = [{i for i, r in zip(row, rows, strict=True) if r} for row, rows in zip(whole, relevant, strict=True)]
        return [
            len((found & set(row)) - set(popular)) / (k or len(row) or 1)
            for found, row in zip(found, lists, strict=True)
        ]
    if name in ("diversity", "category_diversity"):
        return [textbook_pairs(name, row, judged.items) for row in lists]
    users = [len({user for user, item in events if item == i}) for i in range(N_ITEMS)]
    of_item = {
        "novelty": [math.log2(len({user for user, _ in events}) / max(n, 1)) for n in users],
        "popularity": clicks,
        "new_items": [n == 0 for n in clicks],
    }[name]
    return [mean(of_item[i] for i in row) for row in lists]


def textbook_exposure(name, times):
    total = sum(times)
    if not total:
        return 0
    return {
        "coverage": mean(x > 0 for x in times),
        # Half the mean absolute difference of two items, relative to their mean: the same index by another formula.
        "gini": sum(abs(x - y) for x in times for y in times) / (2 * N_ITEMS * total),
        "entropy": -sum(x / total * math.log2(x / total) for x in times if x),
    }[name]


def textbook_pairs(name, row, items):
    if name == "diversity":
        return mean(distance(*items.embedding[[i, j]]) for i, j in pairs(row, items.has_embedding))
    category = items.table["category"]
    return mean(category[i] != category[j] for i, j in pairs(row, category >= 0))


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0


def pairs(row, known):
    return combinations([i for i in row if known[i]], 2)


def distance(a, b):
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return 1 - a @ b / lengths if lengths else 1.0


ITEMS = st.lists(st.integers(0, N_ITEMS - 1), unique=True, max_size=N_ITEMS)
GRADES = st.dictionaries(st.integers(0, N_ITEMS - 1), st.sampled_from([0.5, 1.0, 2.0]), max_size=4)
NUMBER = st.sampled_from([-2.0, -0.5, 0.0, 1.0, 1.5])
WORLDS = st.fixed_dictionaries(
    {
        "shown": st.dictionaries(st.integers(0, 9), ITEMS, min_size=1, max_size=6),
        "grades": st.dictionaries(st.integers(0, 9), GRADES, max_size=9),
        "events": st.lists(st.tuples(st.integers(0, 9), st.integers(0, N_ITEMS - 1)), min_size=1, max_size=25),
        "category": st.lists(st.integers(-1, 2), min_size=N_ITEMS - 1, max_size=N_ITEMS - 1).map(lambda c: [*c, 3]),
        "embedding": st.lists(
            st.just([math.nan] * 3) | st.lists(NUMBER, min_size=3, max_size=3),
            min_size=N_ITEMS - 1,
            max_size=N_ITEMS - 1,
        ).map(lambda rows: [*rows, [1.0, 2.0, 0.5]]),
        "rel_threshold": st.sampled_from([0.5, 1.0, 2.0]),
    }
)


def random_world(world, parts):
    """Judge every user with a list, and user 9 with or without one."""
    users = {*parts["shown"], 9}
    grades = {user: {UNSEEN: 2.0, **parts["grades"].get(user, {})} for user in users}
    return world(**{**parts, "grades": grades})


@given(parts=WORLDS, k=st.none() | st.integers(1, 10))
def test_every_figure_equals_the_textbook_loop(world, parts, k):
    """Empty and missing lists, k beyond the list, users with the same item twice, unknown vectors and categories."""
    judged = random_world(world, parts)
    for name in FIGURES:
        assert value(name, judged, k) == pytest.approx(textbook(name, judged, k), abs=1e-6), name


@given(parts=WORLDS, k=st.none() | st.integers(1, 10), rows=st.integers(1, 5))
def test_blocks_change_nothing(world, parts, k, rows):
    judged = random_world(world, parts)
    at_once = {name: value(name, judged, k) for name in FIGURES}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beyond_accuracy, "ROWS_AT_ONCE", rows)
        for name in FIGURES:
            assert np.array_equal(value(name, replace(judged), k), at_once[name]), name


@given(parts=WORLDS)
def test_bounds_and_what_a_longer_cut_may_do(world, parts):
    judged = random_world(world, parts)
    values = {name: [value(name, judged, k) for k in (*range(1, N_ITEMS + 1), None)] for name in FIGURES}
    for name in ("coverage", "hit_num"):
        assert sorted(values[name]) == values[name], name
    assert np.array_equal(values["num_queries"], [judged.n_users] * (N_ITEMS + 1))
    for name in ("coverage", "new_items", "category_diversity", "serendipity"):
        assert np.min(values[name]) >= 0, name
        assert np.max(values[name]) <= 1, name
    assert 0 <= np.min(values["diversity"]) <= np.max(values["diversity"]) <= 2
    assert 0 <= np.min(values["gini"]) <= np.max(values["gini"]) <= 1 - 1 / N_ITEMS
    assert 0 <= np.min(values["novelty"]) <= np.max(values["novelty"]) <= math.log2(10)
    for entropy, coverage in zip(values["entropy"], values["coverage"], strict=True):
        assert 0 <= entropy <= math.log2(max(coverage * N_ITEMS, 1)) + 1e-12


@given(parts=WORLDS)
def test_order_within_a_whole_list_does_not_matter(world, parts):
    backwards = {user: items[::-1] for user, items in parts["shown"].items()}
    one, other = random_world(world, parts), random_world(world, {**parts, "shown": backwards})
    for name in FIGURES:
        assert value(name, one) == pytest.approx(value(name, other), abs=1e-6), name
