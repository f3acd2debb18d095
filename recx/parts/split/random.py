"""Split at random: a share of each user's events is held out, whenever they happened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from recx.core.bounds import NonNegativeInt, PositiveInt, Seed, Share, checked
from recx.core.protocols import FoldName
from recx.core.ragged import position_of_rows
from recx.core.row_order import count_in_groups
from recx.core.types import Bools, Interactions, Split
from recx.parts.split.folds import Past, may_be_target, noting_left_out, split_by_steps


@dataclass(frozen=True)
@checked("split")
class Random:
    """One step is a share of each user's events, drawn at random without regard to time.

    What happened after a target is in the history, that of its own user too, so requests are made after all history.
    The share is rounded to whole events, half up.

    Attributes:
        share: Share of a user's events in one step.
        min_history: Number of events that must be left of a user in the history.
        past: Whether the ranker is trained one ``step`` earlier, or there is ``none``.
        users: File with the ids of the users who are evaluated, one a line; None: all.
        max_users: Largest number of users who are evaluated, drawn at random; None: all. The history and the past fold
            are the same whoever is drawn.
        seed: Seed of the draws.
    """

    ignores_time: ClassVar = True

    share: Share = 0.2
    min_history: NonNegativeInt = 1
    past: Past = "step"
    users: Path | None = None
    max_users: PositiveInt | None = None
    seed: Seed = 0

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are the share of each user's events that is drawn for that step.

        Raises:
            InputError: The fold has no requests.
        """
        lengths, allowed = interactions.lengths, may_be_target(interactions)
        taken = np.where(allowed, np.floor(self.share * lengths + 0.5).astype(np.int64), 0)
        place = np.empty(len(interactions), dtype=np.int64)
        drawn = np.random.default_rng(self.seed).random(len(interactions))
        place[np.lexsort((drawn, interactions.user))] = position_of_rows(interactions.indptr)

        def step(back: int) -> tuple[Bools, Bools]:
            history = place >= np.repeat(back * taken, lengths)
            enough = count_in_groups(history, interactions.indptr) >= self.min_history
            return history, ~history & (place >= np.repeat((back - 1) * taken, lengths)) & np.repeat(enough, lengths)

        split = split_by_steps(interactions, fold, step, "end", self.past, self)
        return noting_left_out(split, fold, lambda _: allowed & (lengths > 0), "few_events")
