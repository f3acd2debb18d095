"""K-fold cross-validation over users: each user is asked in exactly one of k runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Ge

from recx.core.bounds import NonNegativeInt, PositiveInt, Seed, check
from recx.core.errors import InputError
from recx.core.protocols import FoldName
from recx.core.ragged import prefixes
from recx.core.types import Bools, Interactions, Longs, Split
from recx.parts.split.folds import Past, RequestTime, may_be_target, split_by_steps
from recx.parts.split.groups import groups_of


@dataclass(frozen=True)
class KFold:
    """The users are dealt into k parts, and the last events of one part's users are the targets.

    Everything else is history: all events of the other parts, and the earlier events of the users who are asked. Runs
    over all k parts ask each user once (LensKit: ``crossfold_users`` with ``LastN``).

    Attributes:
        k: Number of parts, of which no two differ by more than one user (or group) who can be asked.
        part: The part that is held out, from 0. Its past fold holds out the next part, and so does ``valid``.
        n: Number of last events of each user that are targets; None: all of them, as of queries without a history.
        group: Column of the users' table whose equal values stay together, several columns, or None (see ``ByUser``).
        min_history: Number of events that a user needs before the targets; 0: new users have requests too.
        request_time: Whether a request is made when its first ``target`` happened or right after the ``last_event``.
        past: Whether the ranker is trained one ``step`` earlier, or there is ``none``.
        users: File with the ids of the users who are evaluated, one a line; None: all.
        max_users: Largest number of users who are evaluated, drawn at random; None: all. The history and the past fold
            are the same whoever is drawn.
        seed: Seed of the draws: with one seed, k runs ask each user once.
    """

    k: Annotated[int, Ge(2)] = 5
    part: NonNegativeInt = 0
    n: PositiveInt | None = 1
    group: str | Sequence[str] | None = None
    min_history: NonNegativeInt = 1
    request_time: RequestTime = "target"
    past: Past = "step"
    users: Path | None = None
    max_users: PositiveInt | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "split")
        check_part(self.part, self.k)
        if self.n is None and self.min_history:
            raise InputError("split.n=null holds out all events of a user: set split.min_history=0")

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are the last events of the users of one part.

        Raises:
            InputError: ``group`` is not a column of the users' table, or the fold has no requests.
        """
        lengths, allowed = interactions.lengths, may_be_target(interactions)
        taken = lengths if self.n is None else np.minimum(lengths, self.n)
        taken = np.where(allowed & (lengths - taken >= self.min_history), taken, 0)
        part_of = self._deal(groups_of(interactions.users, self.group), taken > 0)
        tail = ~prefixes(lengths - taken, interactions.indptr)

        def step(back: int) -> tuple[Bools, Bools]:
            known = ~(tail & np.repeat(held_out(part_of, self.part, back, self.k), lengths))
            return known, tail & np.repeat(part_of == part_at(self.part, back, self.k), lengths) & (back <= self.k)

        split = split_by_steps(interactions, fold, step, self.request_time, self.past, self)
        if fold == "predict":
            return split
        too_few = int((allowed & (lengths > 0) & (taken == 0)).sum())
        return replace(split, notes={**split.notes, "users_left_out_too_few_events": too_few})

    def _deal(self, groups: Longs, asked: Bools) -> Longs:
        """Return the part of each user, from 0 [n_users]; -1: never asked.

        Args:
            groups: The group of each user [n_users].
            asked: Who has what a request needs [n_users].
        """
        dealt, place = np.unique(groups[asked], return_inverse=True)
        part_of = np.full(len(groups), -1)
        part_of[asked] = np.random.default_rng(self.seed).permutation(len(dealt))[place] % self.k
        return part_of


def check_part(part: int, k: int) -> None:
    """Raise InputError unless there is such a part."""
    if part >= k:
        raise InputError(f"split.part={part}: the {k} parts of split.k={k} are numbered from 0 to {k - 1}")


def part_at(part: int, back: int, k: int) -> int:
    """Return the part that a step holds out: the steps from the first on hold out one part after the other."""
    return (part + back - 1) % k


def held_out(part_of: Longs, part: int, back: int, k: int) -> Bools:
    """Return which users or events are held out in a step or in one after it, given their parts [n]."""
    return np.asarray((part_of - part) % k < back)
