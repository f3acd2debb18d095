"""The k best of a stream of scored items: a heap in two arrays, within kernels.

A score is better if it is higher; of equal scores, the item with the smaller number is better. The heap's root is the
worst of those kept.
"""

from __future__ import annotations

from recx.core.compiled import compiled
from recx.core.precision import Reals
from recx.core.types import Ints


@compiled("score", "item")
def push(score: Reals, item: Ints, size: int, k: int, value: float, number: int) -> int:
    """Offer an item to a heap of at most ``k`` items in ``score`` and ``item``, and return the heap's new size.

    Callers compare with the root first, which spares the call for most items of a full heap:
    ``if size < k or value > score[0] or (value == score[0] and number < item[0])``.
    """
    if size < k:
        at = size
        while at > 0:
            up = (at - 1) // 2
            if score[up] < value or (score[up] == value and item[up] > number):
                break
            score[at], item[at] = score[up], item[up]
            at = up
        score[at], item[at] = value, number
        return size + 1
    if k == 0 or score[0] > value or (score[0] == value and item[0] < number):
        return size
    sink(score, item, k, value, number)
    return size


@compiled("score", "item")
def sink(score: Reals, item: Ints, size: int, value: float, number: int) -> None:
    """Replace the root of a heap of ``size`` items."""
    at = 0
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        right = down + 1
        if right < size and (score[right] < score[down] or (score[right] == score[down] and item[right] > item[down])):
            down = right
        if score[down] > value or (score[down] == value and item[down] < number):
            break
        score[at], item[at] = score[down], item[down]
        at = down
    score[at], item[at] = value, number


@compiled("score", "item")
def sort_heap(score: Reals, item: Ints, size: int) -> None:
    """Put the items of a heap into order, best first."""
    while size > 1:
        size -= 1
        value, number = score[size], item[size]
        score[size], item[size] = score[0], item[0]
        sink(score, item, size, value, number)
