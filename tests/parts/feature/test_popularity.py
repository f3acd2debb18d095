from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from recx.core.errors import InputError
from recx.parts.feature.popularity import Clicks, PeerClicks, SinceClick, Trend

HOUR = 3_600_000


def slow_clicks(world: Any, row: int, window: float, among: Callable[[int], bool] = lambda user: True) -> int:
    item, now = world.candidates.item[row], world.now(row)
    since = -math.inf if world.requests.time is None else now - window
    return sum(1 for u, i, t in world.before(row) if i == item and t >= since and among(u))


def rows(world: Any) -> range:
    return range(len(world.candidates))


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_clicks_are_what_a_loop_counts(world: Callable, seed: int, timed: bool) -> None:
    made = world(seed, timed=timed)
    for text, window in ((None, math.inf), ("1h", HOUR), ("24h", 24 * HOUR)):
        found = Clicks(text).fit(made.history)(made.candidates, made.requests)
        assert found == pytest.approx([math.log1p(slow_clicks(made, row, window)) for row in rows(made)], rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_trend_is_what_a_loop_counts(world: Callable, seed: int) -> None:
    made = world(seed)
    found = Trend("2h", "12h").fit(made.history)(made.candidates, made.requests)
    expected = [
        math.log(slow_clicks(made, row, 2 * HOUR) + 1) - math.log(slow_clicks(made, row, 12 * HOUR) * 2 / 12 + 1)
        for row in rows(made)
    ]
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_time_since_the_last_click_is_what_a_loop_finds(world: Callable, seed: int) -> None:
    made = world(seed)
    found, start = SinceClick().fit(made.history)(made.candidates, made.requests), made.history.time.min()
    never = 0
    for row in rows(made):
        times = [t for _, item, t in made.before(row) if item == made.candidates.item[row]]
        never += not times
        away = max(0, made.now(row) - max(times, default=start))
        assert found[row] == pytest.approx(math.log1p(away / 60_000), rel=1e-6)
    assert 0 < never < len(found)
    assert not SinceClick().fit(world(seed, timed=False).history)(made.candidates, made.requests).any()


@pytest.mark.parametrize("seed", range(3))
def test_peer_clicks_are_what_a_loop_counts(world: Callable, seed: int) -> None:
    made = world(seed)
    region = made.history.users.table["region"]
    found = PeerClicks("region", "24h").fit(made.history)(made.candidates, made.requests)
    for row in rows(made):
        own = region[made.candidates.user[made.candidates.list_of_row[row]]]
        clicks = slow_clicks(made, row, 24 * HOUR, lambda user, own=own: region[user] == own)  # type: ignore[misc]
        assert found[row] == pytest.approx(math.log1p(clicks) if own >= 0 else 0, rel=1e-6)
    assert found.any()


def test_a_column_that_is_not_there_gives_zeros(world: Callable) -> None:
    made = world(0)
    assert not PeerClicks("country").fit(made.history)(made.candidates, made.requests).any()


@pytest.mark.parametrize(
    "make", [lambda: Clicks("soon"), lambda: Trend("0h"), lambda: Trend(long="x"), lambda: PeerClicks(window="1 year")]
)
def test_a_window_that_is_no_duration_is_refused(make: Callable) -> None:
    with pytest.raises(InputError, match="it must be a positive number and a unit"):
        make()
