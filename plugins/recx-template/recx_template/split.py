"""A split: which events are known, and which are to be predicted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from recx.plugin import (
    Bools,
    FoldName,
    InputError,
    Interactions,
    Longs,
    Share,
    Split,
    checked,
    may_be_target,
    split_by_steps,
)


@dataclass(frozen=True)
@checked("split")  # checks each setting against its annotation
class LatestShare:
    """The latest events of all are the target of ``fold=test``, as many before them that of ``fold=valid``.

    Attributes:
        share: The share of the events in one step.
    """

    share: Share = 0.1

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        if interactions.time is None:
            raise InputError("split=template needs times, and this data has none: choose split=leave_last")
        step = partial(self._step, interactions, np.sort(interactions.time))
        return split_by_steps(interactions, fold, step, "target", "step")  # makes the folds, with their requests

    def _step(self, interactions: Interactions, times: Longs, back: int) -> tuple[Bools, Bools]:
        """Return which events are the history and which the target [n], ``back`` steps (1 or more) from the end."""
        assert interactions.time is not None
        start, stop = self._border(times, back), self._border(times, back - 1)
        history = interactions.time < start
        asks = np.isin(interactions.user, interactions.user[history])  # a user without a history makes no request
        asks &= may_be_target(interactions)[interactions.user]
        return history, ~history & (interactions.time < stop) & asks

    def _border(self, times: Longs, steps: int) -> int:
        """Return the time from which on the events of so many last steps happened."""
        first = max(0, round(len(times) * (1 - steps * self.share)))
        return int(times[first]) if first < len(times) else int(times[-1]) + 1
