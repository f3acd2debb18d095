"""Every built-in split keeps the invariants of ``Fold`` and ``Split``, whatever the world."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.protocols import Splitter
from recx.core.ragged import indptr_of
from recx.core.types import Interactions
from recx.parts.split.by_query import ByQuery
from recx.parts.split.by_time import ByTime
from recx.parts.split.by_user import ByUser
from recx.parts.split.cold_items import ColdItems
from recx.parts.split.cold_users import ColdUsers
from recx.parts.split.k_fold import KFold
from recx.parts.split.k_fold_events import KFoldEvents
from recx.parts.split.leave_last import LeaveLast
from recx.parts.split.random import Random
from recx.parts.split.session import Session
from recx.testing import check_splitter, tiny_world

SPLITS: dict[str, Splitter] = {
    "leave_last": LeaveLast(),
    "leave_last, two": LeaveLast(n=2),
    "leave_last, last event": LeaveLast(request_time="last_event"),
    "leave_last, no past": LeaveLast(past="none"),
    "by_time": ByTime(window="45m"),
    "by_time, cold users": ByTime(window="45m", min_history=0, request_time="last_event"),
    "by_user": ByUser(),
    "by_user, given": ByUser(given=2, share=0.3),
    "by_user, last event": ByUser(request_time="last_event", share=0.5),
    "by_user, groups": ByUser(group="group"),
    "by_time, skipping one": ByTime(window="30m", skip=1),
    "by_query": ByQuery(),
    "by_query, last event": ByQuery(share=0.4, request_time="last_event"),
    "k_fold": KFold(),
    "k_fold, last part": KFold(k=3, part=2, n=2, request_time="last_event"),
    "k_fold, all events": KFold(n=None, min_history=0, group="group"),
    "k_fold_events": KFoldEvents(k=4, part=3),
    "k_fold_events, cold users": KFoldEvents(min_history=0),
    "random": Random(),
    "random, a third": Random(share=0.33, min_history=0),
    "cold_users": ColdUsers(),
    "cold_users, first event": ColdUsers(n=1, share=0.3, request_time="last_event"),
    "cold_items": ColdItems(share=0.3),
    "cold_items, all compete": ColdItems(share=0.3, compete="all", min_history=0),
    "cold_items, random": ColdItems(which="random", share=0.3),
    "session": Session(window="45m"),
    "session, second event": Session(window="45m", position=1, request_time="last_event"),
    "session, all that are left": Session(window="60m", position=1, targets="left", unseen="drop"),
}
NEED_TIMES = ("by_time", "cold_users", "cold_items", "session")


@pytest.mark.parametrize("splitter", SPLITS.values(), ids=SPLITS.keys())
def test_a_split_keeps_its_promises(splitter: Splitter) -> None:
    check_splitter(splitter, tiny_world(seed=1))


@pytest.mark.parametrize("name", [*(name for name in SPLITS if not name.startswith(NEED_TIMES)), "cold_items, random"])
def test_a_split_needs_no_times(name: str) -> None:
    check_splitter(SPLITS[name], tiny_world(times=False))


def world_of(times: list[list[int]]) -> Interactions:
    lengths = np.array([len(of_user) for of_user in times])
    time = np.array([60_000 * moment for of_user in times for moment in sorted(of_user)], dtype=np.int64)
    return Interactions(
        indptr=indptr_of(lengths),
        item=np.arange(len(time), dtype=np.int32) % 3,
        time=time,
        weight=np.ones(len(time), dtype=np.float32),
        users=Entities(np.arange(len(times)), {"group": np.arange(len(times)) // 2}),
        items=Entities(np.arange(3)),
    )


@given(
    st.lists(st.lists(st.integers(0, 120), max_size=6), min_size=1, max_size=8),
    st.sampled_from(list(SPLITS.values())),
)
def test_a_split_of_any_world_keeps_its_promises_or_says_that_it_is_too_small(
    times: list[list[int]], splitter: Splitter
) -> None:
    world = world_of(times)
    for fold in ("predict", "test", "valid"):
        try:
            splitter.split(world, fold)
        except InputError:
            with pytest.raises(InputError, match="too small for this split"):
                check_splitter(splitter, world)
            return
    check_splitter(splitter, world)
