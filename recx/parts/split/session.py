"""Split sessions: those that ended last are held out, and each is asked what comes next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from recx.core.bounds import PositiveInt, Seed
from recx.core.errors import InputError
from recx.core.protocols import FoldName
from recx.core.row_order import count_in_groups
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Bools, Fold, Interactions, Longs, Split
from recx.parts.split.folds import (
    STEPS,
    Past,
    RequestTime,
    check_draw,
    later_events,
    may_be_target,
    noting_left_out,
    split_by_steps,
)


@dataclass(frozen=True)
class Session:
    """One step is the sessions (a user is a session) whose last event lies in a window of time.

    Models learn from the sessions that ended before the window, and are asked with the first events of one in it. Runs
    over all positions ask each session after each of its events (Ludewig and Jannach, Evaluation of session-based
    recommendation algorithms, 2018).

    Attributes:
        window: Length of a step, such as ``1d``; that of the first ends with the last event.
        position: How many events of a session are known; ``last``: all but one.
        targets: The ``next`` event, or all that are ``left``.
        unseen: Whether events on items that no session has before the window are kept or dropped from those in it;
            dropped ones are counted.
        request_time: Whether a request is made when its first ``target`` happened or right after the ``last_event``.
        past: Whether the ranker is trained one ``step`` earlier, or there is ``none``.
        users: File with the ids of the sessions that are evaluated, one a line; None: all.
        max_users: Largest number of sessions that are evaluated, drawn at random; None: all. The history and the past
            fold are the same whichever is drawn.
        seed: Seed of the draw; None where nothing is drawn.
    """

    window: Duration = "1d"
    position: Literal["last"] | PositiveInt = "last"
    targets: Literal["next", "left"] = "next"
    unseen: Literal["keep", "drop"] = "keep"
    request_time: RequestTime = "target"
    past: Past = "step"
    users: Path | None = None
    max_users: PositiveInt | None = None
    seed: Seed | None = 0

    def __post_init__(self) -> None:
        check_draw(self)

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets follow the first events of the sessions of that step.

        Raises:
            InputError: The data has no times, or the fold has no requests.
        """
        if interactions.time is None:
            raise InputError("split=session needs times, and this data has none: choose split=leave_last or by_user")
        back = STEPS[fold]
        steps = {back: self._step(interactions, interactions.time, back) for back in (back, back + 1) if back}

        def step(back: int) -> tuple[Bools, Bools]:
            return steps[back].earlier | steps[back].prefix, steps[back].target

        split = split_by_steps(interactions, fold, step, self.request_time, self.past, self)
        past = None if split.past is None else _learning(split.past, interactions, steps[back + 1])
        if fold == "predict":
            return replace(split, past=past)

        def meant(back: int) -> Bools:
            return count_in_groups(steps[back].inside, interactions.indptr) > 0

        split, now = noting_left_out(split, fold, meant, "few_events"), _learning(split.fold, interactions, steps[back])
        notes = dict[str, float]() if self.unseen == "keep" else {"events_of_unseen_items_dropped": steps[back].dropped}
        later = later_events(now.learnable, now)
        if later is not None:
            notes |= {"later_events": later[0], "later_events_per_target": round(later[1], 1)}
        return Split(past, now, {**split.notes, **notes})

    def _step(self, data: Interactions, time: Longs, back: int) -> _Step:
        length = milliseconds(self.window, "split.window")
        stop = int(time.max(initial=0)) + 1 - (back - 1) * length
        start, active = stop - length, data.lengths > 0
        ends = np.full(data.n_users, np.iinfo(np.int64).min)
        ends[active] = time[data.indptr[1:][active] - 1]
        earlier = np.repeat(ends < start, data.lengths)
        inside = np.repeat((ends >= start) & (ends < stop) & may_be_target(data), data.lengths)
        kept = inside
        if self.unseen == "drop":
            kept = inside & (np.bincount(data.item[earlier], minlength=data.n_items) > 0)[data.item]
        n_kept, so_far = count_in_groups(kept, data.indptr), np.concatenate([[0], np.cumsum(kept)])
        place = so_far[:-1] - np.repeat(so_far[data.indptr[:-1]], data.lengths)  # of those kept in its session, from 0
        first = n_kept - 1 if self.position == "last" else np.full(data.n_users, self.position)  # of the targets
        first = np.repeat(np.where((first > 0) & (first < n_kept), first, -1), data.lengths)
        target = kept & (first > 0) & (place >= first if self.targets == "left" else place == first)
        return _Step(earlier, inside, kept & (place < first), target, int((inside & ~kept).sum()))


@dataclass(frozen=True, eq=False)
class _Step:
    """What a step does with the events, as masks [n].

    Attributes:
        earlier: Those of sessions that ended before its window.
        inside: Those of sessions that ended in it.
        prefix: Of these, those that are known.
        target: Of these, the targets.
        dropped: How many of these were dropped.
    """

    earlier: Bools
    inside: Bools
    prefix: Bools
    target: Bools
    dropped: int


def _learning(fold: Fold, interactions: Interactions, step: _Step) -> Fold:
    """Return the fold whose retriever learns from the sessions that ended before the window only."""
    return Fold(fold.history, fold.target, fold.requests, interactions.keep(step.earlier))
