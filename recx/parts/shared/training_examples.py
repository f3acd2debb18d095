"""Training examples of rankers: the candidates of the users of the past fold who have a target among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recx.core.errors import InputError
from recx.core.ragged import group_of_rows, indptr_of, order_in_groups, position_of_rows, sum_of_groups
from recx.core.row_order import count_in_groups
from recx.core.types import Bools, Doubles, Fold, Longs, Notes, RankedLists, Requests
from recx.evaluation.ground_truth import ANY_GAIN, GroundTruth
from recx.storage.values import storable

Unretrieved = Literal["drop", "add"]
"""Whether targets that are no candidates are left out of the training, or added to its lists."""


@storable
@dataclass(frozen=True, eq=False)
class Examples:
    """The lists that a ranker is trained on.

    Attributes:
        lists: One list per user, each with at least one target unless they are ``whole``.
        gain: Grade or weight of each row, 0 if it is not a target [n_rows].
        requests: One request per list.
        notes: Counts of the users trained on and of the users left out.
    """

    lists: RankedLists
    gain: Doubles
    requests: Requests
    notes: Notes

    @classmethod
    def of(
        cls,
        candidates: RankedLists,
        fold: Fold,
        unretrieved: Unretrieved = "drop",
        max_users: int | None = None,
        seed: int = 0,
        whole: bool = False,
    ) -> Examples:
        """Return the training examples of a fold.

        Args:
            candidates: The candidates of the fold's requests.
            fold: The past fold.
            unretrieved: Whether to ``drop`` targets that were not retrieved, or to ``add`` them at the end of the list.
            max_users: Largest number of users, drawn at random; None: all users.
            seed: Seed of the draw.
            whole: Whether the lists of all users are examples, also those that show no target.

        Raises:
            InputError: No user has a target among the candidates.
        """
        truth = GroundTruth.of(fold, ANY_GAIN)
        n_answered = len(truth.user)
        if whole:
            truth = truth.with_users(candidates.user)
        lists = candidates.take(np.isin(candidates.user, truth.user))
        if unretrieved == "add":
            lists = _with_unretrieved(lists, truth)
        judged = truth.judge(lists)
        learnable = np.unique(judged.hit_user)
        if not len(learnable):
            raise InputError(
                "the ranker has nothing to learn from: no user of the past fold has a target among the candidates; "
                "raise n_candidates or choose ranker.missed=add, seen=keep or ranker=identity"
            )
        n_found = len(learnable)
        if whole:
            learnable = np.flatnonzero(judged.lists.lengths)
        sample = learnable
        if max_users is not None and len(sample) > max_users:
            sample = np.sort(np.random.default_rng(seed).choice(sample, max_users, replace=False))
        gain = judged.gain[np.isin(judged.lists.list_of_row, sample)].astype(np.float64)
        chosen = lists.take(np.searchsorted(lists.user, truth.user[sample]))
        notes = {
            "ranker_users_fitted_on": len(sample),
            "ranker_users_without_retrieved_target": n_answered - n_found,
            "ranker_users_not_sampled": len(learnable) - len(sample),
        }
        return cls(chosen, gain, fold.requests[np.searchsorted(fold.requests.user, chosen.user)], notes)

    def __len__(self) -> int:
        return self.lists.n_lists

    def set_apart(self, share: float, seed: int) -> tuple[Examples, Examples]:
        """Split the users at random.

        Args:
            share: Share of the users to set apart; at least one and never all are set apart.
            seed: Seed of the draw.

        Returns:
            The examples of the remaining users and of those set apart.

        Raises:
            InputError: There is only one user.
        """
        if len(self) < 2:
            raise InputError(
                "the ranker sets users apart to validate itself, and the past fold has only one to learn from"
            )
        n = min(len(self) - 1, max(1, round(share * len(self))))
        apart = np.zeros(len(self), dtype=bool)
        apart[np.random.default_rng(seed).choice(len(self), n, replace=False)] = True
        return self._take(np.flatnonzero(~apart)), self._take(np.flatnonzero(apart))

    def ndcg(self, ranked: RankedLists, k: int = 10) -> float:
        """Return the mean ndcg_at_k of the same lists in a ranker's order, whose ideal are the targets in the lists.

        Args:
            ranked: The lists in the ranker's order.
            k: The cut.
        """
        there = np.lexsort((ranked.item, ranked.list_of_row))
        gain = np.empty(len(self.gain))
        gain[there] = self.gain[np.lexsort((self.lists.item, self.lists.list_of_row))]
        indptr = ranked.indptr
        rank = position_of_rows(indptr) + 1
        discount = np.where(rank <= k, 1 / np.log2(1 + rank), 0)
        ideal = gain[order_in_groups(gain, indptr)]
        return float(np.mean(sum_of_groups(gain * discount, indptr) / sum_of_groups(ideal * discount, indptr)))

    def of_rows(self, rows: Bools) -> Examples:
        """Return some of the rows [n_rows] of the lists, without the lists of which none is left."""
        lengths = count_in_groups(rows, self.lists.indptr)
        left = lengths > 0
        lists = self.lists.picked(rows, user=self.lists.user[left], indptr=indptr_of(lengths[left]))
        notes = {**self.notes, "ranker_rows_not_sampled": int((~rows).sum())}
        return Examples(lists, self.gain[rows], self.requests[np.flatnonzero(left)], notes)

    def _take(self, chosen: Longs) -> Examples:
        rows = np.isin(self.lists.list_of_row, chosen)
        notes = {**self.notes, "ranker_users_fitted_on": len(chosen)}
        return Examples(self.lists.take(chosen), self.gain[rows], self.requests[chosen], notes)


def _with_unretrieved(lists: RankedLists, truth: GroundTruth) -> RankedLists:
    """Return the lists with each user's unretrieved targets appended, their columns NaN."""
    width = np.int64(truth.history.n_items)
    at = np.searchsorted(truth.user, lists.user)
    have = at[lists.list_of_row] * width + lists.item
    targets = group_of_rows(truth.indptr) * width + truth.item
    added = np.setdiff1d(targets, have)
    added = added[np.isin(added // width, at)]  # only of users who have a list
    row = np.concatenate([lists.list_of_row, np.searchsorted(at, added // width)])
    order = np.argsort(row, kind="stable")
    lowest = np.full(len(added), lists.score.min(initial=0))
    unknown = np.full(len(added), np.nan, dtype=np.float32)
    return replace(
        lists,
        indptr=indptr_of(np.bincount(row, minlength=lists.n_lists)),
        item=np.concatenate([lists.item, (added % width).astype(np.int32)])[order],
        score=np.concatenate([lists.score, lowest])[order],
        columns={name: np.concatenate([column, unknown])[order] for name, column in lists.columns.items()},
    )
