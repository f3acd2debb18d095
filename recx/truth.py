"""Holds lists against the targets, once; every metric is then a sum over the few rows that show a target.

truth = Truth.of(fold, rel_threshold=1.0)       # the targets, cleaned and counted
retrieval = truth.judge(candidates)             # the three lines of DESIGN section 1
end_to_end = truth.judge(recommendations)
ranking = among_retrieved(end_to_end, retrieval)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from recx.errors import InputError, RecxError
from recx.ragged import group_of_rows, indptr_of, order_in_groups, rows_of_groups
from recx.types import Array, Floats, Fold, Interactions, Ints, Judged, Longs, Notes, RankedLists

ROWS_AT_ONCE = 1_000_000  # keeps the sort keys of one block of lists small and its targets in the processor's cache


@dataclass(frozen=True, eq=False)
class Truth:
    """The answers of a fold: for every user with a relevant target, all targets with a gain.

    user: int32 [n_users], increasing. indptr: int64 [n_users + 1]. item: int32 [n], rising within a user.
    gain: float32 [n], above 0: the target's weight. A target is relevant from ``rel_threshold`` on; one below it still
    counts, with its gain, in the graded metrics of a user who has a relevant one.
    notes: what was merged, left out or looks odd, as counts.
    """

    user: Ints
    indptr: Longs
    item: Ints
    gain: Floats
    history: Interactions
    rel_threshold: float
    notes: Notes

    @classmethod
    def of(cls, fold: Fold, rel_threshold: float = 1.0) -> Truth:
        """Clean a fold's targets: a pair that stands there twice keeps its highest weight, a negative weight is 0.

        Raises:
            InputError: the fold has no targets, a weight is not finite, or no target reaches ``rel_threshold``.
        """
        target = fold.target
        if target is None or not len(target):
            raise InputError(
                "the fold has no targets to judge against: choose fold=test or fold=valid, not fold=predict"
            )
        if not np.isfinite(target.weight).all():
            row = int(np.argmax(~np.isfinite(target.weight)))
            user = target.users.ids[target.user[row]]
            raise InputError(f"a target of user {user} has the weight {target.weight[row]}: weights must be finite")
        rows = _highest_of_pairs(target)
        weight = target.weight[rows]
        relevant = weight >= rel_threshold
        if not (weight > 0).any():
            raise InputError(
                f"none of the {len(rows)} targets has a weight above 0, so there is nothing to learn or to judge: "
                "correct the weights (ratings) of the data, or leave dataset.weight out"
            )
        if not relevant.any():
            raise InputError(
                f"evaluator.rel_threshold={rel_threshold}: none of the {len(rows)} targets has a weight that high, so "
                "there is nothing to judge: lower it"
            )
        has_target = np.bincount(target.user[rows[relevant]], minlength=target.n_users) > 0
        user = np.flatnonzero(has_target).astype(np.int32)
        kept = rows[(weight > 0) & has_target[target.user[rows]]]
        indptr = indptr_of(np.bincount(np.searchsorted(user, target.user[kept]), minlength=len(user)))
        notes = {
            "targets_duplicated": len(target) - len(rows),
            "targets_negative": int((weight < 0).sum()),
            "targets_below_rel_threshold": int((~relevant).sum()),
            "targets_seen_in_history": _seen(fold.history, user, indptr, target.item[kept]),
        }
        return cls(user, indptr, target.item[kept], target.weight[kept], fold.history, float(rel_threshold), notes)

    @cached_property
    def ideal(self) -> Floats:
        """Every user's gains, largest first [n]."""
        return self.gain[order_in_groups(self.gain, self.indptr)]

    def judge(self, lists: RankedLists) -> Judged:
        """Hold lists against the targets: one list for every user with a target, empty where none was made.

        Lists of other users are ignored. The judged lists leave the columns behind.

        Raises:
            InputError: not one user with a target has a list.
        """
        if not np.isin(self.user, lists.user).any():
            raise InputError(
                f"none of the {len(self.user)} users with a target has a list, and {lists.n_lists} lists are of other "
                "users: check that lists and targets use the same user ids"
            )
        aligned = _for_users(lists, self.user)
        gain = np.zeros(len(aligned), dtype=np.float32)
        for rows, targets in _matches(aligned.indptr, aligned.item, self.indptr, self.item):
            gain[rows] = self.gain[targets]
        return Judged(
            lists=aligned,
            gain=gain,
            ideal_indptr=self.indptr,
            ideal=self.ideal,
            history=self.history,
            items=self.history.items,
            rel_threshold=self.rel_threshold,
        )


def among_retrieved(recommended: Judged, retrieved: Judged) -> Judged:
    """Return the ranking line: the recommendations against those targets alone that are among the candidates.

    recommended, retrieved: the judged recommendations and candidates of the same users. Its users are those with a
    relevant target among the candidates.

    Raises:
        RecxError: a target was recommended that is not among the candidates (a ranker may add nothing).
    """
    if not np.isin(_pairs_hit(recommended), _pairs_hit(retrieved)).all():
        raise RecxError("the ranker recommended an item that is not among the candidates: it may only reorder them")
    is_relevant = retrieved.gain[retrieved.hit_row] >= retrieved.rel_threshold
    chosen = np.bincount(retrieved.hit_user[is_relevant], minlength=retrieved.n_users) > 0
    users = np.flatnonzero(chosen)
    found = indptr_of(np.bincount(retrieved.hit_user, minlength=retrieved.n_users))
    gain = retrieved.gain[retrieved.hit_row[rows_of_groups(found, users)]]
    indptr = indptr_of(np.diff(found)[users])
    return replace(
        recommended,
        lists=_for_users(recommended.lists, recommended.lists.user[users]),
        gain=recommended.gain[np.repeat(chosen, recommended.lists.lengths)],
        ideal_indptr=indptr,
        ideal=gain[order_in_groups(gain, indptr)],
    )


def _highest_of_pairs(target: Interactions) -> Longs:
    """Return one row for every pair of user and item, the one of the highest weight, sorted by user and item."""
    key = target.user.astype(np.int64) * target.n_items + target.item
    order = np.lexsort((-target.weight, key))
    first = np.ones(len(order), dtype=bool)
    first[1:] = key[order][1:] != key[order][:-1]
    return order[first]


def _pairs_hit(judged: Judged) -> Longs:
    return judged.hit_user * len(judged.items) + judged.lists.item[judged.hit_row]


def _for_users(lists: RankedLists, users: Ints) -> RankedLists:
    """Return a list for each of ``users`` (increasing), empty where none was made, without the columns."""
    lists = replace(lists, columns={})
    if np.array_equal(lists.user, users):
        return lists
    if (lists.user[1:] < lists.user[:-1]).any():
        lists = lists.take(np.argsort(lists.user, kind="stable"))
    lengths = np.zeros(len(users), dtype=np.int64)
    wanted = np.isin(lists.user, users)
    lengths[np.searchsorted(users, lists.user[wanted])] = lists.lengths[wanted]
    rows = np.repeat(wanted, lists.lengths)  # a mask: on 100 million rows a tenth of the memory of row numbers
    return replace(lists, user=users, indptr=indptr_of(lengths), item=lists.item[rows], score=lists.score[rows])


def _seen(history: Interactions, user: Ints, indptr: Longs, item: Ints) -> int:
    """Count the targets that the user's own history holds already."""
    seen = np.zeros(len(item), dtype=bool)
    wanted = np.zeros(history.n_users, dtype=bool)
    wanted[user] = True
    events = history.item[np.repeat(wanted, history.lengths)]
    for _, targets in _matches(indptr_of(history.lengths[user]), events, indptr, item):
        seen[targets] = True
    return int(seen.sum())


def _matches(indptr: Longs, item: Ints, target_indptr: Longs, target_item: Ints) -> Iterator[tuple[Array, Array]]:
    """Yield (rows, rows of their targets) where a group's row has the item of one of the same group's targets.

    The items of a group of targets must rise. Works block by block on keys (group, item) and binary search.
    """
    n_items = int(max(item.max(initial=0), target_item.max(initial=0))) + 1
    borders = [*np.searchsorted(indptr, np.arange(0, indptr[-1], ROWS_AT_ONCE)), len(indptr) - 1]
    for start, stop in pairwise(borders):
        targets = slice(target_indptr[start], target_indptr[stop])
        if start == stop or targets.start == targets.stop:
            continue
        rows = slice(indptr[start], indptr[stop])
        known = group_of_rows(target_indptr[start : stop + 1]) * n_items + target_item[targets]
        asked = group_of_rows(indptr[start : stop + 1]) * n_items + item[rows]
        place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        found = np.flatnonzero(known[place] == asked)
        yield found + rows.start, place[found] + targets.start
