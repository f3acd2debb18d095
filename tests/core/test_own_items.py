"""Items that users meet again: against sets of pairs, and for any number of threads."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recx.core import own_items
from recx.core.own_items import in_history, repeats_of
from recx.core.ragged import indptr_of
from recx.core.types import Entities, Interactions

N_ITEMS = 5
some_items = st.lists(st.lists(st.integers(0, N_ITEMS - 1), max_size=6), min_size=1, max_size=7)


def events_of(items: list[list[int]], *, timed: bool = True) -> Interactions:
    """Return events of users whose times rise by 0 or 1."""
    item = np.array([one for own in items for one in own], dtype=np.int32)
    time = np.concatenate([np.zeros(0, np.int64), *(np.arange(len(own)) // 2 for own in items)])
    entities = [Entities(np.arange(n)) for n in (len(items), N_ITEMS)]
    indptr = indptr_of(np.array([len(own) for own in items]))
    return Interactions(indptr, item, time if timed else None, np.ones(len(item), np.float32), *entities)


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_items, "available", lambda: request.param)
    monkeypatch.setenv("OMP_NUM_THREADS", str(request.param))


@pytest.mark.usefixtures("threads")
def test_rows_that_show_an_item_of_the_history() -> None:
    @given(some_items, some_items)
    @settings(max_examples=settings.default.max_examples // 2)
    def law(had: list[list[int]], shown: list[list[int]]) -> None:
        history, rng = events_of(had), np.random.default_rng(len(shown))
        user = rng.integers(len(had), size=len(shown)).astype(np.int32)
        indptr = indptr_of(np.array([len(own) for own in shown]))
        item = np.array([one for own in shown for one in own], dtype=np.int32)
        expected = [one in had[asked] for asked, own in zip(user, shown, strict=True) for one in own]
        assert in_history(user, indptr, item, history).tolist() == expected

    law()


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("timed", [True, False])
def test_repeats_of_a_user_at_once_and_later(timed: bool) -> None:
    @given(some_items)
    @settings(max_examples=settings.default.max_examples // 2)
    def law(items: list[list[int]]) -> None:
        expected: Counter[str] = Counter()
        for own in items:
            last: dict[int, int] = {}
            for place, item in enumerate(own):
                if item in last:
                    expected["at once" if timed and last[item] == place // 2 else "later"] += 1
                last[item] = place // 2
        at_once, later, different = repeats_of(events_of(items, timed=timed))
        assert (at_once, later) == (expected["at once"], expected["later"])
        assert different.tolist() == [len(set(own)) for own in items]
        assert repeats_of(events_of(items), timed=False)[:2] == (0, at_once + later)

    law()


def test_nobody_and_nothing() -> None:
    history = events_of([[0, 1]])
    none = np.zeros(0, dtype=np.int32)
    assert in_history(none, np.zeros(1, np.int64), none, history).tolist() == []
    assert repeats_of(events_of([[], []]))[:2] == (0, 0)
