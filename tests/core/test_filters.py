"""Filters in a row: their order, their notes, and what they must return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from recx.core.errors import InputError, RecxError
from recx.core.filters import filtered, removed, removed_by
from recx.core.subset import with_events, with_only
from recx.core.types import Interactions
from recx.testing import tiny_world


@dataclass(frozen=True)
class First:
    """Leaves the first events of the data."""

    n: int

    def apply(self, interactions: Interactions) -> Interactions:
        return with_events(interactions, np.arange(len(interactions)) < self.n)


@dataclass(frozen=True)
class Items:
    """Leaves some items."""

    numbers: Sequence[int]

    def apply(self, interactions: Interactions) -> Interactions:
        return with_only(interactions, items=np.isin(np.arange(interactions.n_items), self.numbers))


@dataclass(frozen=True)
class Nothing:
    def apply(self, interactions: Interactions) -> Any:
        return None


def test_filters_apply_in_their_order_and_count_what_they_remove() -> None:
    world = replace(tiny_world(), notes={"duplicate_rows": 2, "tied_last_events": 4})
    events, users = len(world), int((world.lengths > 0).sum())
    # User 0 has one event, user 1 has 19 events of 18 items.
    left = filtered(world, {"b": First(12), "a": Items(range(3))})
    assert len(left) == (left.item < 3).sum()
    assert list(left.notes)[:1] == ["duplicate_rows"]
    assert "tied_last_events" not in left.notes  # which was true of other events
    assert removed_by(left, "b") == {"events": events - 12, "users": users - 2, "items": 0}
    assert removed_by(left, "a")["items"] == world.n_items - 3
    assert list(removed(left).items())[:3] == [
        ("filter_b_events_removed", (events - 12, events)),
        ("filter_b_users_removed", (users - 2, users)),
        ("filter_b_items_removed", (0, 20)),
    ]
    assert removed(left)["filter_a_events_removed"] == (12 - len(left), 12)
    other = filtered(world, {"a": Items(range(3)), "b": First(12)})
    assert len(other) == 12


def test_a_filter_that_removes_nothing_changes_nothing_but_the_notes() -> None:
    world = replace(tiny_world(), notes={"tied_last_events": 4})
    left = filtered(world, {"all": First(len(world))})
    assert left.notes == {
        "tied_last_events": 4,
        **{f"filter_all_{what}_removed": 0 for what in ("events", "users", "items")},
    }
    assert left.item is world.item
    assert filtered(world, {}) is world


def test_a_filter_must_leave_events() -> None:
    with pytest.raises(InputError, match=r"filter.none leaves none of the 12 events: .*remove it with ~filter.none"):
        filtered(tiny_world(), {"some": First(12), "none": First(0)})
    with pytest.raises(RecxError, match=r"the apply of filter\.broken must return Interactions"):
        filtered(tiny_world(), {"broken": Nothing()})
