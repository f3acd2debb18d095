"""Split by the clock: everything before a moment is known, what follows within a window is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recx.core.bounds import NonNegativeInt, checked
from recx.core.errors import InputError
from recx.core.protocols import FoldName
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Bools, Interactions, Split
from recx.parts.split.folds import STEPS, Past, RequestTime, may_be_target, split_by_steps


@dataclass(frozen=True)
@checked("split")
class ByTime:
    """A step is a window of the clock, the same for all users; the first window back ends with the last event.

    window: length of a step, such as ``1d``. min_history: events that a user needs before the window to be asked for
    (0: cold users are asked for too). No fit ever sees an event later than a target.
    """

    window: Duration = "1d"
    min_history: NonNegativeInt = 1
    request_time: RequestTime = "target"
    past: Past = "step"

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets fall into the window that many steps back.

        Raises:
            InputError: the data has no times.
        """
        if interactions.time is None:
            raise InputError("split=by_time needs times, and this data has none: choose split=leave_last or by_user")

        def step(back: int) -> tuple[Bools, Bools]:
            return self._masks(interactions, back)

        split = split_by_steps(interactions, fold, step, request_time=self.request_time, past=self.past)
        if fold == "predict":
            return split
        in_window = self._window(interactions, STEPS[fold])
        active = np.unique(interactions.user[in_window])
        active = active[may_be_target(interactions)[active]]
        notes = {**split.notes, "users_left_out_too_little_history": len(active) - len(split.fold.requests)}
        return replace(split, notes=notes)

    def _window(self, interactions: Interactions, back: int) -> Bools:
        assert interactions.time is not None
        end = interactions.time.max(initial=0) + 1 - (back - 1) * milliseconds(self.window, "split.window")
        start = end - milliseconds(self.window, "split.window")
        window: Bools = (interactions.time >= start) & (interactions.time < end)
        return window

    def _masks(self, interactions: Interactions, back: int) -> tuple[Bools, Bools]:
        assert interactions.time is not None
        if back == 0:
            return np.ones(len(interactions), dtype=bool), np.zeros(len(interactions), dtype=bool)
        window = self._window(interactions, back)
        start = interactions.time.max(initial=0) + 1 - back * milliseconds(self.window, "split.window")
        history = interactions.time < start
        events = np.bincount(interactions.user[history], minlength=interactions.n_users)
        asked = may_be_target(interactions) & (events >= self.min_history)
        return history, window & asked[interactions.user]
