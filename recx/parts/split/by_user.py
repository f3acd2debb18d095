"""Split by user: the events of some users are held out, those of all others are the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recx.core.bounds import NonNegativeInt, PositiveInt, Seed, Share, checked
from recx.core.protocols import FoldName
from recx.core.ragged import prefixes
from recx.core.types import Bools, Interactions, Longs, Split
from recx.parts.split.folds import Past, RequestTime, deal, may_be_target, noting_left_out, split_by_steps
from recx.parts.split.groups import groups_of


@dataclass(frozen=True)
@checked("split")
class ByUser:
    """One step is a share of the users, or of groups of users, drawn at random.

    Attributes:
        share: Share of the users (or groups) in one step.
        given: Number of first events of a held-out user that belong to the history.
        group: Column of the users' table whose equal values stay together (such as one trace), several columns, of
            which one equal value is enough, or None. Of the column ``text`` those are equal that ask the same, but for
            case, blanks and punctuation (see ``recx.parts.shared.same_text``).
        request_time: Whether a request is made when its first ``target`` happened or right after the ``last_event``.
        past: Whether the ranker is trained one ``step`` earlier, or there is ``none``.
        users: File with the ids of the users who are evaluated, one a line; None: all.
        max_users: Largest number of users who are evaluated, drawn at random; None: all. The history and the past fold
            are the same whoever is drawn.
        seed: Seed of the draws.
    """

    share: Share = 0.2
    given: NonNegativeInt = 0
    group: str | Sequence[str] | None = None
    request_time: RequestTime = "target"
    past: Past = "step"
    users: Path | None = None
    max_users: PositiveInt | None = None
    seed: Seed = 0

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are the later events of the users of that step.

        Raises:
            InputError: ``group`` is not a column of the users' table, or the fold has no requests.
        """
        step_of, lengths = self._deal(interactions), interactions.lengths
        first = prefixes(np.minimum(lengths, self.given), interactions.indptr)

        def step(back: int) -> tuple[Bools, Bools]:
            held_out = np.repeat(step_of == back, lengths)
            return np.repeat(step_of > back, lengths) | (held_out & first), held_out & ~first

        split = split_by_steps(interactions, fold, step, self.request_time, self.past, self)
        return noting_left_out(split, fold, lambda back: (step_of == back) & (lengths > 0), "few_events")

    def _deal(self, interactions: Interactions) -> Longs:
        """Return the step, from 1, in which each user is held out [n_users]."""
        groups = groups_of(interactions.users, self.group)
        n = int(groups.max(initial=-1)) + 1
        dealt = deal(n, self.share, self.seed)[groups]
        # Users who have requests only in ``fold: predict`` are history in every step.
        dealt[~may_be_target(interactions)] = n + 2
        return dealt
