"""Histories and lists for the tests of re-rankers, and the scores of lists as shares of their range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, RankedLists

Event = tuple[int, int]
"""Item and time."""


def history_of(
    users: Sequence[Sequence[Event]], n_items: int, *, times: bool = True, table: Mapping[str, Any] | None = None
) -> Interactions:
    flat = [event for user in users for event in user]
    return Interactions(
        indptr=indptr_of(np.array([len(user) for user in users], dtype=np.int64)),
        item=np.array([item for item, _ in flat], dtype=np.int32),
        time=np.array([time for _, time in flat], dtype=np.int64) if times else None,
        weight=np.ones(len(flat), dtype=np.float32),
        users=Entities(np.arange(len(users))),
        items=Entities(np.arange(n_items), dict(table or {})),
    )


def lists_of(*of: Mapping[int, float]) -> RankedLists:
    """Return a list for each user: item -> score, best first."""
    item = np.array([item for one in of for item in one], dtype=np.int32)
    score = np.array([score for one in of for score in one.values()], dtype=np.float64)
    return RankedLists(np.arange(len(of), dtype=np.int32), indptr_of(np.array([len(one) for one in of])), item, score)


def items_of(lists: RankedLists) -> list[list[int]]:
    return [lists.item[a:b].tolist() for a, b in zip(lists.indptr[:-1], lists.indptr[1:], strict=True)]


def shares(score: Array) -> list[float]:
    span = np.ptp(score) if len(score) else 0
    return ((score - score.min()) / span if span else np.ones(len(score))).tolist()  # type: ignore[no-any-return]


def random_world(seed: int, n_users: int = 30, n_items: int = 15) -> tuple[list[list[Event]], RankedLists]:
    """Return events with many equal times and popular items, and a list of 0 to ``n_items`` items for each user."""
    rng = np.random.default_rng(seed)
    users = [
        sorted(
            [(int(rng.integers(n_items) * rng.random()), int(rng.integers(20))) for _ in range(rng.integers(8))],
            key=lambda event: event[1],
        )
        for _ in range(n_users)
    ]
    drawn = [rng.permutation(n_items)[: rng.integers(n_items + 1)].tolist() for _ in users]
    scores = [(-np.sort(-rng.integers(0, 9, len(of)))).tolist() for of in drawn]
    return users, lists_of(*[dict(zip(of, score, strict=True)) for of, score in zip(drawn, scores, strict=True)])
