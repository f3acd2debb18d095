"""Split by time: the events before a point in time are the history, those in a window after it the targets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from recx.core.bounds import NonNegativeInt, PositiveInt, Seed
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
    evaluated,
    make_fold,
    may_be_target,
    noting_left_out,
    split_by_steps,
)


@dataclass(frozen=True)
class ByTime:
    """One step is a time window, the same for all users; the window of the first step ends with the last event.

    No fit ever sees an event later than a target.

    Attributes:
        window: Length of a step, such as ``1d``.
        skip: Number of windows at the end of the data that are left out. Runs with 0, 1, 2 … are rolling windows: each
            window is a fold of its own, with all events before it as history.
        min_history: Number of events that a user needs before the window; 0: cold users have requests too.
        request_time: Whether a request is made when its first ``target`` happened or right after the ``last_event``.
        past: Whether the ranker is trained one ``step`` earlier, or there is ``none``.
        users: File with the ids of the users who are evaluated, one a line; None: all.
        max_users: Largest number of users who are evaluated, drawn at random; None: all. The history and the past fold
            are the same whoever is drawn.
        seed: Seed of the draw; None where nobody is drawn.
    """

    window: Duration = "1d"
    skip: NonNegativeInt = 0
    min_history: NonNegativeInt = 1
    request_time: RequestTime = "target"
    past: Past = "step"
    users: Path | None = None
    max_users: PositiveInt | None = None
    seed: Seed | None = 0

    def __post_init__(self) -> None:
        check_draw(self)

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are the events in the window of that step.

        Raises:
            InputError: The data has no times, or the fold has no requests.
        """
        if interactions.time is None:
            raise InputError("split=by_time needs times, and this data has none: choose split=leave_last or by_user")
        step = partial(self._masks, interactions, interactions.time)
        split = split_by_steps(interactions, fold, step, self.request_time, self.past, self)
        return noting_left_out(split, fold, partial(self._active, interactions, interactions.time), "little_history")

    def _active(self, interactions: Interactions, time: Longs, back: int) -> Bools:
        """Return which users have events in the window of a step, and may have targets [n_users]."""
        start, stop = self._window(time, back)
        inside = (time >= start) & (time < stop)
        return (count_in_groups(inside, interactions.indptr) > 0) & may_be_target(interactions)

    def _window(self, time: Longs, back: int) -> tuple[int, int]:
        length = milliseconds(self.window, "split.window")
        stop = int(time.max(initial=0)) + 1 - (back - 1 + self.skip) * length
        return stop - length, stop

    def _masks(self, interactions: Interactions, time: Longs, back: int) -> tuple[Bools, Bools]:
        return self._between(interactions, time, *self._window(time, back))

    def _between(self, interactions: Interactions, time: Longs, start: int, stop: int) -> tuple[Bools, Bools]:
        history = time < start
        events = count_in_groups(history, interactions.indptr)
        requested = may_be_target(interactions) & (events >= self.min_history)
        return history, ~history & (time < stop) & np.repeat(requested, interactions.lengths)

    def start(self, interactions: Interactions, fold: FoldName) -> int:
        """Return the time in ms at which the window of a fold begins; of ``predict``, 1 ms after the last event."""
        assert interactions.time is not None
        back = STEPS[fold]
        return self._window(interactions.time, back)[0] if back else int(interactions.time.max(initial=0)) + 1

    def fold_between(self, interactions: Interactions, start: int, stop: int) -> Fold:
        """Return the fold whose targets are the events from one time in ms until before another.

        It is the fold of ``split`` where these are the borders of a window; it may have no requests.
        """
        assert interactions.time is not None
        masks = self._between(interactions, interactions.time, start, stop)
        return evaluated(make_fold(interactions, *masks, self.request_time), self, None)[0]
