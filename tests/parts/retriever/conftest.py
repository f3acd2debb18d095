"""Worlds drawn event by event, and lists as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Array, Floats, Interactions, RankedLists, Requests


def _drawn(
    events: Sequence[Sequence[tuple[int, int]]],
    n_items: int,
    *,
    times: bool = True,
    created: Sequence[int] | None = None,
    embedding: Floats | None = None,
) -> Interactions:
    flat = [event for of_user in events for event in of_user]
    table: dict[str, Array] = {} if created is None else {"created_at": np.array(created, dtype=np.int64)}
    return Interactions(
        indptr=indptr_of(np.array([len(of_user) for of_user in events])),
        item=np.array([item for item, _ in flat], dtype=np.int32),
        time=np.array([time for _, time in flat], dtype=np.int64) if times else None,
        weight=np.ones(len(flat), dtype=np.float32),
        users=Entities(np.arange(len(events))),
        items=Entities(np.arange(n_items), table, embedding),
    )


def _asking(*times: int | None) -> Requests:
    user = np.arange(len(times), dtype=np.int32)
    return Requests(user, None if None in times else np.array(times, dtype=np.int64))


def _shown(lists: RankedLists) -> list[list[int]]:
    return [lists.item[a:b].tolist() for a, b in zip(lists.indptr[:-1], lists.indptr[1:], strict=True)]


@pytest.fixture(scope="session")
def drawn() -> Callable[..., Interactions]:
    """Make a world from each user's (item, time) pairs, oldest first."""
    return _drawn


@pytest.fixture(scope="session")
def asking() -> Callable[..., Requests]:
    """Make requests of users 0, 1, ... at these times."""
    return _asking


@pytest.fixture(scope="session")
def shown() -> Callable[[RankedLists], list[list[int]]]:
    """Return the items of every list."""
    return _shown
