from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Interactions, Requests
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.shared import co_clicks, item_weights
from recx.parts.shared.top_k import Eligibility

H = 3_600_000  # ms


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    """Five clicks: user 0 goes 0, 1, 2 in an hour each, user 1 goes 0, 2 in two hours; user 2 has none."""
    return drawn([[(0, 0), (1, H), (2, 2 * H)], [(0, 0), (2, 2 * H)], []], 4)


PLAIN = {"position_decay": 0.5, "backward": 0.25, "normalise": "none"}
# One place apart: 0 to 1, 1 to 2 and 0 to 2 (user 1). Two places: 0 to 2 (user 0) at 0.5.
COUNTS = np.array([[0, 1, 1.5, 0], [0.25, 0, 1, 0], [0.375, 0.25, 0, 0], [0, 0, 0, 0]])


def test_co_clicks_by_hand(world: Interactions) -> None:
    assert ItemKNN(**PLAIN).fit(world).weights.toarray() == pytest.approx(COUNTS)


def test_a_wide_gap_in_time_counts_less(world: Interactions) -> None:
    counts = ItemKNN(**PLAIN, half_life="1h").fit(world).weights.toarray()
    # Gaps: one hour for 0 to 1 and 1 to 2, two for both of 0 to 2.
    assert counts[0] == pytest.approx([0, 0.5, 1.5 / 4, 0])
    assert counts[2] == pytest.approx([0.375 / 4, 0.125, 0, 0])


@pytest.mark.parametrize(("normalise", "power"), [("cosine", 0.5), ("lift", 1.0)])
def test_both_items_clicks_divide(world: Interactions, normalise: str, power: float) -> None:
    settings = {**PLAIN, "normalise": normalise, "shrink": 2.0}
    clicks = np.array([2, 1, 2, 1]) + 2.0  # the fourth item has none, and no neighbour either
    expected = COUNTS / np.outer(clicks, clicks) ** power
    assert ItemKNN(**settings).fit(world).weights.toarray() == pytest.approx(expected, rel=1e-6)


def test_no_shrinking_is_allowed_where_an_item_has_no_click(world: Interactions) -> None:
    assert np.isfinite(ItemKNN(shrink=0.0).fit(world).weights.data).all()


def test_only_the_nearest_neighbours_are_kept(world: Interactions) -> None:
    assert ItemKNN(**PLAIN, neighbours=1).fit(world).weights.toarray() == pytest.approx(
        np.where(COUNTS.max(axis=1, keepdims=True) == COUNTS, COUNTS, 0)
    )


def test_the_neighbours_of_an_item_to_recommend_are_kept_where_that_is_asked_for(world: Interactions) -> None:
    kept = ItemKNN(**PLAIN, neighbours=1, nearest_to="recommend").fit(world).weights.toarray()
    assert kept == pytest.approx(np.where(COUNTS.max(axis=0, keepdims=True) == COUNTS, COUNTS, 0))


def test_whose_neighbours_they_are_is_nothing_where_all_are_kept(world: Interactions) -> None:
    assert ItemKNN(**PLAIN, nearest_to="recommend").fit(world).weights.toarray() == pytest.approx(COUNTS)


@pytest.mark.parametrize(("nearest_to", "axis"), [("clicked", 1), ("recommend", 0)])
def test_the_weights_of_an_items_neighbours_add_up_to_one(world: Interactions, nearest_to: str, axis: int) -> None:
    weights = ItemKNN(**PLAIN, nearest_to=nearest_to, sum_to_one=True).fit(world).weights.toarray()
    total = COUNTS.sum(axis=axis, keepdims=True)
    assert weights == pytest.approx(np.divide(COUNTS, total, out=np.zeros_like(COUNTS), where=total > 0))


@given(st.lists(st.sets(st.integers(0, 7)), min_size=1, max_size=8), st.integers(1, 4))
def test_of_sets_of_items_it_is_the_textbooks(clicked: list[set[int]], neighbours: int) -> None:
    """Cosine of two items' users, the nearest of each item to recommend, divided by their sum."""
    users, events = np.zeros((len(clicked), 8)), [(user, item) for user, items in enumerate(clicked) for item in items]
    for user, item in events:
        users[user, item] = 1
    length = np.maximum(np.sqrt((users**2).sum(axis=0)), 1)
    near = users.T @ users / np.outer(length, length) * (1 - np.eye(8))
    place = np.argsort(np.argsort(-near, axis=1, kind="stable"), axis=1)  # row: the item to recommend
    near = np.where(place < neighbours, near, 0)
    near /= np.maximum(near.sum(axis=1, keepdims=True), 1e-12)
    indptr = np.r_[0, np.cumsum([len(items) for items in clicked])]
    names = Entities(np.arange(len(clicked)).astype(str)), Entities(np.arange(8).astype(str))
    history = Interactions(
        indptr, np.array([item for _, item in events], np.int32), None, np.ones(len(events), np.float32), *names
    )
    sets = {"distance": 8, "last": 8, "position_decay": 1.0, "recency": 1.0, "backward": 1.0, "shrink": 0.0}
    fitted = ItemKNN(neighbours, "recommend", True, **sets).fit(history)
    tied = np.sort(users.T @ users / np.outer(length, length) * (1 - np.eye(8)), axis=1)[:, ::-1]
    clear = (tied[:, neighbours - 1] > tied[:, neighbours] + 1e-6) | (tied[:, neighbours] == 0)  # no tie at the cut
    assert fitted.weights.toarray().T[clear] == pytest.approx(near[clear], abs=1e-6)


def test_only_pairs_so_many_places_apart_count(world: Interactions) -> None:
    assert ItemKNN(**PLAIN, distance=1).fit(world).weights.toarray()[0] == pytest.approx([0, 1, 1, 0])


def test_an_item_clicked_twice_is_no_neighbour_of_itself(drawn: Callable[..., Interactions]) -> None:
    assert ItemKNN().fit(drawn([[(0, 1), (0, 2)]], 2)).weights.nnz == 0


def test_the_last_clicks_ask_and_older_ones_count_less(
    world: Interactions, drawn: Callable[..., Interactions], asking: Callable, shown: Callable
) -> None:
    # User 0 now has a history that is longer than the one of the fit: first 1, then 0.
    longer = drawn([[(1, 0), (0, H)], [(1, 0)], []], 4)
    lists = ItemKNN(**PLAIN, recency=0.5).fit(world).retrieve(longer, asking(2 * H, H, H), 2)
    assert shown(lists) == [[], [], []]  # at that moment nobody has clicked 2 in this history, and 0 not before H
    lists = ItemKNN(**PLAIN, recency=0.5, seen="keep").fit(world).retrieve(longer, asking(2 * H, 2 * H, H), 2)
    assert shown(lists) == [[1, 0], [0], []]
    assert lists.score.tolist() == pytest.approx([1, 0.5 * 0.25, 0.25])


def test_what_is_near_to_none_of_the_clicks_is_not_retrieved(
    world: Interactions, asking: Callable, shown: Callable
) -> None:
    assert shown(ItemKNN(**PLAIN).fit(world).retrieve(world, asking(3 * H, 3 * H, 3 * H), 4)) == [[], [1], []]


@pytest.mark.parametrize(
    ("key", "value"),
    [("neighbours", 0), ("distance", 0), ("last", 0), ("normalise", "pmi"), ("half_life", "1"), ("shrink", -1.0),
     ("backward", -0.1), ("recency", 0.0), ("recency", 1.1), ("position_decay", 0.0)],
)  # fmt: skip
def test_bad_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(InputError, match=f"retriever.{key}="):
        ItemKNN(**{key: value})


WORLDS = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=7), min_size=1, max_size=6
)  # the events of each user: item, and hours since the last one
SETTINGS = st.fixed_dictionaries(
    {
        "neighbours": st.integers(1, 8),
        "distance": st.integers(1, 8),
        "position_decay": st.sampled_from([0.5, 1.0]),
        "half_life": st.sampled_from([None, "1h"]),
        "backward": st.sampled_from([0.0, 0.25, 1.0]),
        "normalise": st.sampled_from(["cosine", "lift", "none"]),
        "last": st.integers(1, 4),
        "recency": st.sampled_from([0.5, 1.0]),
        "seen": st.sampled_from(["drop", "keep"]),
    }
)


def as_history(users: list[list[tuple[int, int]]], drawn: Callable[..., Interactions]) -> Interactions:
    return drawn(
        [list(zip([i for i, _ in user], np.cumsum([g * H for _, g in user]), strict=True)) for user in users], 8
    )


def by_pairs(history: Interactions, of: ItemKNN) -> np.ndarray:
    """Return the normalised co-clicks of all pairs of items, before the neighbours are chosen."""
    total, n = np.zeros((history.n_items, history.n_items)), history.indptr
    for user in range(history.n_users):
        for a in range(n[user], n[user + 1]):
            for b in range(a + 1, min(a + of.distance + 1, n[user + 1])):
                weight = of.position_decay ** (b - a - 1)
                if of.half_life:
                    weight *= 0.5 ** ((history.time[b] - history.time[a]) / H)
                total[history.item[a], history.item[b]] += weight
                total[history.item[b], history.item[a]] += weight * of.backward
    np.fill_diagonal(total, 0)
    scale = (np.maximum(history.clicks, 1) + of.shrink) ** -{"cosine": 0.5, "lift": 1.0, "none": 0.0}[of.normalise]
    return total * np.outer(scale, scale)


@given(users=WORLDS, settings=SETTINGS)
def test_neighbours_are_the_largest_of_all_pairs(
    users: list[list[tuple[int, int]]], settings: dict, drawn: Callable[..., Interactions]
) -> None:
    history, of = as_history(users, drawn), ItemKNN(**settings)
    found, expected = of.fit(history).weights.toarray(), by_pairs(history, of)
    largest = -np.sort(-expected, axis=1)[:, : of.neighbours]
    assert -np.sort(-found, axis=1)[:, : of.neighbours] == pytest.approx(largest, rel=1e-6)
    assert found[found > 0] == pytest.approx(expected[found > 0], rel=1e-6)
    assert ((found > 0).sum(axis=1) == np.minimum((expected > 0).sum(axis=1), of.neighbours)).all()


@given(users=WORLDS, settings=SETTINGS, k=st.integers(1, 9), hour=st.integers(0, 12))
def test_the_lists_are_those_of_the_matrix_product(
    users: list[list[tuple[int, int]]], settings: dict, k: int, hour: int, drawn: Callable[..., Interactions]
) -> None:
    history = as_history(users, drawn)
    fitted = ItemKNN(**settings).fit(history)
    requests = Requests(np.arange(history.n_users, dtype=np.int32), np.full(history.n_users, hour * H))
    lists = fitted.retrieve(history, requests, k)
    hidden, similarity = Eligibility(history, settings["seen"]).hidden(requests), fitted.weights.toarray()
    for user in range(history.n_users):
        clicked = history.item[history.indptr[user] : history.indptr[user + 1]][::-1][: settings["last"]]
        score = np.zeros(history.n_items, dtype=np.float32)
        for back, item in enumerate(clicked):
            score += np.float32(settings["recency"] ** back) * similarity[item]
        shown = sorted(np.flatnonzero((score > 0) & ~hidden[user]).tolist(), key=lambda item: (-score[item], item))[:k]
        rows = slice(lists.indptr[user], lists.indptr[user + 1])
        assert lists.item[rows].tolist() == shown
        assert lists.score[rows].tolist() == score[shown].tolist()


def test_threads_and_blocks_change_no_bit(monkeypatch: pytest.MonkeyPatch, drawn: Callable[..., Interactions]) -> None:
    rng = np.random.default_rng(0)
    history = as_history([[(rng.integers(0, 8), rng.integers(0, 2)) for _ in range(9)] for _ in range(40)], drawn)
    requests = Requests(np.arange(40, dtype=np.int32), np.full(40, 9 * H))

    def made() -> list[list[float]]:
        fitted = ItemKNN(neighbours=3, last=4).fit(history)
        lists = fitted.retrieve(history, requests, 3)
        return [
            fitted.weights.data.tolist(),
            fitted.weights.indices.tolist(),
            lists.item.tolist(),
            lists.score.tolist(),
        ]

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    whole = made()
    assert len(whole[-1]) > 40
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(item_weights, "LISTS", 3)
    monkeypatch.setattr(co_clicks, "PIECES", 5)
    assert made() == whole
