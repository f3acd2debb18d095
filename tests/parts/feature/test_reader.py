from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.parts.feature.popularity import Clicks
from recx.parts.feature.reader import Times

HOUR = 3_600_000


def slow_factor(world: Any, row: int, by: str) -> float:
    own, now = world.own(row), world.now(row)
    if by == "activity":
        return math.log1p(len(own))
    if world.requests.time is None:
        return 0
    if by == "night":
        return math.cos(2 * math.pi * (now / HOUR % 24) / 24)
    if not own:
        return 0
    away = (now - own[-1][2]) / HOUR
    return 2 ** (-away / 0.5) if by == "freshness" else math.log1p(away)


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("by", ["activity", "freshness", "absence", "night"])
def test_it_is_the_feature_times_what_a_loop_finds(world: Callable, by: str, timed: bool) -> None:
    made = world(3, timed=timed)
    plain = Clicks().fit(made.history)(made.candidates, made.requests)
    found = Times(Clicks(), by, "30m").fit(made.history)(made.candidates, made.requests)
    factor = np.array([slow_factor(made, row, by) for row in range(len(made.candidates))])
    assert found == pytest.approx(plain * factor, abs=1e-5)


def test_settings_out_of_range_are_named() -> None:
    with pytest.raises(InputError, match="by=mood"):
        Times(Clicks(), "mood")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="it must be a positive number and a unit"):
        Times(Clicks(), "freshness", "x")
