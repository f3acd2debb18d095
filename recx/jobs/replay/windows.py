"""The windows of time that a log is cut into, and what is asked in each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from recx.core.errors import InputError
from recx.core.protocols import Splitter
from recx.core.system.durations import milliseconds
from recx.core.types import Fold
from recx.jobs.replay.log import Log
from recx.parts.split.by_time import ByTime

MOST = 1_000
"""Windows of a log: more are a mistake of the unit."""
WHOLE, LEAST = 0.9, 0.5
"""The shares of a window that the log must cover for it to be whole, and for there to be a first one at all."""


@dataclass(frozen=True)
class Window:
    """A window of time.

    Attributes:
        number: From 1; that of the reference is 0.
        start: Its first moment in ms.
        stop: The first moment after it.
        covered: The share of it until the last event of the log.
    """

    number: int
    start: int
    stop: int
    covered: float = 1.0

    @property
    def partial(self) -> bool:
        """Whether the log ends clearly before it does; the last event of a day is seconds before midnight."""
        return self.covered < WHOLE

    @property
    def name(self) -> str:
        """When it begins, as a date or, if it does not begin at midnight, with the time."""
        text = str(np.datetime64(self.start, "ms").astype("datetime64[s]"))
        return text.removesuffix("T00:00:00").replace("T", " ")


def windows(log: Log, every: str) -> list[Window]:
    """Return the windows from the end of the fit on; the last one has the last event, and may be partial.

    Raises:
        InputError: ``every`` is no duration, is longer than the log goes on, or would make more than ``MOST`` of them.
    """
    length = milliseconds(every, "--every")
    ahead = log.end - log.until
    if ahead < LEAST * length:
        raise InputError(
            f"--every {every}: a window is longer than the log goes on after the fit, from "
            f"{np.datetime64(log.until, 'ms')} to {np.datetime64(log.end - 1, 'ms')}: choose a shorter one, or wait"
        )
    if ahead > MOST * length:
        raise InputError(
            f"--every {every}: that makes {-(-ahead // length):,} windows, and {MOST:,} are the most: choose longer"
        )
    starts = range(log.until, log.end, length)
    return [
        Window(number, start, start + length, min((log.end - start) / length, 1.0))
        for number, start in enumerate(starts, start=1)
    ]


def before(window: Window) -> Window:
    """Return the window of the same length before one."""
    return Window(0, 2 * window.start - window.stop, window.start)


def asking(splitter: Splitter, min_history: int | None) -> ByTime:
    """Return who is asked, and when: as ``split=by_time`` does, with the settings of the run if that was its split.

    Args:
        splitter: The split of the run.
        min_history: How many events a user needs before a window; None: as the split says.
    """
    split = splitter if isinstance(splitter, ByTime) else ByTime()
    return split if min_history is None else replace(split, min_history=min_history)


def folds(log: Log, split: ByTime, some: list[Window]) -> Iterator[tuple[Window, Fold]]:
    """Yield each window with its fold: its events as targets, and all before it as history."""
    for window in some:
        yield window, split.fold_between(log.events, window.start, window.stop)


def moment_of(time: int) -> str:
    """Return a time in ms as text of ISO 8601, in UTC."""
    return str(np.datetime64(time, "ms"))
