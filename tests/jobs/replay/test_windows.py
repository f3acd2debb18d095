"""Windows of a log."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.jobs.replay.log import Log
from recx.jobs.replay.windows import asking, before, windows
from recx.parts.split.by_time import ByTime
from recx.parts.split.leave_last import LeaveLast

HOUR = 3_600_000
START = 1_600_041_600_000  # 2020-09-14, midnight


def log(hours: float) -> Log:
    times = [START - HOUR, START + int(hours * HOUR) - 1]
    events = Interactions.from_frame(pd.DataFrame({"user": [1, 1], "item": [1, 2], "time": np.array(times)}))
    return Log(events, events.items, START)


def test_windows_begin_at_the_end_of_the_fit_and_hold_the_last_event() -> None:
    found = windows(log(5), "2h")
    assert [(one.number, one.start - START, one.stop - START) for one in found] == [
        (1, 0, 2 * HOUR),
        (2, 2 * HOUR, 4 * HOUR),
        (3, 4 * HOUR, 6 * HOUR),
    ]
    assert [one.covered for one in found] == [1, 1, 0.5]
    assert [one.name for one in found] == ["2020-09-14", "2020-09-14 02:00:00", "2020-09-14 04:00:00"]
    assert len(windows(log(4), "2h")) == 2
    assert (before(found[0]).start, before(found[0]).stop) == (START - 2 * HOUR, START)


def test_a_log_of_less_than_half_a_window_has_none() -> None:
    assert [one.covered for one in windows(log(1), "2h")] == [0.5]
    with pytest.raises(InputError, match="a window is longer than the log goes on"):
        windows(log(0.9), "2h")


def test_who_is_asked_is_what_the_split_of_the_run_says() -> None:
    assert asking(ByTime(min_history=3, max_users=5), None) == ByTime(min_history=3, max_users=5)
    assert asking(LeaveLast(), None) == ByTime()
    assert asking(ByTime(min_history=3, max_users=5), 0) == ByTime(min_history=0, max_users=5)
