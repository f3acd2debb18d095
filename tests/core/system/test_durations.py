from __future__ import annotations

import pytest

from recx.core.errors import InputError
from recx.core.system.durations import HOUR, milliseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1ms", 1), ("90s", 90_000), ("30m", 1_800_000), ("3h", 3 * HOUR), ("1d", 24 * HOUR), ("2w", 336 * HOUR),
     (" 1.5 h ", 5_400_000), ("0.001s", 1)],
)  # fmt: skip
def test_a_duration_in_milliseconds(text: str, expected: int) -> None:
    assert milliseconds(text, "split.window") == expected


@pytest.mark.parametrize("text", ["", "3", "h", "-1h", "0h", "0.0004s", "1y", "1 h 30 m", "1e3s", "nan"])
def test_what_is_no_duration_names_its_key(text: str) -> None:
    with pytest.raises(InputError, match=r"^split\.window=.*: it must be a positive number and a unit"):
        milliseconds(text, "split.window")


def test_a_duration_that_is_too_long_is_rejected() -> None:
    assert milliseconds("11574074d", "split.window") < 2**62
    with pytest.raises(InputError, match=r"^split\.window=99999999999999999999d: .* at most 11,574,074 days"):
        milliseconds("99999999999999999999d", "split.window")
