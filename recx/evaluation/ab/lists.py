"""Lists as they were shown, each with its user, its length, its clicks and the place of the first one."""

from __future__ import annotations

from dataclasses import dataclass, field

from recx.core.types import Doubles, Longs


@dataclass(frozen=True, eq=False)
class Lists:
    """What is known of each list.

    Attributes:
        user: The number of its user [n_lists].
        shown: How many items it shows [n_lists].
        clicks: How many of them were clicked [n_lists].
        reciprocal: 1 / the position of the topmost click, 0 without one [n_lists]; NaN if positions are unknown.
        notes: Counts of what was left out, or is odd.
    """

    user: Longs
    shown: Longs
    clicks: Longs
    reciprocal: Doubles
    notes: dict[str, int] = field(default_factory=dict)
