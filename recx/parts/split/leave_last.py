"""Hold out the last events of each user: the usual split for next-item prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from recx.core.bounds import PositiveInt, Seed
from recx.core.protocols import FoldName
from recx.core.ragged import prefixes
from recx.core.types import Bools, Interactions, Split
from recx.parts.split.folds import Past, RequestTime, check_draw, may_be_target, noting_left_out, split_by_steps


@dataclass(frozen=True)
class LeaveLast:
    """One step is the last ``n`` events of a user; a user needs at least one more event to be in a fold.

    Later events of other users stay in the history that ``fit`` sees; the protocol card counts them.

    Attributes:
        n: Number of events of each user in one step.
        request_time: Whether a request is made when its first ``target`` happened or right after the ``last_event``.
        past: Whether the ranker is trained one ``step`` earlier, or there is ``none``.
        users: File with the ids of the users who are evaluated, one a line; None: all.
        max_users: Largest number of users who are evaluated, drawn at random; None: all. The history and the past fold
            are the same whoever is drawn.
        seed: Seed of the draw; None where nobody is drawn.
    """

    n: PositiveInt = 1
    request_time: RequestTime = "target"
    past: Past = "step"
    users: Path | None = None
    max_users: PositiveInt | None = None
    seed: Seed | None = 0

    def __post_init__(self) -> None:
        check_draw(self)

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are each user's last events, without the events of later steps.

        Raises:
            InputError: The fold has no requests.
        """
        step = partial(self._masks, interactions)
        split = split_by_steps(interactions, fold, step, self.request_time, self.past, self)
        active = may_be_target(split.fold.history) & (split.fold.history.lengths > 0)
        if fold != "predict":
            return noting_left_out(split, fold, lambda _: active, "few_events")
        short = active & (split.fold.history.lengths <= self.n)
        return replace(split, notes={**split.notes, "users_too_short_to_train_on": int(short.sum())})

    def _masks(self, interactions: Interactions, back: int) -> tuple[Bools, Bools]:
        """Return the masks (history, target) after ``back`` steps, each taken from the history of the step before."""
        allowed = may_be_target(interactions)
        left = interactions.lengths.copy()
        taken = np.zeros_like(left)
        for _ in range(back):
            taken = np.where(allowed & (left > self.n), self.n, 0)
            left -= taken
        history = prefixes(left, interactions.indptr)
        return history, prefixes(left + taken, interactions.indptr) & ~history
