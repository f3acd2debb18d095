"""Until when a chain has learned."""

from __future__ import annotations

import numpy as np
import pandas as pd

from recx.core.types import Interactions
from recx.experiment.model.until import fitted_until
from recx.parts.split.by_time import ByTime
from recx.parts.split.leave_last import LeaveLast

DAY = 86_400_000
TIMES = 1_600_000_000_000 + DAY * np.arange(6)
EVENTS = Interactions.from_frame(pd.DataFrame({"user": [1, 2] * 3, "item": range(6), "time": TIMES}))


def test_it_is_the_start_of_the_window_that_is_judged() -> None:
    end = int(TIMES[-1]) + 1
    assert fitted_until(EVENTS, ByTime("2d"), "test") == end - 2 * DAY
    assert fitted_until(EVENTS, ByTime("2d"), "valid") == end - 4 * DAY
    assert fitted_until(EVENTS, ByTime("2d", skip=1), "test") == end - 4 * DAY
    assert fitted_until(EVENTS, ByTime("2d"), "predict") == end
    history = ByTime("2d").split(EVENTS, "test").fold.history
    assert history.time is not None
    assert history.time.max() < end - 2 * DAY


def test_other_splits_have_learned_from_events_until_the_last() -> None:
    assert fitted_until(EVENTS, LeaveLast(), "test") == int(TIMES[-1]) + 1
    assert fitted_until(Interactions.from_frame(pd.DataFrame({"user": [1], "item": [1]})), LeaveLast(), "test") is None
