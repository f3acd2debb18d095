"""The marginal relevance of the items of one list, whatever their similarity: kernels."""

from __future__ import annotations

import numpy as np

from recx.core.compiled import compiled
from recx.core.types import Bools, Doubles


@compiled("done", "score")
def next_place(relevant: Doubles, nearest: Doubles, share: float, done: Bools, score: Doubles) -> int:
    """Give the next place of a list to the item of the largest marginal relevance, which is its score.

    Args:
        relevant: The relevance of each item [n].
        nearest: The largest similarity of each item to those that have a place [n].
        share: Share of the relevance.
        done: Which items have a place, one of which is left at least [n].
        score: Takes the score [n].

    Returns:
        The item's row in the list.
    """
    best, most = -1, 0.0
    for row in range(len(relevant)):
        if not done[row]:
            marginal = share * relevant[row] - (1 - share) * nearest[row]
            if best < 0 or marginal > most:
                best, most = row, marginal
    done[best] = True
    score[best] = most
    return best


@compiled("score")
def rest(relevant: Doubles, done: Bools, score: Doubles) -> None:
    """Write scores below all others, in the order of the relevance, for the items that have no place [n]."""
    worst = np.inf
    for row in range(len(relevant)):
        if done[row]:
            worst = min(worst, score[row])
    for row in range(len(relevant)):
        if not done[row]:
            score[row] = worst - 2 + relevant[row]
