"""Scores of lists whose places were filled one by one, where what an item is worth depends on the items before it."""

from __future__ import annotations

from recx.core.compiled import compiled
from recx.core.types import Bools, Doubles

LISTS = 1_000  # lists ordered by one thread at a time


@compiled("score")
def count_down(done: Bools, score: Doubles) -> None:
    """Write the scores of the items that got no place into ``score`` [n]: the places from their own to the end.

    They follow the items that are done, whose scores stand, in the order that they have.
    """
    left = len(score)
    for row in range(len(score)):
        if done[row]:
            left -= 1
    for row in range(len(score)):
        if not done[row]:
            score[row] = left
            left -= 1
