"""What judging makes: lists held against the targets, which every metric is computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from recx.core.entities import Entities
from recx.core.ragged import indptr_of, position_of_rows
from recx.core.types import Array, Bools, Doubles, Interactions, Longs, RankedLists


@dataclass(frozen=True, eq=False)
class JudgedLists:
    """Lists held against the targets of one line: what metrics are computed from (``recx.evaluation.ground_truth``).

    lists: one list for every user of the line, empty where none was made.
    hit_row: int64 [n_hits], the rows that show a target with a gain, rising; all ranking metrics are sums over these
        few. hit_gain: the target's grade or weight at each of them.
    ideal_indptr, ideal: each user's target gains, largest first (grouped; of the same type as ``hit_gain``).
    rel_threshold: a target counts as relevant from this gain on.
    """

    lists: RankedLists
    hit_row: Longs
    hit_gain: Array
    ideal_indptr: Longs
    ideal: Array
    history: Interactions
    items: Entities
    rel_threshold: float = 1.0

    @property
    def n_users(self) -> int:
        return self.lists.n_lists

    @cached_property
    def gain(self) -> Array:
        """The target's grade or weight at every row [n], 0 where the item is no target."""
        gain = np.zeros(len(self.lists), dtype=self.hit_gain.dtype)
        gain[self.hit_row] = self.hit_gain
        return gain

    @cached_property
    def n_targets(self) -> Longs:
        """Number of relevant targets of every user [n_users]."""
        relevant = self.ideal >= self.rel_threshold
        if relevant.all():
            return np.diff(self.ideal_indptr)
        total = np.concatenate([[0], np.cumsum(relevant)])
        counts: Longs = total[self.ideal_indptr[1:]] - total[self.ideal_indptr[:-1]]
        return counts

    @cached_property
    def ideal_rank(self) -> Longs:
        """The rank, from 1, of every row of ``ideal``."""
        return position_of_rows(self.ideal_indptr) + 1

    @cached_property
    def hit_user(self) -> Longs:
        """The user (list number) of every hit row."""
        indptr = self.lists.indptr
        length = int(indptr[1] - indptr[0]) if self.n_users else 0
        if length and np.array_equal(indptr, np.arange(self.n_users + 1) * length):
            return self.hit_row // length  # lists of one length need no search
        return np.searchsorted(indptr, self.hit_row, side="right") - 1

    @cached_property
    def hit_rank(self) -> Longs:
        """The rank, from 1, of every hit row."""
        return self.hit_row - self.lists.indptr[self.hit_user] + 1

    def relevant_hits(self, k: int | None) -> Longs:
        """Return which hits are relevant and in the first ``k`` (None: anywhere), as places in ``hit_row``."""
        if k is not None and k not in self._relevant:
            anywhere = self._relevant[None]
            self._relevant[k] = anywhere[self.hit_rank[anywhere] <= k]
        return self._relevant[k]

    @cached_property
    def _relevant(self) -> dict[int | None, Longs]:
        # Compared in the type that they are stored in, as the targets are counted: 3.3 as float32 is below 3.3.
        return {None: np.flatnonzero(self.hit_gain >= self.rel_threshold)}  # several metrics ask for the same cut

    def first_hits(self, k: int | None) -> tuple[Longs, Longs]:
        """Return the users with a relevant target in the first ``k``, and where in ``hit_row`` the first of each is."""
        hits = self.relevant_hits(k)
        users = self.hit_user[hits]
        first = np.diff(users, prepend=-1) > 0  # hits come by user and rank
        return users[first], hits[first]

    def shown(self, k: int | None) -> Longs:
        """Return the number of relevant targets among the first ``k`` (None: in the whole list) [n_users]."""
        if k not in self._shown:
            self._shown[k] = np.bincount(self.hit_user[self.relevant_hits(k)], minlength=self.n_users)
        return self._shown[k]

    @cached_property
    def _shown(self) -> dict[int | None, Longs]:
        return {}

    def at(self, rel_threshold: float) -> JudgedLists:
        """Return the same by another threshold of relevance, for the users alone who have a target from there on."""
        rel_threshold = float(rel_threshold)  # a NumPy float64 would widen the float32 that it is compared with
        if rel_threshold == self.rel_threshold:
            return self
        if rel_threshold not in self._at:
            at = replace(self, rel_threshold=rel_threshold)
            self._at[rel_threshold] = at.of_users(at.n_targets > 0)
        return self._at[rel_threshold]

    @cached_property
    def _at(self) -> dict[float, JudgedLists]:
        return {}

    def of_users(self, chosen: Bools) -> JudgedLists:
        """Return the same for some of the users, chosen by a mask [n_users]."""
        if chosen.all():
            return self
        lists, lengths = self.lists, self.lists.lengths
        rows = np.repeat(chosen, lengths)  # a mask: on 100 million rows a tenth of the memory of row numbers
        indptr = indptr_of(lengths[chosen])
        moved = np.zeros(self.n_users, dtype=np.int64)  # how far each list's rows move
        moved[chosen] = indptr[:-1] - lists.indptr[:-1][chosen]
        kept, n_ideal = chosen[self.hit_user], np.diff(self.ideal_indptr)
        return replace(
            self,
            lists=replace(lists.picked(rows), user=lists.user[chosen], indptr=indptr),
            hit_row=(self.hit_row + moved[self.hit_user])[kept],
            hit_gain=self.hit_gain[kept],
            ideal_indptr=indptr_of(n_ideal[chosen]),
            ideal=self.ideal[np.repeat(chosen, n_ideal)],
        )

    def spread(self, values: Doubles, of: JudgedLists) -> Doubles:
        """Return a value for every user [n_users], NaN where ``of`` (see ``at``) leaves the user out."""
        if of.n_users == self.n_users:
            return values
        whole = np.full(self.n_users, np.nan)
        whole[np.searchsorted(self.lists.user, of.lists.user)] = values
        return whole
