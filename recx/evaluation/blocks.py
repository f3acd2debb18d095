"""Lists of many users are judged in blocks of users, so that memory follows the rows of a block, never all rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recx.core.judged_lists import JudgedLists
from recx.core.ragged import blocks_of_groups, indptr_of
from recx.core.types import Ints, Longs, RankedLists
from recx.evaluation.ground_truth import GroundTruth
from recx.evaluation.measure import Joined, Measured

ROWS, WHOLE = 1 << 20, 1 << 22
"""Rows of a block, and up to how many rows lists are one block, which is kept as long as they are (see
``GroundTruth.judge``)."""

Stages = Mapping[str, JudgedLists]
"""Stage -> the judged lists of the same users."""
Figure = Callable[[Stages], Measured]


@dataclass(frozen=True, eq=False)
class Blocks:
    """Lists and the targets of their users, judged block by block in the order of the users.

    Attributes:
        truth: The targets.
        lists: Lists that are judged side by side. Blocks have about ``ROWS`` rows of the first of them.
    """

    truth: GroundTruth
    lists: Sequence[RankedLists]

    def __len__(self) -> int:
        return len(self._borders)

    def __iter__(self) -> Iterator[Sequence[JudgedLists]]:
        if len(self) == 1:
            yield self.whole
            return
        for lists in self.lists:
            self.truth.check_users(lists)
        ordered = [_Ordered.of(lists) for lists in self.lists]
        for start, stop in self._borders:
            truth = self.truth.of_users(slice(start, stop))
            yield [truth.match(lists.between(truth.user[0], truth.user[-1])) for lists in ordered]

    @property
    def whole(self) -> Sequence[JudgedLists]:
        """The judged lists of all users at once."""
        return [self.truth.judge(lists) for lists in self.lists]

    @cached_property
    def _borders(self) -> list[tuple[int, int]]:
        """The first user of each block and the one after its last."""
        ordered = _Ordered.of(self.lists[0])
        places = np.searchsorted(ordered.user, self.truth.user, side="right")
        rows = np.append(
            0, indptr_of(ordered.lengths)[places]
        )  # before each user, with those of users without a target
        return [(0, len(self.truth.user))] if rows[-1] <= WHOLE else list(blocks_of_groups(rows, ROWS))


@dataclass(frozen=True, eq=False)
class _Ordered:
    """Lists whose users may come in any order, and the order of their users (None: they rise)."""

    lists: RankedLists
    order: Longs | None

    @classmethod
    def of(cls, lists: RankedLists) -> _Ordered:
        rising = (lists.user[1:] > lists.user[:-1]).all()
        return cls(lists, None if rising else np.argsort(lists.user, kind="stable"))

    @cached_property
    def user(self) -> Ints:
        return self.lists.user if self.order is None else self.lists.user[self.order]

    @property
    def lengths(self) -> Longs:
        return self.lists.lengths if self.order is None else self.lists.lengths[self.order]

    def between(self, first: int, last: int) -> RankedLists:
        """Return the lists of the users from ``first`` to ``last``."""
        start, stop = int(np.searchsorted(self.user, first)), int(np.searchsorted(self.user, last, side="right"))
        return self.lists[start:stop] if self.order is None else self.lists.take(self.order[start:stop])


def by_blocks(
    figures: Mapping[str, Figure], blocks: Blocks, stages: Callable[..., Stages], at_once: Collection[str]
) -> dict[str, Measured]:
    """Compute figures block by block, and those that cannot be joined on all users at once.

    Args:
        figures: Name -> what computes it from the judged lists of some users.
        blocks: The lists.
        stages: From the judged lists of some users, as ``blocks`` yields them, to those of each stage.
        at_once: The names of figures that must not be computed from a block.

    Returns:
        Name -> the figures of all users.
    """
    n_users, whole = len(blocks.truth.user), set(at_once) if len(blocks) > 1 else set()
    found = {name: Joined(n_users) for name in figures}
    for judged in blocks:
        of_stage = stages(*judged)
        for name in [name for name in figures if name not in whole]:
            part = figures[name](of_stage)
            if part.joins or len(blocks) == 1:
                found[name].add(part, judged[0].n_users)
            else:
                whole.add(name)
    if whole:
        of_stage = stages(*blocks.whole)
        for name in whole:
            found[name] = Joined(n_users)
            found[name].add(figures[name](of_stage), n_users)
    return {name: one.measured for name, one in found.items()}
