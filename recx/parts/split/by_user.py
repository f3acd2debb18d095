"""Split by user: some users are held back, the others are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recx.core.bounds import NonNegativeInt, Seed, Share, checked
from recx.core.errors import InputError
from recx.core.protocols import FoldName
from recx.core.ragged import position_of_rows
from recx.core.types import Bools, Interactions, Longs, Split
from recx.parts.split.folds import STEPS, Past, RequestTime, deal, may_be_target, split_by_steps


@dataclass(frozen=True)
@checked("split")
class ByUser:
    """A step is a share of the users, or of groups of users, dealt with the seed.

    share: how large a part of the users (or groups) one step is. given: how many of a requester's first events are
    known. group: a column of the users' table whose equal values are dealt together (all of one trace), or None.
    """

    share: Share = 0.2
    given: NonNegativeInt = 0
    group: str | None = None
    request_time: RequestTime = "target"
    past: Past = "step"
    seed: Seed = 0

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are the later events of the users dealt to that step.

        Raises:
            InputError: ``group`` names no column of the users' table.
        """
        step_of = self._deal(interactions)[interactions.user]
        place = position_of_rows(interactions.indptr)

        def step(back: int) -> tuple[Bools, Bools]:
            requesters = step_of == back
            return (step_of > back) | (requesters & (place < self.given)), requesters & (place >= self.given)

        split = split_by_steps(interactions, fold, step, request_time=self.request_time, past=self.past)
        if fold == "predict":
            return split
        dealt = len(np.unique(interactions.user[step_of == STEPS[fold]]))
        notes = {**split.notes, "users_left_out_too_few_events": dealt - len(split.fold.requests)}
        return replace(split, notes=notes)

    def _deal(self, interactions: Interactions) -> Longs:
        """Return the step, from 1, that every user is a requester of [n_users]."""
        groups = self._groups(interactions)
        n = int(groups.max(initial=-1)) + 1
        dealt = deal(n, self.share, self.seed)[groups]
        # Those whom only ``fold: predict`` asks for are never dealt: they are history in every step.
        dealt[~may_be_target(interactions)] = n + 2
        return dealt

    def _groups(self, interactions: Interactions) -> Longs:
        if self.group is None:
            return np.arange(interactions.n_users)
        if self.group not in interactions.users.table:
            known = ", ".join(sorted(interactions.users.table)) or "none"
            raise InputError(f"split.group={self.group!r} is no column of the users' table: it has {known}")
        return np.unique(interactions.users.table[self.group], return_inverse=True)[1]
