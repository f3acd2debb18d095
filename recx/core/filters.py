"""Filters: what happens to the events between loading and splitting, in the order in which they are given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from recx.core.contracts import check_type
from recx.core.errors import InputError
from recx.core.types import Interactions

TIED = "tied_last_events"
"""A note of the loaded events, which is not true any more of those that a filter leaves."""


class Filter(Protocol):
    """Leaves some events out.

    Users who lose all their events leave the data, since nothing can be asked of them. Items stay, so that as many as
    before compete, unless the filter is about items: those that it leaves out are no longer items of the data. See
    ``recx.core.subset``, which does both.
    """

    def apply(self, interactions: Interactions) -> Interactions:
        """Return the data that is left, or the same object if nothing is left out.

        Args:
            interactions: All events, before the split.

        Raises:
            InputError: The data lacks what the filter needs, such as times.
        """


def filtered(interactions: Interactions, filters: Mapping[str, Filter]) -> Interactions:
    """Return what filters leave of the data, with a note for each of how many events, users and items it removed.

    Args:
        interactions: The data.
        filters: The filters by name, in the order in which they are applied.

    Raises:
        InputError: A filter cannot be applied, or no event is left.
        RecxError: A filter returns something else than Interactions.
    """
    for name, one in filters.items():
        left = check_type(one.apply(interactions), Interactions, f"the apply of filter.{name}")
        if not len(left):
            raise InputError(
                f"filter.{name} leaves none of the {len(interactions):,} events: change its settings, or remove it "
                f"with ~filter.{name}"
            )
        before, after = sizes(interactions), sizes(left)
        removed = {f"filter_{name}_{what}_removed": before[what] - after[what] for what in before}
        kept = left.notes if left is interactions else {key: x for key, x in left.notes.items() if key != TIED}
        interactions = replace(left, notes={**kept, **removed})
    return interactions


def sizes(interactions: Interactions) -> dict[str, int]:
    """Return the numbers of events, of users with events, and of items, which compete with and without events."""
    return {
        "events": len(interactions),
        "users": int(np.count_nonzero(interactions.lengths)),
        "items": interactions.n_items,
    }


def removed(interactions: Interactions) -> dict[str, tuple[float, float]]:
    """Return what filters removed: the note of each count -> the count, and how many there were before the filter."""
    left, found = sizes(interactions), dict[str, tuple[float, float]]()
    for note, count in reversed(list(interactions.notes.items())):
        if named := re.fullmatch("filter_.*_(events|users|items)_removed", note):
            left[named[1]] += int(count)
            found[note] = (count, float(left[named[1]]))
    return dict(reversed(list(found.items())))


def removed_by(interactions: Interactions, name: str) -> dict[str, int]:
    """Return how many events, users and items a filter removed, as its notes say."""
    return {what: int(interactions.notes[f"filter_{name}_{what}_removed"]) for what in ("events", "users", "items")}
