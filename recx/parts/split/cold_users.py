"""Split by arrival: the users who came last are asked before anything is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recx.core.bounds import PositiveInt, Seed, Share
from recx.core.errors import InputError
from recx.core.protocols import FoldName
from recx.core.ragged import prefixes
from recx.core.types import Bools, Interactions, Longs, Split
from recx.parts.split.folds import Past, RequestTime, check_draw, may_be_target, noting_left_out, split_by_steps

LATER = np.iinfo(np.int64).max
"""A time after all events."""


@dataclass(frozen=True)
class ColdUsers:
    """One step is a share of the users, those of the last step being the newest: nothing is known of them.

    The history ends before the first event of any of them, so that no fit sees an event later than a target (RePlay:
    ``NewUsersSplitter``).

    Attributes:
        share: Share of the users with events in one step.
        n: Number of first events of a new user that are targets; None: all.
        request_time: Whether a request is made when its first ``target`` happened, or right after the ``last_event`` of
            the history.
        past: Whether the ranker is trained one ``step`` earlier, or there is ``none``.
        users: File with the ids of the users who are evaluated, one a line; None: all.
        max_users: Largest number of users who are evaluated, drawn at random; None: all. The history and the past fold
            are the same whoever is drawn.
        seed: Seed of the draw; None where nobody is drawn.
    """

    share: Share = 0.2
    n: PositiveInt | None = None
    request_time: RequestTime = "target"
    past: Past = "step"
    users: Path | None = None
    max_users: PositiveInt | None = None
    seed: Seed | None = 0

    def __post_init__(self) -> None:
        check_draw(self)

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are the first events of the users of that step.

        Raises:
            InputError: The data has no times, or the fold has no requests.
        """
        time = interactions.time
        if time is None:
            raise InputError(
                "split=cold_users needs times, and this data has none: choose split=by_user, which draws the users"
            )
        lengths = interactions.lengths
        since = np.full(interactions.n_users, LATER)
        since[lengths > 0] = time[interactions.indptr[:-1][lengths > 0]]
        chosen = may_be_target(interactions) & (lengths > 0)
        step_of = steps_of_newest(since, chosen, self.share)
        first = prefixes(lengths if self.n is None else np.minimum(lengths, self.n), interactions.indptr)

        def step(back: int) -> tuple[Bools, Bools]:
            start, stop = starts(since, step_of, back), starts(since, step_of, back - 1)
            return time < start, first & (time >= start) & (time < stop) & np.repeat(step_of == back, lengths)

        split = split_by_steps(interactions, fold, step, self.request_time, self.past, self)
        return noting_left_out(split, fold, lambda back: step_of == back, "few_events")


def steps_of_newest(since: Longs, chosen: Bools, share: float) -> Longs:
    """Return the step, from 1, in which each user or item is held out [n], the newest in the first; 0: never.

    Args:
        since: When the first event of each happened [n].
        chosen: Which of them may be held out [n].
        share: Share of these in one step.
    """
    newest = np.flatnonzero(chosen)
    newest = newest[np.argsort(-since[newest], kind="stable")]
    step_of = np.zeros(len(since), dtype=np.int64)
    step_of[newest] = np.arange(len(newest)) // max(1, round(share * len(newest))) + 1
    return step_of


def starts(since: Longs, step_of: Longs, back: int) -> int:
    """Return when the first of what is held out in a step, or in one after it, first occurred."""
    return int(since[(step_of > 0) & (step_of <= back)].min(initial=LATER))
