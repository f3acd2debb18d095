"""Compares data with the counts that its source publishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

import numpy as np

from recx.core.types import Interactions
from recx.experiment.doctor import Finding
from recx.parts.dataset.known_files import Published

NEAR = log(1.5)
"""Data whose number of events is further off is not taken for the published one: it may be a sample of it."""


def compared(interactions: Interactions, published: Sequence[Published]) -> list[Finding]:
    """Return how many of the published counts the data does not have; none if no data of about this size is published.

    Args:
        interactions: All events, before the split.
        published: The data in this format whose counts are known.
    """
    found = counts_of(interactions)
    near = [(_distance(one.counts, found), place) for place, one in enumerate(published)]
    distance, place = min(near, default=(np.inf, -1))
    if distance > NEAR:
        return []
    one = published[place]
    other = [name for name, n in one.counts.items() if found.get(name) != n]
    said = ", ".join(f"{n:,} {name}" for name, n in one.counts.items())
    why = f"as {one.source} says of {one.data}: {said}"
    if other:
        here = ", ".join(f"{found.get(name, 0):,} {name}" for name in one.counts)
        why = f"{one.source} says of {one.data}: {said}, and here are {here}: a part of it, or another version"
    return [Finding("counts_unlike_published", len(other), len(one.counts), "look" if other else "fine", why)]


def counts_of(interactions: Interactions) -> dict[str, int]:
    """Return the counts that are compared: users and items with events, events as the files have them, and rows."""
    notes = interactions.notes
    offered = interactions.slates
    left_out = sum(notes.get(name, 0) for name in ("duplicate_rows", "rows_of_weight_0"))
    return {
        "users": int((interactions.lengths > 0).sum()),
        "items": int((interactions.clicks > 0).sum()),
        "events": len(interactions) + int(left_out),
        "queries": interactions.n_users,
        "documents": interactions.n_items,
        "rows": 0 if offered is None else len(offered.item),
    }


def _distance(published: Mapping[str, int], found: Mapping[str, int]) -> float:
    """Return how far the largest published count lies from that of the data, as the logarithm of their ratio."""
    name = max(published, key=lambda one: published[one])
    return abs(log(published[name] / found[name])) if found[name] else np.inf
