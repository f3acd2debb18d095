"""Drawn negatives: who may be drawn, how often, for whom, and where there are too few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, Requests
from recx.evaluation.negatives import Draw, Negatives

N_USERS, N_ITEMS = 50, 30


def events(per_user: list[list[tuple[int, int]]], n_items: int, times: bool = True) -> Interactions:
    flat = [event for of_user in per_user for event in of_user]
    return Interactions(
        indptr_of(np.array([len(of_user) for of_user in per_user])),
        np.array([item for item, _ in flat], dtype=np.int32),
        np.array([time for _, time in flat], dtype=np.int64) if times else None,
        np.ones(len(flat), dtype=np.float32),
        Entities(np.arange(len(per_user))),
        Entities(np.arange(n_items)),
    )


def fold_of(seed: int = 0, times: bool = True) -> Fold:
    """Return events of which the popular items come first and most often, and a target for every user."""
    rng = np.random.default_rng(seed)
    per_user = [
        sorted(((int(N_ITEMS * rng.random() ** 2), int(rng.integers(100))) for _ in range(6)), key=lambda e: e[1])
        for _ in range(N_USERS)
    ]
    history = events(per_user, N_ITEMS, times)
    target = events([[(int(rng.integers(N_ITEMS)), 200)] for _ in range(N_USERS)], N_ITEMS, times)
    users = np.arange(N_USERS, dtype=np.int32)
    return Fold(history, target, Requests(users, np.arange(N_USERS) * 2 + 20 if times else None))


def may_be_drawn(fold: Fold, user: int, draw: Draw) -> set[int]:
    """Return the items that may be drawn for a user, one after another."""
    found = set()
    for item in range(fold.history.n_items):
        was_there = (
            fold.history.time is None
            or fold.requests.time is None
            or any(
                time < fold.requests.time[user]
                for one, time in zip(fold.history.item, fold.history.time, strict=True)
                if one == item
            )
        )
        own = {*fold.history.item[fold.history.indptr[user] : fold.history.indptr[user + 1]].tolist()}
        assert fold.target is not None
        own |= {int(fold.target.item[user])}
        allowed = fold.requests.allowed is None or fold.requests.allowed[item]
        clicked = draw == "uniform" or fold.history.clicks[item] > 0
        if was_there and item not in own and allowed and clicked:
            found.add(item)
    return found


@pytest.mark.parametrize("draw", ["uniform", "popularity"])
@pytest.mark.parametrize("times", [True, False], ids=["times", "no times"])
@pytest.mark.parametrize("some", [True, False], ids=["some allowed", "all allowed"])
def test_only_what_the_user_could_have_been_shown_is_drawn(draw: Draw, times: bool, some: bool) -> None:
    fold = fold_of(times=times)
    if some:
        fold = replace(fold, requests=replace(fold.requests, allowed=np.arange(N_ITEMS) % 4 > 0))
    negatives, users = Negatives(fold, draw, 3), fold.requests.user
    expected = [may_be_drawn(fold, user, draw) for user in users.tolist()]
    assert negatives.pools(users).tolist() == [len(of_user) for of_user in expected]
    least = min(map(len, expected))
    found = negatives.items(users, least)
    for own, of_user in zip(found.tolist(), expected, strict=True):
        assert len(set(own)) == least
        assert set(own) <= of_user
    whole = int(np.argmin([len(of_user) for of_user in expected]))
    assert set(found[whole].tolist()) == expected[whole]  # the last ones are found too


def test_items_that_were_created_may_be_drawn_before_their_first_click() -> None:
    history = replace(
        events([[(0, 10)], [(1, 50)]], 4),
        items=Entities(np.arange(4), {"created_at": np.array([0, 20, 30, UNKNOWN_TIME])}),
    )
    fold = Fold(history, events([[(3, 60)], [(3, 60)]], 4), Requests(np.arange(2, dtype=np.int32), np.array([25, 60])))
    negatives = Negatives(fold, "uniform", 0)
    assert negatives.pools(fold.requests.user).tolist() == [1, 2]
    assert negatives.items(fold.requests.user[:1], 1).tolist() == [[1]]


def test_what_is_drawn_for_a_user_depends_on_nobody_else_and_on_the_seed() -> None:
    fold = fold_of()
    users = fold.requests.user
    found = Negatives(fold, "uniform", 3).items(users, 5)
    for chosen in (users[::3], users[7:8], users[:0]):
        assert Negatives(fold, "uniform", 3).items(chosen, 5).tolist() == found[chosen].tolist()
    assert (Negatives(fold, "uniform", 4).items(users, 5) != found).any()
    assert (Negatives(fold, "popularity", 3).items(users, 5) != found).any()


@pytest.mark.parametrize("draw", ["uniform", "popularity"])
def test_items_are_drawn_with_their_chances(draw: Draw) -> None:
    """Of 20,000 users who had nothing, each gets one of four items, clicked 1, 2, 3 and 4 times by others."""
    n = 20_000
    others = [(item, 0) for item in range(4) for _ in range(item + 1)]
    history = events([*([] for _ in range(n)), others], 5, times=False)
    fold = Fold(history, events([[(4, 0)]] * n + [[]], 5, times=False), Requests(np.arange(n, dtype=np.int32)))
    share = np.bincount(Negatives(fold, draw, 0).items(fold.requests.user, 1).ravel(), minlength=5) / n
    expected = [0.25, 0.25, 0.25, 0.25, 0] if draw == "uniform" else [0.1, 0.2, 0.3, 0.4, 0]
    assert share == pytest.approx(expected, abs=0.015)


def test_too_few_items_are_refused() -> None:
    fold = fold_of()
    with pytest.raises(
        InputError, match=r"evaluator\.negatives=uniform: 29 items are to be drawn for each user, .* ask"
    ):
        Negatives(fold, "uniform", 0).items(fold.requests.user, 29)
