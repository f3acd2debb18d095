"""K-fold cross-validation over events: each event is a target in exactly one of k runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from recx.core.bounds import NonNegativeInt, PositiveInt, Seed, check
from recx.core.protocols import FoldName
from recx.core.row_order import count_in_groups
from recx.core.types import Bools, Interactions, Split
from recx.parts.split.folds import Past, may_be_target, noting_left_out, split_by_steps
from recx.parts.split.k_fold import check_part, held_out, part_at


@dataclass(frozen=True)
class KFoldEvents:
    """The events are dealt into k parts without regard to time, and those of one part are the targets.

    Runs over all k parts make each event a target once (LensKit: ``crossfold_records``). What happened after a target
    is in the history, that of its own user too, so requests are made after all history.

    Attributes:
        k: Number of parts, of which no two differ by more than one event.
        part: The part that is held out, from 0. Its past fold holds out the next part, and so does ``valid``.
        min_history: Number of events that a user needs outside the part; 0: new users have requests too.
        past: Whether the ranker is trained one ``step`` earlier, or there is ``none``.
        users: File with the ids of the users who are evaluated, one a line; None: all.
        max_users: Largest number of users who are evaluated, drawn at random; None: all. The history and the past fold
            are the same whoever is drawn.
        seed: Seed of the draws: with one seed, k runs make each event a target once.
    """

    ignores_time: ClassVar = True

    k: Annotated[int, Ge(2)] = 5
    part: NonNegativeInt = 0
    min_history: NonNegativeInt = 1
    past: Past = "step"
    users: Path | None = None
    max_users: PositiveInt | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "split")
        check_part(self.part, self.k)

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are the events of one part.

        Raises:
            InputError: The fold has no requests.
        """
        part_of = np.random.default_rng(self.seed).permutation(len(interactions)) % self.k
        mine = np.repeat(may_be_target(interactions), interactions.lengths)  # of the others, nothing is held out

        def step(back: int) -> tuple[Bools, Bools]:
            history = ~(mine & held_out(part_of, self.part, back, self.k))
            enough = count_in_groups(history, interactions.indptr) >= self.min_history
            target = mine & (part_of == part_at(self.part, back, self.k)) & np.repeat(enough, interactions.lengths)
            return history, target & (back < self.k)  # in the last step there would be no history

        def meant(back: int) -> Bools:
            chosen = mine & (part_of == part_at(self.part, back, self.k))
            return count_in_groups(chosen, interactions.indptr) > 0

        split = split_by_steps(interactions, fold, step, "end", self.past, self)
        return noting_left_out(split, fold, meant, "little_history")
