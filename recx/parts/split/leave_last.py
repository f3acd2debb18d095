"""Leave each user's last events out: the usual split for next-item prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recx.core.bounds import PositiveInt, checked
from recx.core.protocols import FoldName
from recx.core.ragged import position_of_rows
from recx.core.types import Bools, Interactions, Split
from recx.parts.split.folds import Past, RequestTime, may_be_target, split_by_steps


@dataclass(frozen=True)
@checked("split")
class LeaveLast:
    """A step is a user's last ``n`` events; a user needs one event more to be in a fold.

    Other users' later events stay in the history that ``fit`` sees; the protocol card counts them.
    """

    n: PositiveInt = 1
    request_time: RequestTime = "target"
    past: Past = "step"

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are each user's last events, after dropping the steps behind it."""

        def step(back: int) -> tuple[Bools, Bools]:
            return self._masks(interactions, back)

        split = split_by_steps(interactions, fold, step, request_time=self.request_time, past=self.past)
        events = split.fold.history.lengths[may_be_target(interactions)]
        short = int(((events > 0) & (events <= self.n)).sum()) if fold == "predict" else self._left_out(split)
        name = "users_too_short_to_train_on" if fold == "predict" else "users_left_out_too_few_events"
        return replace(split, notes={**split.notes, name: short})

    def _masks(self, interactions: Interactions, back: int) -> tuple[Bools, Bools]:
        """Return (history, target) after ``back`` steps, each taken from what the step before left as history."""
        allowed = may_be_target(interactions)
        left = interactions.lengths.copy()
        taken = np.zeros_like(left)
        for _ in range(back):
            taken = np.where(allowed & (left > self.n), self.n, 0)
            left -= taken
        place = position_of_rows(interactions.indptr)
        user = interactions.user
        return place < left[user], (place >= left[user]) & (place < (left + taken)[user])

    @staticmethod
    def _left_out(split: Split) -> int:
        history = split.fold.history
        have_events = int((may_be_target(history) & (history.lengths > 0)).sum())
        return have_events - len(split.fold.requests)
