"""Matches lists with the targets, once; every metric is then a sum over the few rows that show a target.

truth = GroundTruth.of(fold, rel_threshold=1.0) # the targets, cleaned and counted
retrieval = truth.judge(candidates)             # the three stages of docs/concepts/stages-and-funnel.md
end_to_end = truth.judge(recommendations)
ranking = among_retrieved(end_to_end, retrieval)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from recx.core.errors import InputError, RecxError
from recx.core.judged_lists import JudgedLists, Rejected
from recx.core.memo import once_per_input
from recx.core.own_items import in_history
from recx.core.protocols import Evaluator, Thresholded
from recx.core.ragged import has_twice, indptr_of, order_in_groups, rows_of_groups
from recx.core.types import Array, Bools, Fold, Interactions, Ints, Longs, Notes, RankedLists
from recx.evaluation.matching import matches

ANY_GAIN = float(np.finfo(np.float32).tiny)
"""A threshold of relevance from which every target with a gain above 0 counts, whatever its grade."""


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """All targets with a gain of every user who has a relevant target.

    Attributes:
        user: int32 [n_users], increasing.
        indptr: int64 [n_users + 1].
        item: int32 [n], distinct within a user.
        gain: The weight of each target, floats [n], above 0.
        history: What was known before.
        rel_threshold: The gain from which a target is relevant. A target below it still counts, with its gain, in the
            graded metrics of a user who also has a relevant one.
        notes: Counts of what was merged, left out or looks odd.
        rejected: The items judged with grade 0; None: no judgement is below ``rel_threshold``.
    """

    user: Ints
    indptr: Longs
    item: Ints
    gain: Array
    history: Interactions
    rel_threshold: float
    notes: Notes
    rejected: Rejected | None = None

    @classmethod
    def of(cls, fold: Fold, rel_threshold: float = 1.0) -> GroundTruth:
        """Clean a fold's targets: duplicate pairs keep their highest weight, negative weights become 0.

        This is done once per fold and threshold, and kept as long as the fold exists.

        Raises:
            InputError: The fold has no targets, a weight is not finite, or no target reaches ``rel_threshold``.
        """
        return _of_fold(fold, rel_threshold)

    @classmethod
    def for_evaluator(cls, evaluator: Evaluator, fold: Fold) -> GroundTruth:
        """Clean a fold's targets as ``of`` does, with the evaluator's threshold (1 if it has none)."""
        return cls.of(fold, float(evaluator.rel_threshold) if isinstance(evaluator, Thresholded) else 1.0)

    @classmethod
    def of_pairs(
        cls, user: Array, item: Array, weight: Array, history: Interactions, rel_threshold: float = 1.0
    ) -> GroundTruth:
        """Clean targets given as pairs of user and item with their weight [n each]; the history counts users and items.

        ``rel_threshold`` and what is raised, an InputError, are those of ``of``.
        """
        n_rows = len(user)
        if not np.isfinite(weight).all():
            row = int(np.argmax(~np.isfinite(weight)))
            raise InputError(
                f"a target of user {history.users.ids[user[row]]} has the weight {weight[row]}: weights must be finite"
            )
        user, item, weight = _highest_of_pairs(user, item, weight)
        relevant, positive, negative = weight >= rel_threshold, weight > 0, int((weight < 0).sum())
        if not positive.any():
            raise InputError(
                f"none of the {len(user)} targets has a weight above 0, so there is nothing to learn or to judge: "
                "correct the weights (ratings, grades) of the data, or leave them out"
            )
        if not relevant.any():
            raise InputError(
                f"rel_threshold={rel_threshold}: none of the {len(user)} targets has a weight that high, so there is "
                "nothing to judge: lower it"
            )
        judged, kept = _users_judged(user, relevant, positive)
        rejected = None if relevant.all() else _rejected(judged, user, item, weight == 0)
        if not kept.all():
            user, item, weight = user[kept], item[kept], weight[kept]
        indptr = np.searchsorted(user, np.append(judged, user[-1] + 1)).astype(np.int64)
        notes = {
            "targets_duplicated": n_rows - len(relevant),
            "targets_negative": negative,
            "targets_below_rel_threshold": int((~relevant).sum()),
            "targets_seen_in_history": int(in_history(judged, indptr, item, history).sum()) if len(history) else 0,
        }
        return cls(judged, indptr, item, weight, history, float(rel_threshold), notes, rejected)

    @cached_property
    def ideal(self) -> tuple[Array, Ints]:
        """Every user's gains, largest first, and the items that they are of [n each]."""
        order = order_in_groups(self.gain, self.indptr)
        return self.gain[order], self.item[order]

    def digest(self) -> str:
        """Return 32 hex digits of blake2b over the raw ids and gains of all targets, whatever their order."""
        user = np.repeat(_hashes(self.history.users.ids[self.user]), np.diff(self.indptr))
        shown, place = np.unique(self.item, return_inverse=True)
        item = _hashes(self.history.items.ids[shown])[place]
        order = np.lexsort((item, user))
        digest = hashlib.blake2b(digest_size=16)
        for array in (user, item, self.gain.astype(np.float64)):
            digest.update(array[order].tobytes())
        return digest.hexdigest()

    def of_users(self, chosen: slice | Array) -> GroundTruth:
        """Return the targets of the chosen users (consecutive, or numbers in rising order); notes stay those of all."""
        indptr = indptr_of(np.diff(self.indptr)[chosen])
        if isinstance(chosen, slice):
            start, stop, _ = chosen.indices(len(self.user))
            rows: slice | Array = slice(int(self.indptr[start]), int(self.indptr[max(start, stop)]))
        else:
            rows = rows_of_groups(self.indptr, chosen)
        rejected = None if self.rejected is None else self.rejected.of_users(chosen)
        user, item, gain = self.user[chosen], self.item[rows], self.gain[rows]
        return replace(self, user=user, indptr=indptr, item=item, gain=gain, rejected=rejected)

    def with_users(self, users: Array) -> GroundTruth:
        """Return the targets with the given users too, who asked and have none; their lists are judged as well."""
        everybody = np.union1d(self.user, users).astype(np.int32)
        if len(everybody) == len(self.user):
            return self
        at = np.searchsorted(everybody, self.user)

        def borders(indptr: Longs) -> Longs:
            lengths = np.zeros(len(everybody), dtype=np.int64)
            lengths[at] = np.diff(indptr)
            return indptr_of(lengths)

        rejected = self.rejected
        if rejected is not None:
            rejected = replace(rejected, indptr=borders(rejected.indptr))
        return replace(self, user=everybody, indptr=borders(self.indptr), rejected=rejected)

    def judge(self, lists: RankedLists) -> JudgedLists:
        """Match lists with the targets as ``match`` does, once for the same lists, and keep it while these lists exist.

        Raises:
            InputError: No user with a target has a list.
        """
        if lists not in self._judged:
            self.check_users(lists)
            self._judged[lists] = self.match(lists)
        return self._judged[lists]

    @cached_property
    def _judged(self) -> WeakKeyDictionary[RankedLists, JudgedLists]:
        return WeakKeyDictionary()

    def check_users(self, lists: RankedLists) -> None:
        """Raise InputError if none of the lists is of a user with a target."""
        if not np.isin(self.user, lists.user).any():
            raise InputError(
                f"none of the {len(self.user)} users with a target has a list, and {lists.n_lists} lists are of other "
                "users: check that lists and targets use the same user ids"
            )

    def match(self, lists: RankedLists) -> JudgedLists:
        """Match lists with the targets: one list for every user with a target, empty if none was made.

        Lists of other users and all columns are left out.
        """
        aligned = _for_users(lists, self.user)
        hits, targets = matches(aligned.indptr, aligned.item, self.indptr, self.item)
        ideal, ideal_item = self.ideal
        return JudgedLists(
            lists=aligned,
            hit_row=hits,
            hit_gain=self.gain[targets],
            ideal_indptr=self.indptr,
            ideal=ideal,
            ideal_item=ideal_item,
            history=self.history,
            items=self.history.items,
            rel_threshold=self.rel_threshold,
            rejected=self.rejected,
        )


@once_per_input
def _of_fold(fold: Fold, rel_threshold: float) -> GroundTruth:
    target = fold.target
    if target is None or not len(target):
        raise InputError("the fold has no targets to judge against: choose fold=test or fold=valid, not fold=predict")
    return GroundTruth.of_pairs(target.user, target.item, target.weight, fold.history, rel_threshold)


def _hashes(ids: Array) -> Array:
    """Return 64 bits for every id [n]; an array of the texts themselves would be as wide as the longest one."""
    texts = (str(raw).encode("utf-8", "surrogatepass") for raw in ids.tolist())
    return np.frombuffer(b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts), np.uint64)


def among_retrieved(recommended: JudgedLists, retrieved: JudgedLists) -> JudgedLists:
    """Return the recommendations judged by only those targets that are among the candidates.

    Args:
        recommended: The judged recommendations.
        retrieved: The judged candidates of the same users.

    Returns:
        The judged lists of the users with a relevant target among their candidates.

    Raises:
        RecxError: A target was recommended that is not among the candidates (a ranker may not add items).
    """
    shown, known = (of.hit_user * len(of.items) + of.lists.item[of.hit_row] for of in (recommended, retrieved))
    if not np.isin(shown, known).all():
        raise RecxError("the ranker recommended an item that is not among the candidates: it may only reorder them")
    chosen = retrieved.shown(None) > 0
    users = np.flatnonzero(chosen)
    found = indptr_of(np.bincount(retrieved.hit_user, minlength=retrieved.n_users))
    hits = rows_of_groups(found, users)
    indptr = indptr_of(np.diff(found)[users])
    hits = hits[order_in_groups(retrieved.hit_gain[hits], indptr)]
    known_rejected = retrieved.rejected
    if known_rejected is not None:
        _, at = matches(retrieved.lists.indptr, retrieved.lists.item, known_rejected.indptr, known_rejected.item)
        among = np.zeros(len(known_rejected.item), dtype=bool)
        among[at] = True
        here = Rejected(indptr_of(among)[known_rejected.indptr], known_rejected.item[among])
        known_rejected = here.of_users(chosen)
    return replace(
        recommended.of_users(chosen),
        rejected=known_rejected,
        ideal_indptr=indptr,
        ideal=retrieved.hit_gain[hits],
        ideal_item=retrieved.lists.item[retrieved.hit_row[hits]],
    )


def _highest_of_pairs(user: Array, item: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return every pair of user and item once, with its highest weight, sorted by user."""
    if (user[1:] >= user[:-1]).all() and not has_twice(item, indptr_of(np.bincount(user))):
        return user, item, weight
    key = user.astype(np.int64) * (int(item.max()) + 1) + item
    order = np.lexsort((-weight, key))
    order = order[np.diff(key[order], prepend=-1) > 0]
    return user[order], item[order], weight[order]


def _users_judged(user: Array, relevant: Bools, positive: Bools) -> tuple[Ints, Bools]:
    """Return the users with a relevant target, and which rows [n] belong to them and have a gain."""
    if relevant.all():
        return np.flatnonzero(np.bincount(user)).astype(np.int32), relevant
    has_target = np.zeros(int(user[-1]) + 1, dtype=bool)
    has_target[user[relevant]] = True
    return np.flatnonzero(has_target).astype(np.int32), positive & has_target[user]


def _rejected(judged: Ints, user: Array, item: Array, zero: Bools) -> Rejected:
    """Return the items with grade 0 [of n] of the judged users."""
    rows = np.flatnonzero(zero & np.isin(user, judged))
    return Rejected(np.searchsorted(user[rows], np.append(judged, judged[-1] + 1)), item[rows].astype(np.int32))


def _for_users(lists: RankedLists, users: Ints) -> RankedLists:
    """Return a list for each of ``users`` (increasing), empty if none was made, without the columns."""
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
