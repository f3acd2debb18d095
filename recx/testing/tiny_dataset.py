"""A tiny data set with many corner cases, and the folds and lists that the checks of ``recx.testing`` use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.ragged import indptr_of, position_of_rows
from recx.core.types import Array, Floats, Fold, Interactions, RankedLists, Requests
from recx.parts.shared.top_k import Eligibility

START = 1_600_000_000_000  # ms, a Sunday in 2020
MINUTE = 60_000  # ms
USERS, ITEMS = 30, 20


def tiny_world(seed: int = 0, times: bool = True, embeddings: bool = True, slates: bool = False) -> Interactions:
    """Return 30 users and 20 items with many corner cases.

    Some events, of several users or of one, have the same time, and users click items repeatedly. User 0 has one event,
    user 1 has seen every item that was ever clicked, user 29 has no event. Items 18 and 19 are never clicked: 18 was
    created before all events, and nothing is known about 19. Items 16, 17 and 19 have no metadata and no embedding.

    Args:
        seed: The seed of the random events.
        times: Whether events have times.
        embeddings: Whether items have embeddings.
        slates: Whether every user but the first has a slate, which contains the item of the user's last event.
    """
    rng = np.random.default_rng(seed)
    popular = 1 / (1 + np.arange(18))
    lists = [rng.choice(18, size=n, p=popular / popular.sum()) for n in rng.integers(2, 9, USERS)]
    lists[0], lists[1], lists[-1] = lists[0][:1], np.append(rng.permutation(18), 0), lists[-1][:0]
    lists[2] = np.array([3, 3, 5, 3])
    item = np.concatenate(lists).astype(np.int32)
    when = [rng.integers(0, 30) + np.sort(rng.integers(0, 12, len(clicked))) for clicked in lists]
    lengths = np.array([len(clicked) for clicked in lists])
    world = Interactions(
        indptr=indptr_of(lengths),
        item=item,
        time=START + 10 * MINUTE * np.concatenate(when).astype(np.int64) if times else None,
        weight=np.ones(len(item), dtype=np.float32),
        users=Entities(np.array([f"u{user:02}" for user in range(USERS)]), {"group": np.arange(USERS) // 3}),
        items=_tiny_items(rng, times, embeddings),
    )
    return replace(world, slates=_tiny_slates(world, rng)) if slates else world


def _tiny_items(rng: np.random.Generator, times: bool, embeddings: bool) -> Entities:
    bare = np.isin(np.arange(ITEMS), [16, 17, 19])
    created = START + 10 * MINUTE * rng.integers(-50, 20, ITEMS)
    created[18] = START - MINUTE
    table: dict[str, Array] = {
        "category": np.where(bare, -1, np.arange(ITEMS) % 4).astype(np.int32),
        "words": np.where(bare, np.nan, rng.integers(50, 500, ITEMS)).astype(np.float32),
    }
    if times:
        table["created_at"] = np.where(bare, UNKNOWN_TIME, created)
    vectors = rng.normal(size=(ITEMS, 6)).astype(np.float32)
    vectors[bare] = np.nan
    return Entities(np.arange(100, 100 + ITEMS), table, vectors if embeddings else None)


def _tiny_slates(world: Interactions, rng: np.random.Generator) -> RankedLists:
    user = np.arange(1, world.n_users, dtype=np.int32)
    last = [world.item[stop - 1 : stop] for stop in world.indptr[2:]]
    offered = [np.union1d(rng.choice(ITEMS, 6, replace=False), item) for item in last]
    item = np.concatenate(offered).astype(np.int32)
    indptr = indptr_of(np.array([len(items) for items in offered]))
    return RankedLists(user, indptr, item, np.zeros(len(item), dtype=np.float32))


def everyone_asks(world: Interactions) -> tuple[Interactions, Requests]:
    """Return a history without the last event of every user with at least two, and a request of every user.

    Args:
        world: The data.
    """
    fold = last_out(world)
    everyone = np.arange(world.n_users, dtype=np.int32)
    if world.time is None or fold.requests.time is None:
        return fold.history, Requests(everyone)
    time = np.full(world.n_users, world.time.max(initial=0) + 1)
    time[fold.requests.user] = fold.requests.time
    return fold.history, Requests(everyone, time)


def last_out(world: Interactions) -> Fold:
    """Return the fold whose targets are the last events of the users with at least two events.

    Args:
        world: The data.
    """
    last = np.zeros(len(world), dtype=bool)
    last[world.indptr[1:][world.lengths > 1] - 1] = True
    target = world.keep(last)
    user = np.flatnonzero(target.lengths).astype(np.int32)
    return Fold(world.keep(~last), target, Requests(user, target.time))


def other_future(history: Interactions, requests: Requests) -> tuple[Interactions, Array]:
    """Change the items of all events from the median request on.

    Only events of users with a later request are changed: the users of the earlier requests keep their own history.

    Returns:
        The changed history, and the numbers of the requests up to the median one.
    """
    assert history.time is not None
    assert requests.time is not None
    median = np.median(requests.time)
    earlier = np.flatnonzero(requests.time <= median)
    later = (history.time >= median) & ~np.isin(history.user, requests.user[earlier])
    item = np.where(later, (history.item + 5) % history.n_items, history.item).astype(np.int32)
    return replace(history, item=item), earlier


def some_candidates(fold: Fold) -> RankedLists:
    """Return lists of 0 to 9 eligible items drawn at random, with columns as from a union of retrievers.

    Args:
        fold: The fold whose requests get lists.
    """
    rng = np.random.default_rng(len(fold.history))
    shown = ~Eligibility(fold.history, "keep").hidden(fold.requests)
    noise = np.where(shown, rng.random(shown.shape), -1)
    items = [np.argsort(-row, kind="stable")[: min(n, 9, (row >= 0).sum())] for n, row in enumerate(noise)]
    item = np.concatenate(items).astype(np.int32)
    indptr = indptr_of(np.array([len(chosen) for chosen in items]))
    rank = (position_of_rows(indptr) + 1).astype(np.float32)
    columns: dict[str, Floats] = {
        "first_score": (1 / rank).astype(np.float32),
        "first_rank": np.where(item % 3 == 0, np.nan, rank).astype(np.float32),
    }
    return RankedLists(fold.requests.user, indptr, item, np.ceil(-rank / 2).astype(np.float32), columns)
