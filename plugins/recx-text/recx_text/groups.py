"""What a cross-encoder learns from: a target and candidates that are worth less to the same user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recx.plugin import Examples, Longs, order_in_groups


@dataclass(frozen=True, eq=False)
class Groups:
    """The targets that training lifts above other candidates of their lists.

    Attributes:
        row: The row of each target [n].
        others: The rows of all lists, within a list those with the lowest gain first [n_rows].
        first: Where the list of each target begins in ``others`` [n].
        lower: How many rows of its list have a lower gain; they come first [n].
        without_lower: How many targets are left out, whose lists have no row with a lower gain.
    """

    row: Longs
    others: Longs
    first: Longs
    lower: Longs
    without_lower: int

    @classmethod
    def of(cls, examples: Examples) -> Groups:
        """Return the groups of training examples."""
        gain, lists = examples.gain, examples.lists
        others = order_in_groups(-gain, lists.indptr)
        start = np.repeat(lists.indptr[:-1], lists.lengths)
        ordered = gain[others]
        equal_before = np.ones(len(gain), dtype=bool)  # whether a row begins a run of equal gains of its list
        equal_before[1:] = (ordered[1:] != ordered[:-1]) | (start[1:] != start[:-1])
        run = np.maximum.accumulate(np.where(equal_before, np.arange(len(gain)), 0))
        lower = np.empty(len(gain), dtype=np.int64)
        lower[others] = run - start
        target = gain > 0
        row = np.flatnonzero(target & (lower > 0))
        return cls(row, others, start[row], lower[row], int(target.sum()) - len(row))

    def __len__(self) -> int:
        return len(self.row)

    def epoch(self, size: int, negatives: int, rng: np.random.Generator) -> Iterator[Longs]:
        """Yield every target once, in random order, with others drawn among those with a lower gain.

        Args:
            size: The number of targets in a batch.
            negatives: The maximum number of others of each target, drawn without replacement.
            rng: Draws the order and the others.

        Yields:
            Rows [size, 1 + negatives]: the target, then the others; -1 where there are fewer.
        """
        order = rng.permutation(len(self))
        for start in range(0, len(self), size):
            yield self._drawn(order[start : start + size], negatives, rng)

    def _drawn(self, chosen: Longs, negatives: int, rng: np.random.Generator) -> Longs:
        lower = self.lower[chosen]
        key = rng.random((len(chosen), max(int(lower.max()), negatives)))
        key[np.arange(key.shape[1]) >= lower[:, None]] = np.inf
        place = np.argsort(key, axis=1)[:, :negatives]
        there = np.arange(negatives) < lower[:, None]
        others = np.where(there, self.others[np.where(there, self.first[chosen][:, None] + place, 0)], -1)
        found: Longs = np.concatenate([self.row[chosen][:, None], others], axis=1)
        return found
