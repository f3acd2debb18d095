"""Worlds drawn event by event."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Array, Fold, Interactions

Events = Sequence[Sequence[tuple[int, int]]]


def _drawn(
    events: Events,
    *,
    times: bool = True,
    to_predict: Sequence[int] | None = None,
    columns: dict[str, Array] | None = None,
) -> Interactions:
    flat = [event for of_user in events for event in of_user]
    return Interactions(
        indptr=indptr_of(np.array([len(of_user) for of_user in events])),
        item=np.array([item for item, _ in flat], dtype=np.int32),
        time=np.array([time for _, time in flat], dtype=np.int64) if times else None,
        weight=np.arange(1, len(flat) + 1, dtype=np.float32),
        users=Entities(np.arange(len(events)), columns or {}),
        items=Entities(np.arange(10)),
        to_predict=None if to_predict is None else np.array(to_predict, dtype=np.int32),
    )


def _shown(fold: Fold) -> tuple[list[list[int]], list[list[int]], list[int], list[int] | None]:
    def lists(of: Interactions) -> list[list[int]]:
        return [of.item[start:stop].tolist() for start, stop in zip(of.indptr[:-1], of.indptr[1:], strict=True)]

    assert fold.target is not None
    time = None if fold.requests.time is None else fold.requests.time.tolist()
    return lists(fold.history), lists(fold.target), fold.requests.user.tolist(), time


@pytest.fixture
def drawn() -> Callable[..., Interactions]:
    """Make a world from each user's (item, time) pairs, oldest first."""
    return _drawn


@pytest.fixture
def shown() -> Callable[[Fold], tuple[list[list[int]], list[list[int]], list[int], list[int] | None]]:
    """Return (history of every user, targets of every user, who asks, when) as lists."""
    return _shown
