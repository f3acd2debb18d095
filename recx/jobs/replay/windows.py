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


@dataclass(frozen=True)
class Window:
    """A window of time.

    Attributes:
        number: From 1; that of the reference is 0.
        start: Its first moment in ms.
        stop: The first moment after it.
        partial: Whether the log ends before it does.
    """

    number: int
    start: int
    stop: int
    partial: bool = False

    @property
    def name(self) -> str:
        """When it begins, as a date or, if it does not begin at midnight, with the time."""
        text = str(np.datetime64(self.start, "ms").astype("datetime64[s]"))
        return text.removesuffix("T00:00:00").replace("T", " ")


def windows(log: Log, every: str) -> list[Window]:
    """Return the windows from the end of the fit on; the last one has the last event.

    Raises:
        InputError: ``every`` is no duration, is longer than the log goes on, or would make more than ``MOST`` of them.
    """
    length = milliseconds(every, "--every")
    whole, rest = divmod(log.end - log.until, length)
    if not whole:
        raise InputError(
            f"--every {every}: a window is longer than the log goes on after the fit, from "
            f"{np.datetime64(log.until, 'ms')} to {np.datetime64(log.end - 1, 'ms')}: choose a shorter one, or wait"
        )
    if whole > MOST:
        raise InputError(
            f"--every {every}: that makes {whole:,} windows, and {MOST:,} are the most: choose longer ones"
        )
    starts = [log.until + place * length for place in range(whole + (rest > 0))]
    return [
        Window(number, start, start + length, partial=start + length > log.end)
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
