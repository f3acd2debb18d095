"""Items drawn for each request, among which its target is ranked: the negatives of sampled metrics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from recx.core.compiled import compiled
from recx.core.entities import UNKNOWN_TIME
from recx.core.errors import InputError
from recx.core.ragged import indptr_of, rows_of_groups
from recx.core.types import Array, Fold, Ints, Longs

Draw = Literal["uniform", "popularity"]
TRIES = 20
"""Draws for each item that is wanted, after which all items are looked through for those that may be drawn."""


@dataclass(frozen=True, eq=False)
class Negatives:
    """Draws items that a user could have been shown instead of the target.

    They are drawn without repetition from the items that were there before the request (created or clicked), that the
    split allows, that the user has not had and that are no target of theirs. What is drawn for a user depends on the
    seed, the user's number and the data alone, never on the chain or on other users.

    Attributes:
        fold: The requests, their histories and targets.
        draw: ``uniform``, or ``popularity``: in proportion to the events of the history.
        seed: The seed.
    """

    fold: Fold
    draw: Draw
    seed: int

    @cached_property
    def _since(self) -> Longs:
        """From when on each item may be drawn [n_items]; ``UNKNOWN_TIME`` if never."""
        history, requests = self.fold.history, self.fold.requests
        since = np.full(history.n_items, -UNKNOWN_TIME, dtype=np.int64)
        if history.time is not None and requests.time is not None:
            created = history.items.table.get("created_at")
            since = history.first_seen if created is None else np.minimum(created, history.first_seen)
        return since if requests.allowed is None else np.where(requests.allowed, since, UNKNOWN_TIME)

    @cached_property
    def _drawn_from(self) -> tuple[Ints, Longs]:
        """What an item is drawn from, each entry with the same chance, and how often each item is in it [n_items]."""
        history = self.fold.history
        if self.draw == "popularity":
            return history.item, history.clicks
        return np.arange(history.n_items, dtype=np.int32), np.ones(history.n_items, dtype=np.int64)

    def pools(self, users: Ints) -> Longs:
        """Return how many items each user's negatives are drawn from [n_users]."""
        return self._run(users, 0)[1]

    def items(self, users: Ints, n: int) -> Ints:
        """Return the negatives of each user [n_users, n].

        Raises:
            InputError: There are fewer than ``n`` items to draw from for one of them.
        """
        items, pool = self._run(users, n)
        if (pool < n).any():
            few = int(np.argmax(pool < n))
            raise InputError(
                f"evaluator.negatives={self.draw}: {n:,} items are to be drawn for each user, and for "
                f"{int((pool < n).sum()):,} users fewer can be, for user {self.fold.history.users.ids[users[few]]} "
                f"{int(pool[few]):,} (those before the request that are neither in the user's history nor a target): "
                "ask for metrics of fewer, such as hit_at_10_sampled_20"
            )
        return items

    def _run(self, users: Ints, n: int) -> tuple[Ints, Longs]:
        history, target, requests = self.fold.history, self.fold.target, self.fold.requests
        assert target is not None
        hidden = [(of.indptr, of.item) for of in (history, target)]
        borders, item = _joined(users, hidden)
        place = np.searchsorted(requests.user, users)
        now = np.full(len(users), UNKNOWN_TIME) if requests.time is None else requests.time[place]
        items, pool = np.zeros((len(users), n), dtype=np.int32), np.zeros(len(users), dtype=np.int64)
        entries, times = self._drawn_from
        since = np.where(times > 0, self._since, UNKNOWN_TIME)
        asked = (users.astype(np.int64), now, borders, item)
        _draw(*asked, since, np.sort(since), entries, times, self.seed, items, pool)
        return items, pool


def _joined(users: Ints, of: list[tuple[Longs, Ints]]) -> tuple[Longs, Ints]:
    """Return what several groupings by user hold of some users, as one [n_users + 1], [n]."""
    lengths = np.zeros((len(users), len(of)), dtype=np.int64)
    found: list[Array] = []
    for column, (indptr, item) in enumerate(of):
        known = users[users < len(indptr) - 1]
        lengths[: len(known), column] = indptr[known + 1] - indptr[known]
        found.append(item[rows_of_groups(indptr, known)])
    owner = np.concatenate([np.repeat(np.arange(len(users)), lengths[:, column]) for column in range(len(of))])
    return indptr_of(lengths.sum(axis=1)), np.concatenate(found)[np.argsort(owner, kind="stable")]


@compiled("items", "pool")
def _draw(
    users: Longs,
    now: Longs,
    borders: Longs,
    hidden: Ints,
    since: Longs,
    since_sorted: Longs,
    drawn_from: Ints,
    times: Longs,
    seed: int,
    items: Ints,
    pool: Longs,
) -> None:
    """Write each user's items, and how many there were to draw from; where these are fewer than n, only their number.

    Args:
        users: The number of each user.
        now: The time of each request.
        borders: Borders of what must not be drawn for each user [n_users + 1].
        hidden: These items, some more than once.
        since: From when on each item may be drawn [n_items].
        since_sorted: The same, sorted.
        drawn_from: What an item is drawn from.
        times: How often each item is in it [n_items].
        seed: The seed.
        items: Takes the items [n_users, n].
        pool: Takes the numbers [n_users].
    """
    taken, n = np.full(len(since), -1, dtype=np.int64), items.shape[1]
    for at in range(len(users)):
        pool[at] = np.searchsorted(since_sorted, now[at])
        for row in range(borders[at], borders[at + 1]):
            own = hidden[row]
            if taken[own] != at:
                taken[own] = at
                pool[at] -= since[own] < now[at]
        if pool[at] < n:
            continue
        state = _mixed(np.uint64(seed) ^ _mixed(np.uint64(users[at]) + np.uint64(1)))
        found = 0
        for _ in range(TRIES * n):
            if found == n:
                break
            state += np.uint64(0x9E3779B97F4A7C15)
            one = drawn_from[np.int64(_mixed(state) % np.uint64(len(drawn_from)))]
            if taken[one] != at and since[one] < now[at]:
                taken[one] = at
                items[at, found] = one
                found += 1
        for last in range(found, n):  # of the few that are left, with the same chances
            total = 0
            for one in range(len(since)):
                if taken[one] != at and since[one] < now[at]:
                    total += times[one]
            state += np.uint64(0x9E3779B97F4A7C15)
            ahead, one = np.int64(_mixed(state) % np.uint64(total)), -1
            while ahead >= 0:
                one += 1
                if taken[one] != at and since[one] < now[at]:
                    ahead -= times[one]
            taken[one] = at
            items[at, last] = one


@compiled()
def _mixed(state: np.uint64) -> np.uint64:
    """Return 64 well mixed bits of a state (Steele, Lea, Flood: Fast splittable pseudorandom number generators)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
