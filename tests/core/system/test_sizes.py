"""Sizes as text."""

from __future__ import annotations

import pytest

from recx.core.errors import InputError
from recx.core.system.sizes import n_bytes, readable


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1B", 1), ("500kB", 500_000), (" 20 MB ", 20_000_000), ("1.5GB", 1_500_000_000), ("10gb", 10**10), ("0 KB", 0)],
)
def test_a_number_and_a_unit(text: str, expected: int) -> None:
    assert n_bytes(text, "limit") == expected


@pytest.mark.parametrize("text", ["", "10", "-1GB", "1 GiB", "1e3MB", "2000TB"])
def test_anything_else_is_one_sentence(text: str) -> None:
    with pytest.raises(InputError, match=r"limit=.*: it must be a number and a unit, B, kB, MB, GB or TB"):
        n_bytes(text, "limit")


@pytest.mark.parametrize(
    ("size", "expected"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (999_950, "1,000.0 kB"), (2e9, "2.0 GB")]
)
def test_sizes_are_shown_in_the_largest_unit(size: float, expected: str) -> None:
    assert readable(size) == expected
