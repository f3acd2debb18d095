"""Small worlds for the features: random clicks with ties, gaps in what is known, and events after the requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, RankedLists, Requests

HOUR = 3_600_000
START = 1_506_816_000_000
Rows = list[tuple[int, int, int]]


@dataclass(frozen=True)
class World:
    """A history, the requests made of it and candidates for them. ``events``: (user, item, time) by user and time."""

    history: Interactions
    requests: Requests
    candidates: RankedLists

    @property
    def events(self) -> Rows:
        history = self.history
        times = np.zeros(len(history), np.int64) if history.time is None else history.time
        return [(int(u), int(i), int(t)) for u, i, t in zip(history.user, history.item, times, strict=True)]

    def now(self, row: int) -> float:
        """The request's time of a row of the candidates; after everything where the data has no times."""
        number = self.candidates.list_of_row[row]
        return np.inf if self.requests.time is None else int(self.requests.time[number])

    def before(self, row: int) -> Rows:
        """All users' events strictly before the row's request."""
        return [event for event in self.events if event[2] < self.now(row)]

    def own(self, row: int) -> Rows:
        """The asking user's events, oldest first."""
        user = self.candidates.user[self.candidates.list_of_row[row]]
        return [event for event in self.events if event[0] == user]


def history_of(events: Rows, users: Entities, items: Entities, timed: bool = True) -> Interactions:
    ordered = sorted(events, key=lambda event: (event[0], event[2]))
    user, item, time = (np.array(column) for column in zip(*ordered, strict=True)) if ordered else np.zeros((3, 0), int)
    return Interactions(
        indptr=indptr_of(np.bincount(user, minlength=len(users))),
        item=item.astype(np.int32),
        time=time.astype(np.int64) if timed else None,
        weight=np.ones(len(ordered), np.float32),
        users=users,
        items=items,
    )


def _entities(rng: np.random.Generator, n_users: int, n_items: int, known: float) -> tuple[Entities, Entities]:
    """``known``: share of the items of which each fact is known; below 0: nothing is there but texts."""
    asked, said = ({"text": _texts(n)} for n in (n_users, n_items))
    if known < 0:
        return Entities(np.arange(n_users), asked), Entities(np.arange(n_items), said)
    has = rng.random((4, n_items)) < known
    embedding = rng.normal(size=(n_items, 5)).astype(np.float32)
    embedding[~has[3]] = np.nan
    table = {
        "created_at": np.where(has[0], START + rng.integers(-48, 48, n_items) * HOUR, UNKNOWN_TIME),
        "category": np.where(has[1], rng.integers(0, 4, n_items), -1).astype(np.int32),
        "words": np.where(has[2], rng.integers(0, 900, n_items), np.nan).astype(np.float32),
        "name": np.array([text.replace(" ", "_") for text in said["text"]], dtype=object),
    }
    return (
        Entities(np.arange(n_users), {"region": rng.integers(-1, 3, n_users).astype(np.int32), **asked}),
        Entities(np.arange(n_items), {**table, **said}, embedding),
    )


def _texts(n: int) -> Array:
    """Return texts of up to five of ten words; every seventh is empty."""
    rng = np.random.default_rng(n)
    words = [rng.choice(list("abcdefghij"), rng.integers(1, 6)) if place % 7 else [] for place in range(n)]
    return np.array([" ".join(of_text) for of_text in words], dtype=object)


@cache
def _world(seed: int = 0, *, timed: bool = True, known: float = 0.7, users: int = 25, events: int = 180) -> World:
    """Random clicks on 15 items within three days, on whole quarters of an hour so that times tie often.

    User 0 has no event, user 1 has one; every third request lies at the very time of other users' events.
    """
    rng = np.random.default_rng(seed)
    n_items = 15
    who, what = _entities(rng, users, n_items, known)
    rows = [
        (int(rng.integers(2, users)), int(rng.integers(n_items)), START + int(rng.integers(0, 72 * 4)) * HOUR // 4)
        for _ in range(events)
    ]
    rows.append((1, 3, START + 5 * HOUR))
    history = history_of(rows, who, what, timed)
    asked = np.sort(rng.choice(np.arange(2, users), users - 6, replace=False))
    asked = np.concatenate([[0, 1], asked]).astype(np.int32)
    time = None
    if timed:
        assert history.time is not None
        last = np.array([max((t for u, _, t in rows if u == user), default=START) for user in asked])
        later = np.array([min((t for *_, t in rows if t > moment), default=moment + 1) for moment in last])
        time = np.where(np.arange(len(asked)) % 3 == 0, later, last + rng.integers(1, 8 * HOUR, len(asked)))
    lengths = rng.integers(0, 9, len(asked))
    item = np.concatenate([rng.choice(n_items, n, replace=False) for n in lengths]).astype(np.int32)
    score = -np.sort(-rng.normal(size=len(item))).astype(np.float32)
    columns = {}
    for source in ("item_knn", "popularity", "faiss"):
        there = rng.random(len(item)) < 0.6
        columns[f"{source}_score"] = np.where(there, rng.normal(size=len(item)), np.nan).astype(np.float32)
        columns[f"{source}_rank"] = np.where(there, rng.integers(1, 50, len(item)), np.nan).astype(np.float32)
    return World(history, Requests(asked, time), RankedLists(asked, indptr_of(lengths), item, score, columns))


def _seen_by(world: World, number: int, seed: int) -> World:
    """One list of the world alone, whose history is changed at will where other users' events are not before it."""
    rng = np.random.default_rng(seed)
    assert world.requests.time is not None
    user, now = int(world.requests.user[number]), int(world.requests.time[number])
    rows = [event if event[0] == user or event[2] < now else (*event[:2], event[2] + 1) for event in world.events]
    rows = [(u, i if u == user or t < now else int(rng.integers(15)), t) for u, i, t in rows]
    others = np.delete(np.arange(world.history.n_users), user)
    rows += [(int(rng.choice(others)), int(rng.integers(15)), now + int(rng.integers(0, 3)) * HOUR) for _ in range(40)]
    history = history_of(rows, world.history.users, world.history.items)
    one = slice(number, number + 1)
    return World(history, world.requests[one], world.candidates[one])


@pytest.fixture(scope="session")
def world() -> Callable[..., World]:
    return _world


@pytest.fixture(scope="session")
def seen_by() -> Callable[..., World]:
    return _seen_by


@pytest.fixture(scope="session")
def make_history() -> Callable[..., Interactions]:
    return history_of
