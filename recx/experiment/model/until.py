"""Until when a chain has learned: the time from which events are new to it."""

from __future__ import annotations

from recx.core.protocols import FoldName, Splitter
from recx.core.types import Interactions
from recx.parts.split.by_time import ByTime


def fitted_until(interactions: Interactions, splitter: Splitter, fold: FoldName) -> int | None:
    """Return the time in ms before which a run has learned from events, and from none at or after it.

    With ``split=by_time`` it is the start of the window that is judged. Other splits hold out events whenever they
    happened, so that it is 1 ms after the last event of all.

    Args:
        interactions: The data of the run.
        splitter: How it splits them.
        fold: Its fold.

    Returns:
        The time; None without times.
    """
    if interactions.time is None:
        return None
    if isinstance(splitter, ByTime):
        return splitter.start(interactions, fold)
    return int(interactions.time.max(initial=0)) + 1
