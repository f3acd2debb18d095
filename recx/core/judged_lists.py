"""Lists matched with the ground truth: what every metric is computed from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from recx.core.entities import Entities
from recx.core.memo import once_per_input
from recx.core.ragged import indptr_of, position_of_rows, rows_of_groups
from recx.core.types import Array, Bools, Doubles, Interactions, Ints, Longs, RankedLists


@dataclass(frozen=True, eq=False)
class Rejected:
    """The items that were judged, and with grade 0: they are known not to be relevant.

    Attributes:
        indptr: Borders of each user's items [n_users + 1].
        item: The items, each once.
    """

    indptr: Longs
    item: Ints

    def of_users(self, chosen: slice | Array) -> Rejected:
        """Return those of some users (a slice, a mask [n_users] or numbers)."""
        users = np.arange(len(self.indptr) - 1)[chosen]
        return Rejected(indptr_of(np.diff(self.indptr)[users]), self.item[rows_of_groups(self.indptr, users)])


@dataclass(frozen=True, eq=False)
class JudgedLists:
    """The lists of one stage, matched with the ground truth (see ``recx.evaluation.ground_truth``).

    Attributes:
        lists: One list for every user of the stage, empty where none was made.
        hit_row: The rows that show a target with a gain [n_hits], increasing; all ranking metrics are sums over them.
        hit_gain: The grade or weight of the target at each of these rows [n_hits].
        ideal_indptr: Borders of each user's rows in ``ideal`` [n_users + 1].
        ideal: Each user's target gains, largest first, of the same type as ``hit_gain``.
        ideal_item: The item of each of them.
        history: The events before the requests.
        items: The catalogue.
        rel_threshold: The gain from which a target is relevant.
        rejected: The items judged with grade 0; None: no judgement is below the threshold.
    """

    lists: RankedLists
    hit_row: Longs
    hit_gain: Array
    ideal_indptr: Longs
    ideal: Array
    ideal_item: Ints
    history: Interactions
    items: Entities
    rel_threshold: float = 1.0
    rejected: Rejected | None = None
    _at: dict[float, JudgedLists] = field(default_factory=dict, init=False, repr=False)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.lists.n_lists

    @cached_property
    def gain(self) -> Array:
        """The grade or weight of the target at every row [n], 0 where the item is not a target."""
        gain = np.zeros(len(self.lists), dtype=self.hit_gain.dtype)
        gain[self.hit_row] = self.hit_gain
        return gain

    @cached_property
    def n_targets(self) -> Longs:
        """Number of relevant targets per user [n_users]."""
        relevant = self.ideal >= self.rel_threshold
        if relevant.all():
            return np.diff(self.ideal_indptr)
        counts: Longs = np.diff(indptr_of(relevant)[self.ideal_indptr])
        return counts

    @cached_property
    def ideal_rank(self) -> Longs:
        """The rank, from 1, of every row of ``ideal``."""
        return position_of_rows(self.ideal_indptr) + 1

    @cached_property
    def hit_user(self) -> Longs:
        """The user (list number) of every hit row [n_hits]."""
        indptr = self.lists.indptr
        length = int(indptr[1] - indptr[0]) if self.n_users else 0
        if length and np.array_equal(indptr, np.arange(self.n_users + 1) * length):
            return self.hit_row // length  # lists of equal length need no search
        return np.searchsorted(indptr, self.hit_row, side="right") - 1

    @cached_property
    def hit_rank(self) -> Longs:
        """The rank, from 1, of every hit row [n_hits]."""
        return self.hit_row - self.lists.indptr[self.hit_user] + 1

    @once_per_input  # several metrics use the same cut
    def relevant_hits(self, k: int | None) -> Longs:
        """Return which hits are relevant and in the first ``k`` (None: anywhere), as positions in ``hit_row``."""
        if k is None:
            # Compared in the type that they are stored in, as ``n_targets`` does: 3.3 as float32 is below 3.3.
            return np.flatnonzero(self.hit_gain >= self.rel_threshold)
        anywhere: Longs = self.relevant_hits(None)
        return anywhere[self.hit_rank[anywhere] <= k]

    def first_hits(self, k: int | None) -> tuple[Longs, Longs]:
        """Return the users with a relevant target in the first ``k``, and the position in ``hit_row`` of the first."""
        hits = self.relevant_hits(k)
        users = self.hit_user[hits]
        first = np.diff(users, prepend=-1) > 0  # hits are ordered by user and rank
        return users[first], hits[first]

    @once_per_input
    def shown(self, k: int | None) -> Longs:
        """Return the number of relevant targets among the first ``k`` (None: in the whole list) [n_users]."""
        return np.bincount(self.hit_user[self.relevant_hits(k)], minlength=self.n_users)

    def at(self, rel_threshold: float) -> JudgedLists:
        """Return the same for another relevance threshold, limited to users who have a relevant target.

        Args:
            rel_threshold: The lowest grade of a relevant target.
        """
        rel_threshold = float(rel_threshold)  # a NumPy float64 would widen the float32 that it is compared with
        if rel_threshold == self.rel_threshold:
            return self
        if rel_threshold not in self._at:
            at = replace(self, rel_threshold=rel_threshold)
            self._at[rel_threshold] = at.of_users(at.n_targets > 0)
        return self._at[rel_threshold]

    def of_users(self, chosen: Bools) -> JudgedLists:
        """Return the same for the users chosen by a mask [n_users]."""
        if chosen.all():
            return self
        lists, lengths = self.lists, self.lists.lengths
        rows = np.repeat(chosen, lengths)  # a mask: on 100 million rows a tenth of the memory of row numbers
        indptr = indptr_of(lengths[chosen])
        shift = np.zeros(self.n_users, dtype=np.int64)  # how far each list's rows move
        shift[chosen] = indptr[:-1] - lists.indptr[:-1][chosen]
        kept, n_ideal = chosen[self.hit_user], np.diff(self.ideal_indptr)
        return replace(
            self,
            lists=lists.picked(rows, user=lists.user[chosen], indptr=indptr),
            hit_row=(self.hit_row + shift[self.hit_user])[kept],
            hit_gain=self.hit_gain[kept],
            ideal_indptr=indptr_of(n_ideal[chosen]),
            ideal=self.ideal[np.repeat(chosen, n_ideal)],
            ideal_item=self.ideal_item[np.repeat(chosen, n_ideal)],
            rejected=None if self.rejected is None else self.rejected.of_users(chosen),
        )

    def spread(self, values: Doubles, of: JudgedLists) -> Doubles:
        """Return the values of ``of`` (see ``at``) for every user [n_users], NaN for users that ``of`` leaves out."""
        if of.n_users == self.n_users:
            return values
        whole = np.full(self.n_users, np.nan)
        whole[np.searchsorted(self.lists.user, of.lists.user)] = values
        return whole
